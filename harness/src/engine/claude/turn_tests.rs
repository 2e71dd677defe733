//! Tests of `turn.rs`: no process, no waiting.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::*;
use crate::engine::EngineEvent;
use crate::engine::claude::control::user_message;
use crate::engine::claude::lines::RawLine;

/// A turn with its rule and what it has emitted.
struct Bench {
    rule: Rule,
    events: EventSink,
    seen: Arc<Mutex<Vec<EngineEvent>>>,
    began: Instant,
}

impl Bench {
    fn new(patterns: &[&str]) -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&seen);
        let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
        Self {
            rule: Rule::new(&patterns),
            events: Arc::new(move |event| sink.lock().unwrap().push(event)),
            seen,
            began: Instant::now(),
        }
    }

    fn begin(&self) -> Turn<'_> {
        let job = Job {
            kind: Kind::Prompt,
            prompt: "do it".to_owned(),
            silence: Duration::from_secs(100),
            wall: Duration::from_secs(1000),
        };
        Turn::begin(job, &self.rule, &self.events, self.began)
    }

    /// A turn whose prompt has been sent.
    fn running(&self) -> Turn<'_> {
        let mut turn = self.begin();
        let status = json!({"mcpServers": [{"name": "hive", "status": "connected"}]});
        assert_eq!(self.reply(&mut turn, status), Step::Wait);
        assert_eq!(turn.take_outbox(), [user_message("do it")]);
        turn
    }

    /// Answers the last request.
    fn reply(&self, turn: &mut Turn<'_>, answer: Value) -> Step {
        let asked = turn.take_outbox().pop().unwrap();
        let id = asked["request_id"].as_str().unwrap();
        let response = json!({"subtype": "success", "request_id": id, "response": answer});
        self.line(
            turn,
            json!({"type": "control_response", "response": response}),
        )
    }

    fn line(&self, turn: &mut Turn<'_>, value: Value) -> Step {
        self.line_at(turn, value, 0)
    }

    fn line_at(&self, turn: &mut Turn<'_>, value: Value, secs: u64) -> Step {
        let raw = RawLine::Whole(value.to_string().into_bytes());
        turn.on_line(&raw, self.at(secs), 0)
    }

    fn at(&self, secs: u64) -> Instant {
        self.began + Duration::from_secs(secs)
    }
}

fn asks_to_interrupt(turn: &mut Turn<'_>) -> bool {
    turn.take_outbox()
        .iter()
        .any(|line| line["request"]["subtype"] == "interrupt")
}

#[test]
fn the_prompt_waits_for_the_tools() {
    let bench = Bench::new(&[]);
    let mut turn = bench.begin();
    let pending = json!({"mcpServers": [{"name": "hive", "status": "pending"}]});
    assert_eq!(bench.reply(&mut turn, pending), Step::Wait);
    assert!(turn.take_outbox().is_empty() && !turn.prompted);
    assert_eq!(turn.deadline(), bench.began + Duration::from_millis(25));
    assert_eq!(turn.on_clock(bench.at(1)), Step::Wait);
    let connected = json!({"mcpServers": [{"name": "hive", "status": "connected"}]});
    assert_eq!(bench.reply(&mut turn, connected), Step::Wait);
    assert_eq!(turn.take_outbox(), [user_message("do it")]);
    assert!(turn.prompted);
}

#[test]
fn tools_that_stay_away_end_the_turn_before_it_began() {
    let bench = Bench::new(&[]);
    let mut turn = bench.begin();
    let mut step = Step::Wait;
    for _ in 0..5 {
        if step == Step::Done {
            break;
        }
        let asked = turn.take_outbox().pop().unwrap();
        let id = asked["request_id"].as_str().unwrap();
        let response = match asked["request"]["subtype"].as_str() {
            Some("mcp_status") => {
                let servers = json!({"mcpServers": [{"name": "hive", "status": "failed"}]});
                json!({"subtype": "success", "request_id": id, "response": servers})
            }
            _ => json!({"subtype": "error", "request_id": id, "error": "ECONNREFUSED"}),
        };
        step = bench.line(
            &mut turn,
            json!({"type": "control_response", "response": response}),
        );
    }
    assert_eq!(step, Step::Done);
    assert_eq!(
        turn.facts.stop,
        Some(Stop::ToolsLost("ECONNREFUSED".to_owned()))
    );
    assert!(!turn.prompted);
}

#[test]
fn tools_missing_at_the_start_of_the_turn_interrupt_it() {
    let bench = Bench::new(&[]);
    let mut turn = bench.running();
    let init = json!({"type": "system", "subtype": "init", "session_id": "s",
        "mcp_servers": [{"name": "hive", "status": "failed"}]});
    assert_eq!(bench.line(&mut turn, init), Step::Wait);
    assert!(asks_to_interrupt(&mut turn));
    assert!(matches!(turn.facts.stop, Some(Stop::ToolsLost(_))));
}

#[test]
fn events_come_out_in_order_and_unknown_lines_are_kept() {
    let bench = Bench::new(&[]);
    let mut turn = bench.running();
    for value in [
        json!({"type": "assistant", "message": {"model": "m", "content": [
            {"type": "text", "text": "hello"},
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]}}),
        json!({"type": "user", "message": {"content": [
            {"type": "tool_result", "tool_use_id": "t1", "is_error": true}]}}),
        json!({"type": "from_the_future", "x": 1}),
    ] {
        assert_eq!(bench.line(&mut turn, value), Step::Wait);
    }
    let seen = bench.seen.lock().unwrap();
    let want = [
        EngineEvent::Text("hello".to_owned()),
        EngineEvent::ToolStart {
            id: "t1".to_owned(),
            name: "Bash".to_owned(),
        },
        EngineEvent::ToolEnd {
            id: "t1".to_owned(),
            ok: false,
        },
        EngineEvent::Raw(r#"{"type":"from_the_future","x":1}"#.to_owned()),
    ];
    assert_eq!(*seen, want);
    assert_eq!((turn.counted.tool_calls, turn.model.as_str()), (1, "m"));
}

#[test]
fn silence_and_the_wall_end_a_turn_and_then_kill() {
    let bench = Bench::new(&[]);
    let mut turn = bench.running();
    assert_eq!(turn.deadline(), bench.at(100));
    let quiet = json!({"type": "tool_progress", "heartbeat": true});
    assert_eq!(bench.line_at(&mut turn, quiet, 50), Step::Wait);
    assert_eq!(
        turn.on_clock(bench.at(100)),
        Step::Wait,
        "a line was seen since"
    );
    assert!(turn.facts.stop.is_none());
    assert_eq!(turn.on_clock(bench.at(150)), Step::Wait);
    assert_eq!(
        turn.facts.stop,
        Some(Stop::Silent(Duration::from_secs(100)))
    );
    assert!(asks_to_interrupt(&mut turn));
    assert_eq!(turn.on_clock(bench.at(152)), Step::Wait);
    assert_eq!(turn.on_clock(bench.at(153)), Step::Kill);

    let mut turn = bench.running();
    let quiet = json!({"type": "keep_alive"});
    assert_eq!(bench.line_at(&mut turn, quiet, 999), Step::Wait);
    assert_eq!(turn.deadline(), bench.at(1000));
    assert_eq!(turn.on_clock(bench.at(1000)), Step::Wait);
    assert_eq!(turn.facts.stop, Some(Stop::Wall(Duration::from_secs(1000))));
}

#[test]
fn a_cancelled_turn_ends_with_its_result_and_the_first_reason_counts() {
    let bench = Bench::new(&[]);
    let mut turn = bench.running();
    assert_eq!(turn.on_cancel(bench.at(1)), Step::Wait);
    assert!(asks_to_interrupt(&mut turn));
    let late = json!({"type": "system", "subtype": "api_retry", "attempt": 1,
        "retry_delay_ms": 60_000, "error_status": 429, "error": "rate_limit"});
    assert_eq!(bench.line(&mut turn, late), Step::Wait);
    assert!(!asks_to_interrupt(&mut turn));
    let result = json!({"type": "result", "subtype": "error_during_execution", "is_error": true});
    assert_eq!(bench.line(&mut turn, result), Step::Done);
    assert_eq!(turn.facts.stop, Some(Stop::Cancelled));
}

#[test]
fn a_cancel_before_the_prompt_needs_no_interrupt() {
    let bench = Bench::new(&[]);
    let mut turn = bench.begin();
    assert_eq!(turn.on_cancel(bench.at(1)), Step::Done);
    assert!(!turn.prompted);
}

#[test]
fn a_long_rate_limit_ends_the_turn_and_a_short_one_is_sat_out() {
    let retry = |status: u32, error: &str, delay: u32| {
        json!({"type": "system", "subtype": "api_retry", "attempt": 1,
            "retry_delay_ms": delay, "error_status": status, "error": error})
    };
    for (line, stops) in [
        (retry(429, "rate_limit", 1116), false),
        (retry(429, "rate_limit", 32_223), true),
        (retry(529, "overloaded", 32_223), false),
    ] {
        let bench = Bench::new(&[]);
        let mut turn = bench.running();
        assert_eq!(bench.line(&mut turn, line.clone()), Step::Wait);
        assert_eq!(asks_to_interrupt(&mut turn), stops, "{line}");
        assert_eq!(turn.facts.stop == Some(Stop::RateLimited), stops, "{line}");
    }
}

#[test]
fn permission_requests_are_answered_at_once_and_other_requests_refused() {
    let bench = Bench::new(&["git *"]);
    let mut turn = bench.running();
    for (command, behavior) in [("git status", "allow"), ("rm -rf /", "deny")] {
        let request = json!({"subtype": "can_use_tool", "tool_name": "Bash",
            "input": {"command": command}});
        let ask = json!({"type": "control_request", "request_id": "r1", "request": request});
        assert_eq!(bench.line(&mut turn, ask), Step::Wait);
        let answer = turn.take_outbox().pop().unwrap();
        assert_eq!(answer["response"]["request_id"], "r1");
        assert_eq!(
            answer["response"]["response"]["behavior"], behavior,
            "{command}"
        );
    }
    let ask = json!({"type": "control_request", "request_id": "r2",
        "request": {"subtype": "from_the_future"}});
    assert_eq!(bench.line(&mut turn, ask), Step::Wait);
    let answer = turn.take_outbox().pop().unwrap();
    assert_eq!(answer["response"]["subtype"], "error");
}

#[test]
fn a_cut_line_is_told_and_the_turn_goes_on() {
    let bench = Bench::new(&[]);
    let mut turn = bench.running();
    let cut = RawLine::Cut {
        head: b"{\"type\":".to_vec(),
        dropped: 7,
    };
    assert_eq!(turn.on_line(&cut, bench.at(0), 0), Step::Wait);
    let seen = bench.seen.lock().unwrap();
    assert!(matches!(&seen[0], EngineEvent::Notice(text) if text.contains("7 bytes")));
    assert_eq!(seen[1], EngineEvent::Raw("{\"type\":".to_owned()));
}

#[test]
fn a_process_that_does_not_become_ready_is_killed() {
    let bench = Bench::new(&[]);
    let mut turn = bench.begin();
    assert_eq!(turn.deadline(), bench.began + READY_LIMIT);
    assert_eq!(turn.on_clock(bench.began + READY_LIMIT), Step::Kill);
    assert_eq!(turn.facts.stop, Some(Stop::NotReady(READY_LIMIT)));
}
