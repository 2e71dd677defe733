//! The Docker engine seen from outside: what an administrator does with the `docker` command.

use std::process::Command;

/// Runs `docker` and returns its stdout; panics when it fails.
#[track_caller]
pub fn docker(args: &[&str]) -> String {
    let (code, stdout, stderr) = try_docker(args);
    assert_eq!(code, 0, "docker {args:?}: {stderr}{stdout}");
    stdout
}

/// Runs `docker`: exit code, stdout, stderr.
#[must_use]
pub fn try_docker(args: &[&str]) -> (i32, String, String) {
    let output = Command::new("docker")
        .args(args)
        .output()
        .unwrap_or_else(|error| panic!("cannot run docker: {error}"));
    (
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    )
}

/// One field of `docker inspect`.
#[must_use]
pub fn inspect(container: &str, format: &str) -> String {
    docker(&["inspect", "--format", format, container])
}

/// Runs a shell line in a container as the agent: exit code and both outputs together.
#[must_use]
pub fn shell(container: &str, line: &str) -> (i32, String) {
    let (code, stdout, stderr) = try_docker(&["exec", container, "bash", "-c", line]);
    (code, format!("{stdout}{stderr}"))
}

/// Removes containers, running or not; those that are gone already are left alone.
pub fn remove(containers: &[String]) {
    for container in containers {
        let _ = try_docker(&["rm", "-f", container]);
    }
}
