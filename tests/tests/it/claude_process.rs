//! The real claude: its process is kept, replaced, killed and cleared up after; the conversation
//! survives all of it.

use std::time::Duration;

use hive::engine::{Engine as _, EngineEvent};
use hive_proto::v1::{FailureClass, Outcome};
use hive_tests::claude::{ClaudeBench, processes_with, seen};
use hive_tests::wait;
use tokio_util::sync::CancellationToken;

const SCRIPT: &str = r#"
    [[rule]]
    body = "^hang"
    steps = [ { say = "Hold on." }, { stall = "60s" } ]
    [[rule]]
    steps = [ { say = "Fine." } ]
"#;

/// How often the one transcript holds `word`.
fn remembered(bench: &ClaudeBench, word: &str) -> bool {
    let transcripts = bench.transcripts();
    assert_eq!(transcripts.len(), 1, "one conversation: {transcripts:?}");
    std::fs::read_to_string(&transcripts[0])
        .unwrap()
        .contains(word)
}

fn is_gone(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.is_empty() || stat.contains(") Z ")
}

async fn ok(bench: &mut ClaudeBench, body: &str) {
    let end = bench.turn(body).await;
    assert_eq!(end.outcome, Outcome::Ok, "{body}: {end:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_fails_its_turn_and_the_conversation_goes_on() {
    let mut bench = ClaudeBench::start(SCRIPT).await;
    ok(&mut bench, "first").await;
    let pid = bench.engine.kept().unwrap();
    let events = bench.events();
    let killer = async move {
        let hanging = |event: &EngineEvent| matches!(event, EngineEvent::SessionStarted { .. });
        events.lock().unwrap().clear();
        seen(&events, "the turn has begun", hanging).await;
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    };
    let (end, ()) = tokio::join!(bench.turn("hang"), killer);
    assert_eq!(
        (end.outcome, end.failure),
        (Outcome::Failed, FailureClass::Crashed),
        "{end:?}"
    );
    assert!(end.detail.contains("signal 9"), "{}", end.detail);
    ok(&mut bench, "afterwards").await;
    assert!(remembered(&bench, "first") && remembered(&bench, "afterwards"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_process_that_died_unseen_is_replaced_without_a_failure() {
    let mut bench = ClaudeBench::start(SCRIPT).await;
    ok(&mut bench, "first").await;
    let pid = bench.engine.kept().unwrap();
    let raw = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(raw, rustix::process::Signal::KILL).unwrap();
    ok(&mut bench, "second").await;
    assert_ne!(bench.engine.kept(), Some(pid));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_conversation_outlives_the_harness() {
    let mut bench = ClaudeBench::start(SCRIPT).await;
    ok(&mut bench, "before the restart").await;
    let pid = bench.engine.kept().unwrap();
    bench.restart().await;
    assert!(is_gone(pid), "stop leaves no process");
    ok(&mut bench, "after the restart").await;
    assert!(remembered(&bench, "before the restart") && remembered(&bench, "after the restart"));
    bench.engine.new_session().await;
    ok(&mut bench, "something new").await;
    assert_eq!(bench.transcripts().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_process_ends_by_itself_and_leaves_nothing_behind() {
    let mut bench = ClaudeBench::start(SCRIPT).await;
    bench.configure(|env| env.config.engine_idle_secs = 1);
    ok(&mut bench, "first").await;
    let pid = bench.engine.kept().unwrap();
    let left = bench.engine.idle().await.expect("it is kept for a while");
    assert!(left <= Duration::from_secs(1));
    wait::pass(left).await;
    assert_eq!(bench.engine.idle().await, None);
    assert!(is_gone(pid) && bench.engine.kept().is_none());
    ok(&mut bench, "second").await;
    assert!(remembered(&bench, "first") && remembered(&bench, "second"));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_process_a_turn_is_the_same_conversation() {
    let mut bench = ClaudeBench::start(SCRIPT).await;
    bench.configure(|env| env.config.engine_idle_secs = 0);
    ok(&mut bench, "first").await;
    assert_eq!(bench.engine.kept(), None);
    assert_eq!(bench.engine.idle().await, None);
    ok(&mut bench, "second").await;
    assert!(remembered(&bench, "first") && remembered(&bench, "second"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_prompt_replaces_the_process() {
    let mut bench = ClaudeBench::start(SCRIPT).await;
    ok(&mut bench, "first").await;
    let pid = bench.engine.kept();
    bench.configure(|env| env.system_prompt = "You are alpha, and terse.".to_owned());
    ok(&mut bench, "second").await;
    assert_ne!(bench.engine.kept(), pid);
    assert!(remembered(&bench, "first") && remembered(&bench, "second"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_left_running_is_ended_and_the_engine_is_not() {
    let mark = format!("86{}", std::process::id());
    let script = format!(
        "[[rule]]\nbody = \"leave\"\nsteps = [ {{ shell = \"setsid sleep {mark} > /dev/null 2>&1 &\" }} ]\n\
         [[rule]]\nsteps = [ {{ say = \"Fine.\" }} ]\n"
    );
    let mut bench = ClaudeBench::start(&script).await;
    ok(&mut bench, "leave something").await;
    let sleep = format!("sleep {mark}");
    assert_eq!(processes_with(&sleep).len(), 1);
    let pid = bench.engine.kept().unwrap();
    assert!(hive::proc::Children::default().end_strays(&[pid]).await > 0);
    assert!(processes_with(&sleep).is_empty());
    ok(&mut bench, "still there?").await;
    assert_eq!(bench.engine.kept(), Some(pid));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_hives_tools_no_turn_begins() {
    let mut bench = ClaudeBench::start(SCRIPT).await;
    let good = bench.env.mcp_url.clone();
    bench.configure(|env| env.mcp_url = "http://127.0.0.1:9/mcp".to_owned());
    let end = bench.turn("first").await;
    assert_eq!(
        (end.outcome, end.failure),
        (Outcome::Failed, FailureClass::Crashed),
        "{end:?}"
    );
    assert!(end.detail.contains("hive's tools"), "{}", end.detail);
    assert!(bench.transcripts().is_empty(), "the model was not asked");
    bench.configure(|env| env.mcp_url = good);
    ok(&mut bench, "second").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_claude_does_not_know_is_a_bad_session() {
    let mut bench = ClaudeBench::start(SCRIPT).await;
    ok(&mut bench, "first").await;
    bench.restart().await;
    let transcript = bench.transcripts().remove(0);
    std::fs::write(&transcript, b"").unwrap();
    let end = bench.turn("second").await;
    assert_eq!(
        (end.outcome, end.failure),
        (Outcome::Failed, FailureClass::BadSession),
        "{end:?}"
    );
    bench.engine.new_session().await;
    ok(&mut bench, "third").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_installed_engine_the_turn_says_what_to_do() {
    let mut bench = ClaudeBench::start(SCRIPT).await;
    bench.configure(|env| env.engines = env.state.join("no-engines"));
    let end = bench.turn("first").await;
    assert_eq!(
        (end.outcome, end.failure),
        (Outcome::Failed, FailureClass::Config),
        "{end:?}"
    );
    assert!(
        end.detail.contains("hive engine install claude"),
        "{}",
        end.detail
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_cancelled_before_it_began_asks_nothing() {
    let mut bench = ClaudeBench::start(SCRIPT).await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    let end = bench.turn_until("first", cancel).await;
    assert_eq!(end.outcome, Outcome::Interrupted, "{end:?}");
    assert!(bench.transcripts().is_empty());
    ok(&mut bench, "second").await;
}
