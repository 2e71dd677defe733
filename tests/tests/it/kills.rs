//! Everything that can be killed is killed, with real harnesses as plain processes.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use hive_proto::v1::{AgentRef, MessageState, Outcome};
use hive_tests::TestHive;
use hive_tests::daemon::{Ended, send};
use hive_tests::mail::{attempt, state};
use hive_tests::wait::{SOON, pass, until};
use rustix::process::Signal;

/// A turn that goes on until the file `gate` is there, then answers.
pub const HELD: &str = r#"
[[rule]]
from = "operator"
steps = [
    { shell = "echo turn >>started; while [ ! -e gate ]; do sleep 0.05; done" },
    { tool = "send", args = { to = "operator", body = "echo: {{body}}" } },
]
"#;

/// A turn that kills its own harness, each time.
const POISON: &str = r#"
[[rule]]
body = "poison"
steps = [{ crash = "harness" }]
[[rule]]
from = "operator"
steps = [{ tool = "send", args = { to = "operator", body = "echo: {{body}}" } }]
"#;

/// The agent's own directory on the host.
pub fn state_dir(hive: &TestHive, name: &str) -> PathBuf {
    hive.home().join("agents").join(name).join("state")
}

/// Waits until the held turn has begun `times` times.
pub async fn started(hive: &TestHive, name: &str, times: usize) {
    let file = state_dir(hive, name).join("started");
    until("the turn has begun", Duration::from_secs(60), || {
        let lines = std::fs::read_to_string(&file)
            .unwrap_or_default()
            .lines()
            .count();
        std::future::ready((lines >= times).then_some(()))
    })
    .await;
}

/// Lets held turns end.
pub fn open_gate(hive: &TestHive, name: &str) {
    std::fs::write(state_dir(hive, name).join("gate"), "").unwrap();
}

/// The harness's process (`process` runtime: `<pid>:<start time>`).
async fn harness(hive: &TestHive, name: &str) -> u32 {
    let request = AgentRef {
        name: name.to_owned(),
    };
    let agent = hive
        .operator()
        .get_agent(request)
        .await
        .unwrap()
        .into_inner();
    agent.runtime_id.split(':').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn hived_killed_in_a_turn_answers_once() {
    let mut hive = TestHive::builder().script(HELD).start().await;
    hive.create("bee", "").await;
    let id = hive.send("bee", "hello").await;
    started(&hive, "bee", 1).await;
    hive.restart().await;
    open_gate(&hive, "bee");
    assert_eq!(
        hive.answer(id, Duration::from_secs(60)).await.body,
        "echo: hello"
    );
    let life = hive.acked(id, SOON).await;
    assert_eq!(life.replies.len(), 1);
    assert_eq!(hive.mailbox("").await.len(), 1);
}

#[tokio::test]
async fn a_killed_harness_gets_its_message_again() {
    let mut hive = TestHive::builder().script(HELD).start().await;
    hive.create("bee", "").await;
    let id = hive.send("bee", "hello").await;
    started(&hive, "bee", 1).await;
    let first = harness(&hive, "bee").await;
    send(first, Signal::KILL);
    started(&hive, "bee", 2).await;
    assert_ne!(harness(&hive, "bee").await, first);
    open_gate(&hive, "bee");
    assert_eq!(hive.answer(id, SOON).await.body, "echo: hello");
    let life = hive.acked(id, SOON).await;
    assert!(life.message.as_ref().unwrap().redelivered);
    assert_eq!(attempt(&life), 1);
    let outcomes: Vec<Outcome> = life.turns.iter().map(|turn| turn.outcome()).collect();
    assert_eq!(outcomes, [Outcome::Lost, Outcome::Ok]);
    // What the first turn had started is gone with it.
    until("the first shell is gone", SOON, || {
        let alive = std::path::Path::new(&format!("/proc/{first}")).exists();
        std::future::ready((!alive).then_some(()))
    })
    .await;
}

#[tokio::test]
async fn a_harness_that_dies_at_any_step_answers_once() {
    // The second delivery plays the same steps without dying.
    let send = r#"{ tool = "send", args = { to = "operator", body = "echo: {{body}}" } }"#;
    let say = r#"{ say = "thinking" }"#;
    let die = r#"{ shell = "[ -e died ] || { touch died; kill -9 $PPID; }" }"#;
    let first = [
        format!("{die}, {say}, {send}, {say}"),
        format!("{say}, {die}, {send}, {say}"),
        format!("{say}, {send}, {die}, {say}"),
        format!("{say}, {send}, {say}, {die}"),
    ];
    let mut hive = TestHive::builder().start().await;
    for (n, steps) in first.iter().enumerate() {
        let script = format!("[[rule]]\nfrom = \"operator\"\nsteps = [{steps}]\n");
        let name = format!("bee-{n}");
        hive.create(&name, &script).await;
        let id = hive.send(&name, &format!("hello {n}")).await;
        let life = hive.acked(id, Duration::from_secs(60)).await;
        assert!(life.message.as_ref().unwrap().redelivered, "{steps}");
        assert_eq!(attempt(&life), 1, "{steps}");
        let answers = hive.mailbox("").await;
        let wanted = format!("echo: hello {n}");
        assert_eq!(
            answers.iter().filter(|m| m.body == wanted).count(),
            1,
            "{steps}"
        );
    }
}

#[tokio::test]
async fn a_message_that_kills_its_harness_ends_among_the_dead() {
    let mut hive = TestHive::builder().script(POISON).start().await;
    hive.create("bee", "").await;
    let poison = hive.send("bee", "poison").await;
    let next = hive.send("bee", "hello").await;
    // The restart plan gives up before the sixth death: whoever starts it again is the operator.
    let start = Instant::now();
    loop {
        let life = hive.life(poison).await;
        if state(&life) == MessageState::Dead {
            assert_eq!(life.turns.len(), 6);
            break;
        }
        if hive.state("bee").await == "failed" {
            hive.hive(&["agent", "start", "bee"]).await.expect_code(0);
        }
        assert!(start.elapsed() < Duration::from_secs(150), "{life:#?}");
        pass(Duration::from_millis(100)).await;
    }
    // It may give up only now: then, too, somebody starts it.
    until(
        "the queue behind it goes on",
        Duration::from_secs(60),
        || async {
            if hive.state("bee").await == "failed" {
                hive.hive(&["agent", "start", "bee"]).await.expect_code(0);
            }
            let inbox = hive.mailbox("").await;
            let answered = |m: &hive_proto::v1::Message| m.in_reply_to == Some(next);
            inbox.iter().any(answered).then_some(())
        },
    )
    .await;
    let dead = hive.hive(&["dead", "ls"]).await.expect_code(0);
    assert!(dead.stdout.contains("poison"), "{}", dead.stdout);
}

#[tokio::test]
async fn after_a_reboot_what_should_run_runs() {
    let mut hive = TestHive::builder().script(HELD).start().await;
    for name in ["runs", "rests", "waits"] {
        hive.create(name, "").await;
        hive.until_state(name, "idle", SOON).await;
    }
    hive.hive(&["agent", "stop", "rests"]).await.expect_code(0);
    hive.hive(&["agent", "pause", "waits"]).await.expect_code(0);
    hive.until_state("rests", "stopped", SOON).await;
    hive.until_state("waits", "paused", SOON).await;
    let id = hive.send("runs", "hello").await;
    started(&hive, "runs", 1).await;
    // Everything at once, as when the power goes.
    let processes = hive.agent_processes();
    assert!(processes.len() >= 2, "{processes:?}");
    hive.kill().await;
    for pid in processes {
        send(pid, Signal::KILL);
    }
    hive.start().await;
    open_gate(&hive, "runs");
    assert_eq!(
        hive.answer(id, Duration::from_secs(60)).await.body,
        "echo: hello"
    );
    hive.until_state("runs", "idle", SOON).await;
    hive.until_state("rests", "stopped", SOON).await;
    hive.until_state("waits", "paused", SOON).await;
}

#[tokio::test]
async fn a_second_daemon_leaves_the_first_alone() {
    let mut hive = TestHive::builder().by_hand().start().await;
    hive.create("bee", "").await;
    let log = hive.log_path().with_extension("second");
    let mut second = hive_tests::daemon::Daemon::start(hive.hived_command(), &log);
    let ended = second.end(SOON).await;
    assert!(matches!(ended, Ended::Code(code) if code != 0), "{ended:?}");
    let said = second.output();
    assert!(
        said.contains("lock") || said.contains("another") || said.contains("already"),
        "{said}"
    );
    // Both sockets are still the first one's.
    hive.send("bee", "still here").await;
    let mut session = hive.session("bee").await;
    assert_eq!(session.recv(1, 1_000).await.unwrap().messages.len(), 1);
    // The lock goes with the process, whatever ended it.
    hive.restart().await;
    assert_eq!(hive.mailbox("bee").await.len(), 1);
}

#[tokio::test]
async fn a_socket_of_a_living_daemon_is_never_taken_away() {
    let first = TestHive::builder().by_hand().start().await;
    let mut second = TestHive::builder().by_hand().prepare();
    // Another data directory, the same sockets.
    second.spawn(second.hived_command_at(&first.run_dir()));
    let ended = second.ended(SOON).await;
    assert_ne!(ended, Ended::Code(0));
    first.hive(&["status"]).await.expect_code(0);
}

#[tokio::test]
async fn term_with_fifty_long_polls_ends_soon_and_cleanly() {
    let mut hive = TestHive::builder().by_hand().start().await;
    let mut polls = tokio::task::JoinSet::new();
    let mut sessions = Vec::new();
    for n in 0..10 {
        let name = format!("bee-{n}");
        hive.create(&name, "").await;
        let mut session = hive.session(&name).await;
        let (epoch, mut client) = (session.epoch(), session.client.clone());
        let request = hive_proto::v1::RecvRequest {
            epoch,
            max: 1,
            wait_ms: 170_000,
            ..Default::default()
        };
        polls.spawn(async move { client.recv(request).await.map(drop) });
        session
            .beat(hive_proto::v1::HarnessState::Idle)
            .await
            .unwrap();
        sessions.push(session);
    }
    let id = hive.send("operator", "unread").await;
    for _ in 0..40 {
        let mut operator = hive.operator();
        let request = hive_proto::v1::WaitMessageRequest {
            id,
            wait_ms: 170_000,
        };
        polls.spawn(async move { operator.wait_message(request).await.map(drop) });
    }
    let mut watch = hive.watch(0).await;
    pass(Duration::from_millis(300)).await;
    let start = Instant::now();
    let ended = hive.terminate().await;
    let took = start.elapsed();
    assert_eq!(ended, Ended::Code(0));
    assert!(took < Duration::from_secs(5), "{took:?}");
    for answer in polls.join_all().await {
        let reason = hive_tests::client::refusal(&answer.unwrap_err()).reason;
        assert_eq!(reason, hive_proto::v1::Reason::Unavailable);
    }
    let over = async { while let Ok(Some(_)) = watch.message().await {} };
    tokio::time::timeout(Duration::from_secs(5), over)
        .await
        .expect("the stream ends");
    assert!(!hive.log().contains("stopping: forced"), "{}", hive.log());
}

#[tokio::test]
async fn no_mode_depends_on_the_umask() {
    use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
    let mut hive = TestHive::builder().script(HELD).prepare();
    for folder in [hive.home(), hive.run_dir()] {
        std::fs::remove_dir_all(folder).unwrap();
    }
    std::fs::create_dir(hive.home()).unwrap();
    hive.write_config();
    let command = hive.wrapped_command(&["bash", "-c", "umask 000; exec \"$@\"", "--"]);
    hive.start_as(command).await;
    hive.create("bee", "").await;
    hive.until_state("bee", "idle", SOON).await;
    let backup = hive.home().join("backups").join("copy.db");
    hive.hive(&["backup", "-o", backup.to_str().unwrap()])
        .await
        .expect_code(0);
    let mut folders = vec![hive.home(), hive.run_dir()];
    let mut open = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let meta = std::fs::symlink_metadata(entry.path()).unwrap();
            let mode = meta.permissions().mode() & 0o777;
            if meta.is_dir() {
                folders.push(entry.path());
            }
            // The operator socket may be opened to a group; programs may be run.
            let allowed = match entry.file_name().to_str() {
                Some("operator.sock" | "operator-http.sock") => 0o660,
                // Mounted into containers of another user.
                Some("engines") => 0o755,
                _ if meta.is_dir() || entry.path().starts_with(hive.home().join("bin")) => 0o700,
                _ if meta.file_type().is_socket() => 0o600,
                _ => 0o600,
            };
            // What an agent makes in its own directory is its own business.
            let own = entry
                .path()
                .components()
                .any(|part| part.as_os_str() == "bee")
                && !meta.is_dir();
            if mode & !allowed != 0 && !own && !meta.is_symlink() {
                open.push(format!("{} {mode:o}", entry.path().display()));
            }
        }
    }
    // `hive.toml` was there before and is the operator's.
    open.retain(|line| !line.contains("/hive.toml "));
    assert!(open.is_empty(), "{open:#?}");
}

#[tokio::test]
async fn a_stopped_harness_is_unreachable_when_its_beat_is_overdue() {
    let mut hive = TestHive::builder().script(HELD).start().await;
    hive.create("bee", "").await;
    hive.until_state("bee", "idle", SOON).await;
    let pid = harness(&hive, "bee").await;
    send(pid, Signal::STOP);
    hive.until_state("bee", "unreachable", Duration::from_secs(80))
        .await;
    send(pid, Signal::CONT);
    hive.until_state("bee", "idle", Duration::from_secs(40))
        .await;
}

#[tokio::test]
async fn a_stopped_broker_goes_on_where_it_was() {
    let mut hive = TestHive::builder().script(HELD).start().await;
    hive.create("bee", "").await;
    let id = hive.send("bee", "hello").await;
    started(&hive, "bee", 1).await;
    hive.daemon().signal(Signal::STOP);
    open_gate(&hive, "bee");
    pass(Duration::from_secs(5)).await;
    hive.daemon().signal(Signal::CONT);
    assert_eq!(hive.answer(id, SOON).await.body, "echo: hello");
    let life = hive.acked(id, SOON).await;
    assert_eq!(
        (attempt(&life), life.turns.len(), life.replies.len()),
        (0, 1, 1)
    );
}
