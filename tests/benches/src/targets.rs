//! The targets of the design, and which figure each is about.

use crate::report::{Report, Verdict};

/// What a target asks of a figure.
#[derive(Clone, Copy, Debug)]
enum Bound {
    AtMost(f64),
    /// hive's value is at most so many times the peer's.
    TimesAtMost(&'static str, f64),
    /// hive's value is at least so many times the peer's.
    TimesAtLeast(&'static str, f64),
}

use Bound::{AtMost, TimesAtLeast, TimesAtMost};

/// Each with the figure it is about.
const TARGETS: &[(&str, Bound)] = &[
    (
        "paced, 1 sender: send → received",
        TimesAtMost("redis always", 1.5),
    ),
    (
        "paced, 1 sender: send → received",
        TimesAtMost("postgresql", 1.0),
    ),
    ("64 senders: sent", TimesAtLeast("echo rpc", 0.8)),
    ("64 senders: sent", TimesAtLeast("nats jetstream", 0.9)),
    (
        "64 senders, batches of 16: sent",
        TimesAtLeast("redis always", 1.0),
    ),
    ("long-lived claude: message → model request", AtMost(20.0)),
    ("gateway: added to the first streamed byte", AtMost(1.0)),
    ("hive serve: start → first poll", AtMost(50.0)),
    ("hive serve, idle: RSS", AtMost(15.0)),
    ("hived, 1000 agents: start → serving", AtMost(200.0)),
    ("hived, 100 agents idle: RSS", AtMost(50.0)),
    ("hived, 100 agents idle: CPU", AtMost(1.0)),
    (
        "container: create → first poll",
        TimesAtMost("bare container", 1.3),
    ),
    ("hived killed → 100 agents attached", AtMost(2.0)),
    ("idle: model calls", AtMost(0.0)),
    ("idle: growth of the data directory", AtMost(0.0)),
];

/// Fills in ratios and verdicts.
pub fn judge(report: &mut Report) {
    let hive: Vec<Option<f64>> = report
        .figures
        .iter()
        .map(|figure| report.value(&figure.what, "hive"))
        .collect();
    for (figure, hive) in report.figures.iter_mut().zip(hive) {
        if let (Some(hive), Some(value)) = (hive, figure.value) {
            figure.ratio = (figure.who != "hive" && value > 0.0).then(|| hive / value);
        }
        for (what, bound) in TARGETS {
            if figure.what == *what
                && let Some(verdict) = verdict(*bound, figure.who, figure.value, figure.ratio)
            {
                figure.verdicts.push(verdict);
            }
        }
    }
}

fn verdict(bound: Bound, who: &str, value: Option<f64>, ratio: Option<f64>) -> Option<Verdict> {
    let (target, met, missed) = match bound {
        AtMost(most) if who == "hive" => (format!("≤ {most}"), value? <= most, over(value?, most)),
        TimesAtMost(peer, most) if who == peer => {
            (format!("≤ {most} ×"), ratio? <= most, over(ratio?, most))
        }
        TimesAtLeast(peer, least) if who == peer => {
            let short = (1.0 - ratio? / least) * 100.0;
            (format!("≥ {least} ×"), ratio? >= least, short)
        }
        AtMost(_) | TimesAtMost(..) | TimesAtLeast(..) => return None,
    };
    Some(Verdict {
        target,
        met,
        missed_by_percent: if met { 0.0 } else { missed },
    })
}

/// Percent beyond the bound; of nothing, everything is.
fn over(measured: f64, most: f64) -> f64 {
    match most {
        0.0 => 100.0,
        most => (measured / most - 1.0) * 100.0,
    }
}
