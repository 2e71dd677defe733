//! Growth: the same sends in a large database, and beside many agents that poll.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use hive_proto::limits::{BEAT_MS, RECV_WAIT_MS};
use hive_proto::v1::{HarnessState, RecvRequest};
use hive_tests::wait::pass;
use hive_tests::{Session, TestHive};
use tokio::task::JoinSet;

use super::{daemon, send};
use crate::load::{Load, Sample, run};
use crate::peers::hive::{Hive, create, unlimited};
use crate::plot::{Axes, Curve, draw};
use crate::report::Figure;
use crate::scale::Scale;
use crate::seed;

const GROUP: &str = "growth";

/// What one configuration showed.
struct Point {
    x: usize,
    paced: Sample,
    closed: Sample,
}

/// # Errors
/// When a hive does not come up.
pub async fn measure(scale: &Scale, out: &Path) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let mut by_rows = Vec::new();
    let few = scale.pollers[0];
    for rows in scale.rows {
        let hive = unlimited().prepare();
        let begin = Instant::now();
        seed::messages(&hive.home(), *rows).await?;
        let note = format!("made in {:.0} s", begin.elapsed().as_secs_f64());
        let start = daemon::start(&hive).await?;
        let what = format!("{rows} messages in the table: hived start → serving");
        figures.push(Figure::new(GROUP, what, "hive", start, "ms").noted(note));
        by_rows.push(point(scale, hive, *rows, few).await?);
    }
    let mut by_agents = Vec::new();
    for pollers in scale.pollers {
        by_agents.push(point(scale, unlimited().prepare(), *pollers, *pollers).await?);
    }
    for point in &by_rows {
        figures.extend(rows(&format!("{} messages in the table", point.x), point));
    }
    for point in &by_agents {
        figures.extend(rows(&format!("{} agents polling", point.x), point));
    }
    plots(out, &by_rows, &by_agents)?;
    Ok(figures)
}

/// Sends on a hive in which so many agents poll.
async fn point(scale: &Scale, mut hive: TestHive, x: usize, pollers: usize) -> Result<Point> {
    hive.start().await;
    let mut bus = Hive::on(hive, 64).await?;
    let _polls = poll(&mut bus.hive, pollers).await?;
    let (mut paced, mut closed) = (Vec::new(), Vec::new());
    for _ in 0..scale.runs {
        for (_, load) in send::loads(scale) {
            match load {
                Load::Paced { .. } => paced.push(run(&bus, load).await?),
                Load::Closed {
                    senders: 64,
                    batch: 1,
                    ..
                } => closed.push(run(&bus, load).await?),
                Load::Closed { .. } => {}
            }
        }
    }
    Ok(Point {
        x,
        paced: Sample::of_runs(&paced),
        closed: Sample::of_runs(&closed),
    })
}

/// Makes agents, each with a harness that waits for messages that never come.
async fn poll(hive: &mut TestHive, count: usize) -> Result<JoinSet<()>> {
    let mut polls = JoinSet::new();
    for n in 0..count {
        let name = format!("poller-{n}");
        create(hive, &name).await?;
        polls.spawn(wait_for_ever(hive.session(&name).await));
    }
    pass(Duration::from_millis(200)).await;
    Ok(polls)
}

/// Polls and beats as a harness does, until the hive ends.
async fn wait_for_ever(mut session: Session) {
    let request = RecvRequest {
        epoch: session.epoch(),
        max: 1,
        wait_ms: RECV_WAIT_MS,
        ..Default::default()
    };
    let mut client = session.client.clone();
    let polls = async { while client.recv(request.clone()).await.is_ok() {} };
    let beats = async {
        while session.beat(HarnessState::Idle).await.is_ok() {
            pass(Duration::from_millis(BEAT_MS.into())).await;
        }
    };
    tokio::select! {
        () = polls => {}
        () = beats => {}
    }
}

fn rows(case: &str, point: &Point) -> [Figure; 3] {
    let spread =
        |what: &str, spread| Figure::spread(GROUP, format!("{case}: {what}"), "hive", spread);
    let rate = point.closed.sent_per_sec;
    [
        spread("paced, send → received", point.paced.received),
        spread("64 senders, send → answered", point.closed.acked),
        Figure::new(
            GROUP,
            format!("{case}: 64 senders, sent"),
            "hive",
            rate,
            "msg/s",
        ),
    ]
}

fn plots(out: &Path, by_rows: &[Point], by_agents: &[Point]) -> Result<()> {
    let cases = [
        ("rows", "messages in the table", by_rows),
        ("agents", "agents polling", by_agents),
    ];
    for (file, x, points) in cases {
        let curve = |name: &str, y: fn(&Point) -> f64| Curve {
            name: name.to_owned(),
            points: points
                .iter()
                .map(|point| (point.x as f64, y(point)))
                .collect(),
        };
        let latency = [
            curve("p50", |point| point.paced.received.p50),
            curve("p99", |point| point.paced.received.p99),
        ];
        let title = "one paced sender: send → received";
        let axes = Axes { title, x, y: "µs" };
        draw(
            &out.join(format!("growth-{file}-latency.svg")),
            axes,
            &latency,
        )?;
        let rate = [
            curve("sent", |point| point.closed.sent_per_sec),
            curve("received", |point| point.closed.received_per_sec),
        ];
        let title = "64 senders: messages a second";
        let axes = Axes {
            title,
            x,
            y: "msg/s",
        };
        draw(&out.join(format!("growth-{file}-rate.svg")), axes, &rate)?;
    }
    Ok(())
}
