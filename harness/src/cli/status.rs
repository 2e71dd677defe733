//! `hive status`: the daemon, its store, its runtime, its reconcilers, and what waits.

use hive_proto::v1;

use super::output::{self, Format, Tone};
use super::table::{self, Cell, Column, Table};
use super::{CliError, Ctx, agent, escape, shapes, when};

/// Show the daemon, the agents by state, the reconcilers' last results and what waits for you.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  hive status --json")]
pub struct Args {
    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    let status = ctx.calls().status().await?;
    if args.format.json {
        return output::json(&shapes::Status::from(&status));
    }
    let now = when::now_ms();
    let parts = [
        summary(&status),
        agents(&status.agents),
        waiting(&status.waiting, now),
        reconcilers(&status.reconcilers, now),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    output::text(&parts.join("\n"))
}

fn summary(status: &v1::HiveStatus) -> String {
    let store = status.store.clone().unwrap_or_default();
    let uptime = std::time::Duration::from_secs(status.uptime_secs);
    let runtime = match (status.unisolated, status.runtime_error.as_str()) {
        (true, "") => format!("{}, without isolation", status.runtime),
        (false, "") => status.runtime.clone(),
        (_, error) => format!("{}: {}", status.runtime, escape::line(error)),
    };
    let size = when::bytes(store.bytes);
    let kept = match store.error.as_str() {
        "" => format!(
            "{size}, schema {}, SQLite {}",
            store.schema, store.sqlite_version
        ),
        error => format!("writes fail: {}", escape::line(error)),
    };
    let models = if status.rehearsal {
        "answered from a script: a rehearsal"
    } else {
        ""
    };
    let log = match status.lost_log_lines {
        0 => String::new(),
        lost => format!("{lost} log lines lost: is its disk full?"),
    };
    table::pairs(&[
        (
            "hived",
            format!("{}, up {}", status.version, when::span(uptime)),
        ),
        ("home", status.home.clone()),
        ("sockets", status.run.clone()),
        ("listens on", status.listen.clone()),
        ("runtime", runtime),
        ("store", kept),
        ("model calls", models.to_owned()),
        ("log", log),
    ])
}

fn agents(counts: &[v1::StateCount]) -> String {
    if counts.is_empty() {
        return "no agents\n".to_owned();
    }
    let mut table = Table::new(&[Column::Whole("STATE"), Column::Number("AGENTS")]);
    for count in counts {
        let tone = agent::state_tone(&count.state);
        table.row([
            Cell::toned(tone, &count.state),
            count.count.to_string().into(),
        ]);
    }
    table.render()
}

fn waiting(list: &[v1::Waiting], now_ms: i64) -> String {
    if list.is_empty() {
        return "nothing waits for you\n".to_owned();
    }
    let mut table = Table::new(&[
        Column::Whole("WAITS"),
        Column::Whole("AGENT"),
        Column::Number("ID"),
        Column::Number("SINCE"),
        Column::Free("WHAT"),
    ]);
    for one in list {
        let id = match one.id {
            0 => String::new(),
            id => id.to_string(),
        };
        table.row([
            one.kind.as_str().into(),
            one.agent.as_str().into(),
            id.into(),
            when::since(one.since_ms, now_ms).into(),
            one.text.as_str().into(),
        ]);
    }
    table.render()
}

fn reconcilers(list: &[v1::ReconcilerStatus], now_ms: i64) -> String {
    if list.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[
        Column::Whole("RECONCILER"),
        Column::Number("RAN"),
        Column::Number("TOOK"),
        Column::Free("RESULT"),
    ]);
    for one in list {
        let ran = match when::since(one.last_run_ms, now_ms) {
            never if never.is_empty() => "never".to_owned(),
            ago => format!("{ago} ago"),
        };
        let result = match one.error.as_str() {
            "" => Cell::from(one.summary.as_str()),
            error => Cell::toned(Tone::Bad, error),
        };
        table.row([
            one.name.as_str().into(),
            ran.into(),
            format!("{} ms", one.duration_ms).into(),
            result,
        ]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use hive_proto::v1::{HiveStatus, ReconcilerStatus, StateCount, StoreStatus, Waiting};

    use super::super::shapes;
    use super::{agents, reconcilers, summary, waiting};

    fn status() -> HiveStatus {
        HiveStatus {
            version: "0.1.0".to_owned(),
            home: "/var/lib/hive".to_owned(),
            run: "/run/hive".to_owned(),
            runtime: "process".to_owned(),
            unisolated: true,
            rehearsal: true,
            uptime_secs: 7_300,
            store: Some(StoreStatus {
                schema: 1,
                bytes: 123_456,
                sqlite_version: "3.50.4".to_owned(),
                error: String::new(),
            }),
            agents: vec![StateCount {
                state: "idle".to_owned(),
                count: 3,
            }],
            waiting: vec![Waiting {
                kind: "message".to_owned(),
                agent: "lead".to_owned(),
                id: 12,
                since_ms: 1_000,
                text: "the picnic\nis planned".to_owned(),
            }],
            reconcilers: vec![ReconcilerStatus {
                name: "leases".to_owned(),
                last_run_ms: 3_000,
                duration_ms: 2,
                summary: "3 checked".to_owned(),
                error: String::new(),
            }],
            ..HiveStatus::default()
        }
    }

    #[test]
    fn people_see_what_runs_and_what_waits() {
        let s = status();
        let text = [
            summary(&s),
            agents(&s.agents),
            waiting(&s.waiting, 5_000),
            reconcilers(&s.reconcilers, 5_000),
        ];
        insta::assert_snapshot!(text.join("\n"), @r"
        hived        0.1.0, up 2h
        home         /var/lib/hive
        sockets      /run/hive
        runtime      process, without isolation
        store        120.6 KiB, schema 1, SQLite 3.50.4
        model calls  answered from a script: a rehearsal

        STATE  AGENTS
        idle        3

        WAITS    AGENT  ID  SINCE  WHAT
        message  lead   12     4s  the picnic\nis planned

        RECONCILER     RAN  TOOK  RESULT
        leases      2s ago  2 ms  3 checked
        ");
    }

    #[test]
    fn the_json_has_its_stable_keys() {
        let json = serde_json::to_string_pretty(&shapes::Status::from(&status())).unwrap();
        insta::assert_snapshot!(json, @r#"
        {
          "version": "0.1.0",
          "home": "/var/lib/hive",
          "run": "/run/hive",
          "listen": null,
          "store": {
            "schema": 1,
            "bytes": 123456,
            "sqlite_version": "3.50.4",
            "error": null
          },
          "runtime": "process",
          "runtime_error": null,
          "unisolated": true,
          "rehearsal": true,
          "uptime_seconds": 7300,
          "agents": {
            "idle": 3
          },
          "waiting": [
            {
              "kind": "message",
              "agent": "lead",
              "id": 12,
              "since": "1970-01-01T00:00:01.000Z",
              "text": "the picnic\nis planned"
            }
          ],
          "reconcilers": [
            {
              "name": "leases",
              "last_run_at": "1970-01-01T00:00:03.000Z",
              "duration_ms": 2,
              "summary": "3 checked",
              "error": null
            }
          ],
          "log_lines_lost": 0
        }
        "#);
    }
}
