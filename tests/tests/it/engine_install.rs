//! `hive engine`: from a file and from a registry that an npm stand-in plays.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use hive_tests::command::{Ran, run};
use hive_tests::{programs, wait};
use tempfile::TempDir;

/// What the stand-in does when it is asked to pack.
enum Pack {
    /// Copies this tarball.
    Gives(&'static str),
    /// Says that it began, and never ends.
    Hangs,
}

/// A host with its own `$HIVE_HOME` and an npm of its own.
struct Host {
    dir: TempDir,
}

impl Host {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let package = dir.path().join("package");
        fs::create_dir_all(&package).unwrap();
        fs::copy("/bin/true", package.join("claude")).unwrap();
        fs::write(package.join("package.json"), r#"{"version":"9.9.9"}"#).unwrap();
        let done = std::process::Command::new("tar")
            .current_dir(dir.path())
            .args(["-czf", "package.tgz", "package"])
            .status()
            .unwrap();
        assert!(done.success());
        Self { dir }
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    /// Puts an npm on the path, whose registry gives `hash` for every package.
    fn with_npm(self, pack: &Pack, hash: &str) -> Self {
        let bin = self.dir.path().join("bin");
        fs::create_dir_all(&bin).unwrap();
        let root = self.dir.path().display();
        let packing = match pack {
            Pack::Gives(tarball) => format!(
                "cp {root}/{tarball} fetched.tgz; echo '[{{\"filename\":\"fetched.tgz\"}}]'"
            ),
            Pack::Hangs => format!("touch {root}/began; exec sleep 1000"),
        };
        let script =
            format!("#!/bin/sh\ncase $1 in\nview) echo '\"{hash}\"';;\npack) {packing};;\nesac\n");
        fs::write(bin.join("npm"), script).unwrap();
        fs::set_permissions(bin.join("npm"), fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    async fn hive(&self, args: &[&str]) -> Ran {
        let path = format!("{}:/usr/bin:/bin", self.path("bin"));
        let (home, hive_run) = (self.path("home"), self.path("run"));
        let env = [
            ("PATH", path.as_str()),
            ("HIVE_HOME", &home),
            ("HIVE_RUN", &hive_run),
        ];
        run(&programs::hive(), args, &env, None).await
    }

    /// What lies in the directory of engines, but the lock.
    fn shelf(&self) -> Vec<String> {
        let entries = fs::read_dir(Path::new(&self.path("home/engines"))).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != ".lock").collect()
    }
}

#[tokio::test]
async fn from_a_file_and_listed() {
    let host = Host::new();
    let none = host.hive(&["engine", "ls", "--json"]).await.expect_code(0);
    assert_eq!(none.json(), serde_json::json!([]));
    let file = host.path("package.tgz");
    let args = ["engine", "install", "claude", "--from", &file];
    let first = host.hive(&args).await.expect_code(0);
    assert!(
        first.stdout.starts_with("claude 9.9.9 installed: "),
        "{}",
        first.stdout
    );
    let again = host.hive(&args).await.expect_code(0);
    assert!(
        again.stdout.starts_with("claude 9.9.9 already installed"),
        "{}",
        again.stdout
    );
    let program = "/bin/true";
    let args = ["engine", "install", "claude@10.0.0", "--from", program];
    host.hive(&args).await.expect_code(0);
    let listed = host.hive(&["engine", "ls", "--json"]).await.json();
    let versions: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["version"])
        .collect();
    assert_eq!(versions, ["10.0.0", "9.9.9"]);
    assert_eq!(
        (&listed[0]["current"], &listed[1]["current"]),
        (&true.into(), &false.into())
    );
    let bytes = fs::metadata(program).unwrap().len();
    assert_eq!(listed[0]["bytes"], bytes);
    assert_eq!(listed[0]["sha256"], listed[1]["sha256"]);
}

#[tokio::test]
async fn wrong_usage_is_told_apart_from_failure() {
    let host = Host::new();
    for (args, code, hint) in [
        (["engine", "install", "codex"], 2, "scripted is built in"),
        (["engine", "install", "claude@../x"], 2, "claude@"),
    ] {
        let ran = host.hive(&args).await.expect_code(code);
        assert!(
            ran.stderr.contains("error: ") && ran.stderr.contains(hint),
            "{}",
            ran.stderr
        );
    }
    let ran = host
        .hive(&["engine", "install", "claude@1.0.0", "--from", "/etc/passwd"])
        .await
        .expect_code(1);
    assert!(ran.stderr.contains("hint: --from takes"), "{}", ran.stderr);
    assert!(host.shelf().is_empty());
}

#[tokio::test]
async fn a_fetched_package_must_have_the_registrys_hash() {
    let args = ["engine", "install", "claude@9.9.9"];
    let bad = Host::new().with_npm(&Pack::Gives("package.tgz"), "sha512-wrong");
    let ran = bad.hive(&args).await.expect_code(1);
    assert!(bad.shelf().is_empty());
    // The complaint names the package's real hash, which digest.rs checks against known ones.
    let complaint = ran.stderr.split_once("does not have the expected hash: ");
    let (_, hash) = complaint.unwrap_or_else(|| panic!("{}", ran.stderr));
    let (hash, _) = hash.split_once(',').unwrap();

    let good = bad.with_npm(&Pack::Gives("package.tgz"), hash);
    let ran = good.hive(&args).await.expect_code(0);
    assert!(ran.stdout.contains("installed"), "{}", ran.stdout);
    assert_eq!(good.shelf(), ["claude"]);
}

#[tokio::test]
async fn the_pinned_version_must_have_the_hash_of_this_hive_whatever_the_registry_says() {
    let host = Host::new().with_npm(&Pack::Gives("package.tgz"), "sha512-any");
    let ran = host
        .hive(&["engine", "install", "claude"])
        .await
        .expect_code(1);
    assert!(
        ran.stderr.contains("does not have the expected hash"),
        "{}",
        ran.stderr
    );
    assert!(host.shelf().is_empty());
}

#[tokio::test]
async fn an_interrupted_install_leaves_nothing_behind() {
    let host = Host::new().with_npm(&Pack::Hangs, "sha512-any");
    let mut child = std::process::Command::new(programs::hive())
        .args(["engine", "install", "claude"])
        .env("PATH", format!("{}:/usr/bin:/bin", host.path("bin")))
        .env("HIVE_HOME", host.path("home"))
        .env("HIVE_RUN", host.path("run"))
        .spawn()
        .unwrap();
    let began = host.path("began");
    wait::until("npm began", wait::SOON, || async {
        Path::new(&began).exists().then_some(())
    })
    .await;
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let ended = tokio::task::spawn_blocking(move || child.wait().unwrap());
    assert_eq!(ended.await.unwrap().code(), Some(1));
    assert!(host.shelf().is_empty(), "{:?}", host.shelf());
}
