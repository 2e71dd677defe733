//! Runs the `hive` command as a person or a script would: exit code, stdout, stderr.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What a command did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

// === impl Ran ===

impl Ran {
    #[must_use]
    pub fn of(output: &std::process::Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Panics, with all that it said, when it did not end with this code.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(
            self.code, code,
            "exit code\nstdout:\n{}\nstderr:\n{}",
            self.stdout, self.stderr
        );
        self
    }

    /// Stdout as one JSON document.
    #[track_caller]
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("not JSON ({error}):\n{}", self.stdout))
    }
}

/// Runs a program to its end with `env` and nothing else of hive's in the environment.
pub async fn run(program: &Path, args: &[&str], env: &[(&str, &str)], stdin: Option<&str>) -> Ran {
    let mut command = Command::new(program);
    command.args(args);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("HIVE_")) {
        command.env_remove(name);
    }
    command.envs(env.iter().copied());
    let mut command = tokio::process::Command::from(command);
    command
        .stdin(if stdin.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let mut child = command
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start {}: {error}", program.display()));
    if let (Some(text), Some(mut pipe)) = (stdin, child.stdin.take()) {
        use tokio::io::AsyncWriteExt as _;
        // A command that refuses before it reads its input closes the pipe.
        let _ = pipe.write_all(text.as_bytes()).await;
    }
    let output = tokio::time::timeout(Duration::from_secs(120), child.wait_with_output())
        .await
        .unwrap_or_else(|_| panic!("{args:?} did not end"))
        .expect("a child's output can be read");
    Ran::of(&output)
}
