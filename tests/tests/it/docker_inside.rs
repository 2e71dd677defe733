//! A shell in an agent's container: what it can do, and what it cannot reach.

use std::time::Duration;

use hive_tests::docker::{docker, inspect, shell, try_docker};
use hive_tests::wait::{SOON, until};
use hive_tests::{Runtime, TestHive, programs};

/// Tells the operator who woke it.
const REPORT: &str = r#"
[[rule]]
steps = [{ tool = "send", args = { to = "operator", body = "{{from}} said {{body}}" } }]
"#;

const START: Duration = Duration::from_secs(60);

/// A hive with two agents in containers: the names.
async fn two(setup: hive_tests::Setup) -> (TestHive, String, String) {
    let mut hive = setup.runtime(Runtime::Docker).script(REPORT).start().await;
    let (name, other) = (hive.unique("bee"), hive.unique("wasp"));
    hive.create(&name, "").await;
    hive.create(&other, "").await;
    hive.until_state(&name, "idle", START).await;
    hive.until_state(&other, "idle", START).await;
    (hive, name, other)
}

#[tokio::test]
async fn a_wake_from_inside_starts_a_turn_and_the_operators_commands_are_refused() {
    let (hive, name, _) = two(TestHive::builder()).await;
    let container = hive.container(&name);
    let inside = |line: &str| shell(&container, line);
    let (code, said) = inside("hive wake --from cron --body tick");
    assert_eq!(code, 0, "{said}");
    until("the turn reported", SOON, || async {
        let inbox = hive.mailbox("").await;
        let told = |message: &hive_proto::v1::Message| message.body == "cron said tick";
        inbox.iter().any(told).then_some(())
    })
    .await;
    for command in [
        "hive status",
        "hive agent ls",
        "hive agent stop x",
        "hive dead ls",
    ] {
        let (code, said) = inside(command);
        assert_eq!(code, 4, "{command}: {said}");
    }
    // The tools' socket speaks another protocol: no broker is there.
    let (code, said) = inside("HIVE_SOCKET=/run/hive/mcp.sock hive status");
    assert_eq!(code, 5, "{said}");
    assert!(said.contains("/run/hive/mcp.sock"), "{said}");
}

/// docs/operations.md is the reference: what stands there is what is set, and nothing else of hive's is.
#[tokio::test]
async fn the_environment_is_what_the_documentation_says() {
    let setup = TestHive::builder().set("engine.context_window_tokens", 123_456);
    let (hive, name, _) = two(setup).await;
    let docs = include_str!("../../../docs/operations.md");
    let listed = inspect(
        &hive.container(&name),
        "{{range .Config.Env}}{{println .}}{{end}}",
    );
    let of = |wanted: &str| {
        let mut found = listed.lines().filter_map(|line| line.split_once('='));
        found.find_map(|(key, value)| (key == wanted).then(|| value.to_owned()))
    };
    for (key, value) in [
        ("HIVE_AGENT", name.as_str()),
        ("HIVE_LABEL", name.as_str()),
        ("HIVE_ROLE", "agent"),
        ("HIVE_PARENT", "operator"),
        ("HIVE_DEFAULT_MODEL", "haiku"),
        ("HIVE_CONTEXT_WINDOW_TOKENS", "123456"),
        ("HIVE_SOCKET", "/run/hive/broker.sock"),
        ("HOME", "/home/agent"),
        ("CLAUDE_CONFIG_DIR", "/home/agent/.claude"),
    ] {
        assert_eq!(of(key).as_deref(), Some(value), "{listed}");
    }
    for line in listed.lines().filter(|line| line.starts_with("HIVE_")) {
        let key = line.split('=').next().unwrap_or_default();
        assert!(
            docs.contains(&format!("`{key}`")),
            "{key} is not documented"
        );
    }
    let proxied = listed.to_lowercase().contains("_proxy=");
    assert!(!proxied, "nothing here is a proxy: {listed}");
    let (code, said) = shell(&hive.container(&name), "echo $HIVE_CONTEXT_WINDOW_TOKENS");
    assert_eq!((code, said.trim()), (0, "123456"));
}

#[tokio::test]
async fn a_shell_inside_has_no_rights() {
    let (hive, name, _) = two(TestHive::builder()).await;
    let container = hive.container(&name);
    let inside = |line: &str| shell(&container, line);
    let (_, uid) = inside("id -u");
    assert_ne!(uid, "0");
    for line in [
        "touch /x",
        "touch /usr/bin/x",
        "touch /run/hive/x",
        "rm /run/hive/broker.sock",
        "mkdir /opt/hive/engines/x",
        "mount -t tmpfs none /tmp",
        "unshare -r true",
        "unshare -n true",
        "echo 1 >/proc/sysrq-trigger",
        "mkdir /sys/fs/cgroup/x",
        "chown 0 /state",
        "mknod /tmp/x b 8 0",
    ] {
        let (code, said) = inside(line);
        assert_ne!(code, 0, "{line}: {said}");
    }
    let (_, caps) = inside("cat /proc/self/status");
    for (line, value) in [
        ("CapEff", "0000000000000000"),
        ("CapPrm", "0000000000000000"),
        ("CapBnd", "0000000000000000"),
        ("NoNewPrivs", "1"),
        ("Seccomp:", "2"),
    ] {
        let found = caps
            .lines()
            .find(|found| found.starts_with(line))
            .unwrap_or_default();
        assert!(found.ends_with(value), "{found}");
    }
    // The control: what it may write, it can.
    for line in [
        "touch /state/x",
        "touch /home/agent/x",
        "touch /harness/x",
        "touch /tmp/x",
    ] {
        let (code, said) = inside(line);
        assert_eq!(code, 0, "{line}: {said}");
    }
    let asked = inspect(
        &container,
        "{{.HostConfig.NetworkMode}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.Privileged}} \
         {{.HostConfig.CapDrop}} {{.HostConfig.PidsLimit}} {{.HostConfig.RestartPolicy.Name}}",
    );
    assert_eq!(asked, "none true false [ALL] 512 no");
}

#[tokio::test]
async fn a_shell_inside_reaches_nobody() {
    let (hive, name, other) = two(TestHive::builder()).await;
    let container = hive.container(&name);
    let inside = |line: &str| shell(&container, line);
    let (_, sockets) = inside(
        "find / -xdev -type s 2>/dev/null; \
         find /run /tmp /state /harness /home /dev -type s 2>/dev/null",
    );
    for socket in sockets.lines() {
        let own = socket.starts_with("/run/hive/") || socket.starts_with("/run/hive-agent/");
        assert!(own, "{socket}");
    }
    assert!(sockets.contains("/run/hive/broker.sock"), "{sockets}");
    let (_, mounts) = inside("cat /proc/self/mounts");
    for word in ["docker.sock", "containerd.sock", &other, "hive.db"] {
        assert!(!mounts.contains(word), "{word} in {mounts}");
    }
    // Abstract sockets of the host's network namespace are not there either.
    let (_, unix) = inside("cat /proc/net/unix");
    assert!(!unix.contains("containerd"), "{unix}");
    let (_, links) = inside("ls /sys/class/net");
    assert_eq!(links, "lo");
    for target in [
        "169.254.169.254/80",
        "172.17.0.1/2375",
        "192.168.65.7/2375",
        "8.8.8.8/53",
    ] {
        let (code, said) = inside(&format!("timeout 3 bash -c 'echo >/dev/tcp/{target}'"));
        assert_ne!(code, 0, "{target}: {said}");
    }
}

#[tokio::test]
async fn no_key_of_the_host_is_visible_inside() {
    let secret = "sk-ant-canary-0123456789";
    let setup = TestHive::builder().env("ANTHROPIC_API_KEY", secret);
    let (hive, name, _) = two(setup).await;
    let container = hive.container(&name);
    let (_, seen) = shell(
        &container,
        "env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'",
    );
    assert!(seen.contains("HIVE_AGENT"), "{seen}");
    assert!(!seen.contains(secret));
    let (_, files) = shell(
        &container,
        "grep -rl sk-ant-canary /state /home/agent /harness /run /tmp 2>/dev/null",
    );
    assert_eq!(files, "");
    assert!(!docker(&["inspect", &container]).contains(secret));
    assert!(!hive.log().contains(secret));
}

#[tokio::test]
async fn the_static_hive_runs_in_an_empty_image() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    std::fs::copy(programs::static_hive(), folder.path().join("hive")).unwrap();
    let tar = folder.path().join("image.tar");
    let made = std::process::Command::new("tar")
        .args([
            "-C",
            folder.path().to_str().unwrap(),
            "-cf",
            tar.to_str().unwrap(),
            "hive",
        ])
        .status()
        .unwrap();
    assert!(made.success());
    let image = format!("hive-empty-{}", std::process::id());
    docker(&["import", tar.to_str().unwrap(), &image]);
    let run = |args: &[&str]| {
        let mut all = vec!["run", "--rm", "--network", "none", &image, "/hive"];
        all.extend(args);
        try_docker(&all)
    };
    let version = run(&["--version"]);
    // No resolver, no user database, no socket: still one clear line and the contract's code.
    let unreachable = run(&["status"]);
    let _ = try_docker(&["rmi", "-f", &image]);
    assert_eq!(version.0, 0, "{version:?}");
    assert!(version.1.starts_with("hive "), "{version:?}");
    assert_eq!(unreachable.0, 5, "{unreachable:?}");
    assert!(unreachable.2.starts_with("error: "), "{unreachable:?}");
}
