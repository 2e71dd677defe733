//! Turns, parks, pauses, stops and kills of a real `hive serve`.

use hive_proto::Refusal;
use hive_proto::limits::SPILL_BYTES;
use hive_proto::v1::{DirectiveKind, EngineConfig, FailureClass, HarnessState, Outcome, Reason};
use rustix::process::Signal;

use crate::harness::Served;

const ECHO: &str = r#"
[[rule]]
steps = [{ tool = "send", args = { to = "{{from}}", body = "got {{body}}" } }]
"#;

#[tokio::test]
async fn messages_are_answered_one_turn_each_with_keys() {
    let served = Served::start(ECHO);
    for id in 1..=3 {
        served.fake.queue(id, "operator", &format!("job {id}"));
    }
    let last = served.fake.end(3).await;
    assert_eq!((last.epoch, last.turn_id, last.held), (7, 3, vec![3]));
    let record = served.fake.record();
    assert!(record.ends.iter().all(|end| end.outcome() == Outcome::Ok));
    let sent: Vec<_> = record
        .sends
        .iter()
        .map(|send| (send.body.as_str(), send.idempotency_key.as_str()))
        .collect();
    assert_eq!(
        sent,
        [
            ("got job 1", "m1:r0s0"),
            ("got job 2", "m2:r0s0"),
            ("got job 3", "m3:r0s0")
        ]
    );
    assert!(record.sends.iter().all(|send| send.in_reply_to.is_none()));
}

#[tokio::test]
async fn without_a_rule_people_and_peers_hear_that_it_rehearses() {
    let served = Served::start("");
    served.fake.queue(1, "operator", "hello\nworld");
    served.fake.queue(2, "system", "a notice");
    served.fake.queue(3, "nobody", "a label of the container");
    served.fake.end(3).await;
    let record = served.fake.record();
    assert_eq!(record.sends.len(), 1);
    assert_eq!(record.sends[0].to, "operator");
    assert!(record.sends[0].body.ends_with("no rule for this: hello"));
    assert!(record.ends.iter().all(|end| end.outcome() == Outcome::Ok));
}

#[tokio::test]
async fn a_turn_takes_more_mail_and_asks_for_another_turn() {
    let served = Served::start(
        r#"
        [[rule]]
        steps = [
          { tool = "recv", args = { max = 2, wait_seconds = 60 }, save = "more" },
          { tool = "send", args = { to = "operator", body = "{{more.from}}: {{more.messages.1.body}}" } },
          { tool = "request_next_turn" },
          { tool = "set_status", args = { text = "busy" } },
          { tool = "get_agent_meta", args = {}, save = "me" },
          { tool = "send", args = { to = "nobody", body = "x" } },
          { tool = "send", args = { to = "operator", body = "{{me.name}} {{last}}" } },
        ]"#,
    );
    served.fake.queue(1, "operator", "begin");
    served.fake.queue(2, "alice", "first");
    served.fake.queue(3, "alice", "second");
    let end = served.fake.end(1).await;
    assert_eq!(end.held, [1, 2, 3]);
    assert!(end.continue_requested);
    assert_eq!(end.usage.unwrap().tool_calls, 7);
    let record = served.fake.record();
    assert_eq!(record.sends[0].body, "alice: second");
    assert_eq!(record.status.as_deref(), Some("busy"));
    assert!(
        record.sends[1]
            .body
            .starts_with("bob unknown_agent: there is no agent nobody")
    );
    let recv = record.recvs.iter().find(|recv| recv.turn_id != 0).unwrap();
    assert_eq!(
        (recv.max, recv.wait_ms, recv.held.as_slice()),
        (2, 60_000, &[1][..])
    );
}

#[tokio::test]
async fn long_bodies_are_spilled() {
    let served = Served::start("");
    served.fake.queue(9, "system", &"x".repeat(SPILL_BYTES + 1));
    served.fake.end(1).await;
    let file = served.state_dir().join("inbox/9.md");
    assert_eq!(file.metadata().unwrap().len(), SPILL_BYTES as u64 + 1);
}

#[tokio::test]
async fn what_a_turn_leaves_behind_is_ended_before_it_is_settled() {
    let served = Served::start(
        r#"
        [[rule]]
        steps = [
          { shell = "setsid sleep 600 >/dev/null 2>&1 & setsid setsid sh -c 'sleep 600 & echo $! > pid; exec sleep 600' >/dev/null 2>&1 & while ! [ -s pid ]; do :; done; cat pid", save = "pid" },
          { tool = "send", args = { to = "operator", body = "{{pid}}" } },
        ]"#,
    );
    served.fake.queue(1, "operator", "leave something");
    served.fake.end(1).await;
    let pid = served.fake.record().sends[0].body.clone();
    assert!(pid.parse::<u32>().is_ok(), "{pid:?}");
    assert!(!std::path::Path::new("/proc").join(pid).exists());
}

#[tokio::test]
async fn failures_are_reported_with_their_class() {
    let served = Served::start(
        r#"
        [[rule]]
        body = "over"
        steps = [{ fail = "overloaded" }]
        [[rule]]
        body = "conf"
        steps = [{ fail = "config" }]"#,
    );
    served.fake.queue(1, "operator", "over");
    served.fake.queue(2, "operator", "conf");
    served.fake.end(2).await;
    let ends = served.fake.record().ends.clone();
    let classes: Vec<_> = ends
        .iter()
        .map(|end| (end.outcome(), end.failure()))
        .collect();
    assert_eq!(
        classes,
        [
            (Outcome::Failed, FailureClass::Overloaded),
            (Outcome::Failed, FailureClass::Config)
        ]
    );
    assert!(ends[0].detail.contains("line 4"), "{}", ends[0].detail);
}

#[tokio::test]
async fn a_faulty_script_or_an_unknown_engine_fails_every_turn() {
    for (engine, script, says) in [
        ("scripted", "[[rule]]\nbogus = 1", "line 2"),
        ("abacus", "", "no engine \"abacus\""),
    ] {
        let served = Served::start_with(EngineConfig {
            engine: engine.to_owned(),
            script: script.to_owned(),
            ..EngineConfig::default()
        });
        served.fake.queue(1, "operator", "x");
        let end = served.fake.end(1).await;
        assert_eq!(end.failure(), FailureClass::Config);
        assert!(end.detail.contains(says), "{}", end.detail);
    }
}

#[tokio::test]
async fn a_rate_limit_parks_until_the_time_and_runs_again_by_itself() {
    let served = Served::start(
        r#"
        [[rule]]
        steps = [{ fail = "rate_limited", retry_after = "1s", times = 1 }]"#,
    );
    served.fake.queue(1, "operator", "a");
    let end = served.fake.end(1).await;
    assert_eq!(end.outcome(), Outcome::RateLimited);
    let beat = served.fake.state(HarnessState::RateLimited).await;
    assert_eq!(beat.until_ms, end.until_ms);
    assert!(beat.detail.contains("line 3"), "{}", beat.detail);
    served.fake.queue(1, "operator", "a");
    assert_eq!(served.fake.end(2).await.outcome(), Outcome::Ok);
    let took = now_ms() - beat.until_ms;
    assert!(took >= 0, "it came {} ms early", -took);
}

#[tokio::test]
async fn a_changed_login_ends_the_park() {
    let served = Served::start(
        r#"
        [[rule]]
        steps = [{ fail = "auth_failed", times = 1 }]"#,
    );
    served.fake.queue(1, "operator", "a");
    assert_eq!(served.fake.end(1).await.outcome(), Outcome::AuthFailed);
    served.fake.state(HarnessState::NeedsLogin).await;
    let login = served.dir.path().join("home/.claude");
    std::fs::create_dir_all(&login).unwrap();
    std::fs::write(login.join(".credentials.json"), "{}").unwrap();
    served.fake.queue(1, "operator", "a");
    assert_eq!(served.fake.end(2).await.outcome(), Outcome::Ok);
}

#[tokio::test]
async fn a_pause_lets_the_turn_end_and_starts_no_other() {
    let served = Served::start(
        r#"
        [[rule]]
        from = "operator"
        steps = [{ shell = "while ! [ -e go ]; do :; done" }]"#,
    );
    served.fake.queue(1, "operator", "a");
    served.fake.state(HarnessState::Thinking).await;
    served.fake.record().paused = true;
    served.fake.direct(DirectiveKind::Pause, 0).await;
    std::fs::write(served.state_dir().join("go"), "").unwrap();
    assert_eq!(served.fake.end(1).await.outcome(), Outcome::Ok);
    served.fake.state(HarnessState::Paused).await;
    served.fake.queue(2, "system", "b");
    served.fake.record().paused = false;
    assert_eq!(served.fake.record().ends.len(), 1);
    served.fake.direct(DirectiveKind::Resume, 0).await;
    assert_eq!(served.fake.end(2).await.held, [2]);
}

#[tokio::test]
async fn the_operator_cancels_the_running_turn_only() {
    let served = Served::start("[[rule]]\nfrom = \"operator\"\nsteps = [{ wait = \"10m\" }]");
    served.fake.queue(1, "operator", "a");
    served.fake.state(HarnessState::Thinking).await;
    served.fake.direct(DirectiveKind::CancelTurn, 99).await;
    served.fake.direct(DirectiveKind::CancelTurn, 1).await;
    let end = served.fake.end(1).await;
    assert_eq!((end.turn_id, end.outcome()), (1, Outcome::Cancelled));
    served.fake.queue(2, "system", "b");
    assert_eq!(served.fake.end(2).await.outcome(), Outcome::Ok);
}

#[tokio::test]
async fn a_cancel_that_overtakes_its_message_still_counts() {
    let served = Served::start("[[rule]]\nfrom = \"operator\"\nsteps = [{ wait = \"10m\" }]");
    served.fake.state(HarnessState::Idle).await;
    served.fake.direct(DirectiveKind::CancelTurn, 1).await;
    served.fake.queue(1, "operator", "a");
    let end = served.fake.end(1).await;
    assert_eq!((end.turn_id, end.outcome()), (1, Outcome::Cancelled));
}

#[tokio::test]
async fn sigterm_interrupts_settles_and_exits_well() {
    let mut served = Served::start("[[rule]]\nsteps = [{ shell = \"sleep 600\" }]");
    served.fake.queue(1, "operator", "a");
    served.fake.state(HarnessState::Thinking).await;
    served.signal(Signal::TERM);
    assert_eq!(served.fake.end(1).await.outcome(), Outcome::Interrupted);
    assert_eq!(served.exit().await.code(), Some(0));
}

#[tokio::test]
async fn sigterm_ends_it_even_while_the_broker_is_away() {
    let mut served = Served::start("[[rule]]\nsteps = [{ shell = \"sleep 600\" }]");
    served.fake.queue(1, "operator", "a");
    served.fake.state(HarnessState::Thinking).await;
    served.fake.down().await;
    served.signal(Signal::TERM);
    assert_eq!(served.exit().await.code(), Some(0));
}

#[tokio::test]
async fn a_script_can_kill_the_harness_and_its_message_comes_again() {
    let mut served = Served::start(
        r#"
        [[rule]]
        redelivered = false
        steps = [
          { tool = "send", args = { to = "operator", body = "before" } },
          { crash = "harness" },
        ]
        [[rule]]
        redelivered = true
        steps = [{ tool = "send", args = { to = "operator", body = "again" } }]"#,
    );
    served.fake.queue(1, "operator", "a");
    assert!(!served.exit().await.success());
    {
        let mut record = served.fake.record();
        let (_, mut rows) = record.open.take().unwrap();
        rows[0].redelivered = true;
        record.queue.extend(rows);
    }
    served.again();
    assert_eq!(served.fake.end(1).await.outcome(), Outcome::Ok);
    let record = served.fake.record();
    let said: Vec<_> = record.sends.iter().map(|send| send.body.as_str()).collect();
    assert_eq!(said, ["before", "again"]);
    assert_ne!(record.opens[0].instance, record.opens[1].instance);
}

#[tokio::test]
async fn a_fenced_harness_stops_at_once_and_says_so() {
    let mut served = Served::start("[[rule]]\nsteps = [{ wait = \"10m\" }]");
    served.fake.queue(1, "operator", "a");
    served.fake.state(HarnessState::Thinking).await;
    served.fake.direct(DirectiveKind::Fenced, 0).await;
    assert_eq!(served.exit().await.code(), Some(4));
    assert!(served.fake.record().ends.is_empty());
}

#[tokio::test]
async fn a_stale_end_of_turn_ends_the_harness() {
    let mut served = Served::start("");
    served.fake.record().refuse_end = Some(Refusal::new(Reason::StaleEpoch, "stale"));
    served.fake.queue(1, "system", "a");
    assert_eq!(served.exit().await.code(), Some(4));
}

#[tokio::test]
async fn an_old_harness_is_told_and_exits() {
    let mut served = Served::start("");
    served.fake.record().refuse_open = Some(Refusal::new(Reason::VersionTooOld, "too old"));
    served.fake.down().await;
    served.fake.up();
    assert_eq!(served.exit().await.code(), Some(4));
}

fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since.unwrap().as_millis()).unwrap()
}
