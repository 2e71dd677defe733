//! The real Claude Code on the scripted upstream, through an agent's own socket. Tools of hive need
//! the harness, so these turns use the engine's own Bash.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use hived::gateway::Ended;
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, UnixStream};
use tokio::process::Command;
use tokio::task::JoinSet;

use crate::gateway::kit::Door;

fn claude() -> PathBuf {
    match std::env::var_os("HIVE_TEST_CLAUDE") {
        Some(path) => path.into(),
        None => panic!("HIVE_TEST_CLAUDE is not set: run the tests by `make test`"),
    }
}

/// Passes bytes between a loopback port and the gateway's socket, as the harness's forwarder does.
async fn forward(listener: TcpListener, socket: PathBuf) {
    let mut connections = JoinSet::new();
    while let Ok((mut client, _)) = listener.accept().await {
        let socket = socket.clone();
        connections.spawn(async move {
            let mut gateway = UnixStream::connect(socket).await?;
            tokio::io::copy_bidirectional(&mut client, &mut gateway).await
        });
    }
}

/// One turn of a fresh process; what it printed, line by line.
async fn turn(door: &Door, prompt: &str) -> Vec<Value> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut forwarder = JoinSet::new();
    forwarder.spawn(forward(listener, door.socket().to_owned()));

    let mut child = command(door.dir(), &format!("http://{address}"))
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(prompt.as_bytes()).await.unwrap();
    drop(stdin);
    let output = child.wait_with_output().await.unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!stdout.is_empty(), "claude said nothing: {stderr}");
    let lines = stdout.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

fn command(dir: &Path, url: &str) -> Command {
    let mut command = Command::new(claude());
    command
        .args(["--print", "--verbose", "--output-format", "stream-json"])
        .args(["--model", "haiku", "--tools", "Bash"])
        .args(["--allowedTools", "Bash"])
        .current_dir(dir)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", dir)
        .env("ANTHROPIC_BASE_URL", url)
        .env("ANTHROPIC_API_KEY", "not-a-key")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("CLAUDE_CODE_MAX_RETRIES", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// Whether a line is the model's call of Bash.
fn is_shell(line: &Value) -> bool {
    line["message"]["content"][0]["name"] == "Bash"
}

/// How often a script calls Bash.
fn shells(steps: &str) -> usize {
    steps.matches("shell").count()
}

fn result(lines: &[Value]) -> &Value {
    lines.iter().find(|line| line["type"] == "result").unwrap()
}

#[tokio::test]
async fn the_real_claude_plays_a_script() {
    let door = Door::scripted(
        r#"
        [[rule]]
        from = "operator"
        body = "count to (\\d)"
        steps = [
          { say = "I count." },
          { shell = "seq {{1}} | paste -sd,", save = "numbers" },
          { shell = "echo {{numbers}} > counted" },
          { say = "{{from}}, I counted {{numbers}}" },
        ]
        "#,
    );
    let lines = turn(&door, "[message 17 from operator]\ncount to 3").await;
    let result = result(&lines);
    assert_eq!(result["result"], "operator, I counted 1,2,3", "{result}");
    assert_eq!(result["is_error"], false, "{result}");
    let counted = std::fs::read_to_string(door.dir().join("counted")).unwrap();
    assert_eq!(counted, "1,2,3\n");

    let calls = door.calls.lock().unwrap();
    assert_eq!(calls.len(), 3, "{calls:?}");
    for call in calls.iter() {
        assert_eq!((call.status, call.ended), (200, Ended::Whole), "{call:?}");
        assert!(call.model.starts_with("claude-"), "{call:?}");
        assert!(call.tokens.input > 0 && call.tokens.output > 0, "{call:?}");
    }
}

#[tokio::test]
async fn the_real_claude_meets_faults() {
    for (step, status, kind) in [
        ("{ fail = \"auth_failed\" }", 401, "api_error"),
        (
            "{ fail = \"rate_limited\", retry_after = \"1s\" }",
            429,
            "api_error",
        ),
        ("{ status = 529 }", 529, "api_error"),
        ("{ fail = \"budget_exhausted\" }", 402, "api_error"),
        ("{ fail = \"context_full\" }", 400, "prompt_too_long"),
    ] {
        let door = Door::scripted(&format!("[[rule]]\nsteps = [{step}]"));
        let lines = turn(&door, "[message 1 from operator]\nhello").await;
        let result = result(&lines);
        assert_eq!(result["is_error"], true, "{step}: {result}");
        assert_eq!(result["api_error_status"], status, "{step}: {result}");
        assert_eq!(result["terminal_reason"], kind, "{step}: {result}");
    }
}

#[tokio::test]
async fn the_real_claude_goes_on_after_faults_that_pass() {
    for step in [
        "{ status = 529, times = 1 }",
        "{ say = \"so far\" }, { drop = true, times = 1 }",
        "{ fail = \"network\", times = 1 }",
        "{ say = \"so far\" }, { max_tokens = true }",
        // A conversation of one exchange cannot be made shorter, so there are more of them.
        "{ shell = \"echo 1\" }, { shell = \"echo 2\", save = \"two\" }, \
         { shell = \"echo 3\" }, { fail = \"context_full\", times = 1 }",
    ] {
        let door = Door::scripted(&format!("[[rule]]\nsteps = [{step}, {{ say = \"well\" }}]"));
        let lines = turn(&door, "[message 1 from operator]\nhello").await;
        let result = result(&lines);
        assert_eq!(result["is_error"], false, "{step}: {result}");
        assert_eq!(
            lines.iter().filter(|line| is_shell(line)).count(),
            shells(step),
            "{step}"
        );
        let said = result["result"].as_str().unwrap();
        assert!(said.ends_with("well"), "{step}: {result}");
    }
}
