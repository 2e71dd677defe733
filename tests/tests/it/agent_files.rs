//! What an agent puts into its own directories, or in their place, leads `hived` nowhere: nothing outside is
//! read, given away, opened up or deleted, whatever `hived` does with the agent.

use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use hive_tests::docker::shell;
use hive_tests::wait::{SOON, until};
use hive_tests::{Runtime, TestHive};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::docker_life::START;
use crate::first_message::ECHO;

/// A directory of the host that is nobody's business, and how it was.
struct Outside {
    folder: tempfile::TempDir,
    before: Vec<Fact>,
}

/// Path, mode, owner, links, content.
type Fact = (PathBuf, u32, u32, u64, Vec<u8>);

impl Outside {
    fn new() -> Self {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let deep = folder.path().join("deep");
        std::fs::create_dir(&deep).unwrap();
        for at in [folder.path(), &deep] {
            std::fs::write(at.join("file"), "precious").unwrap();
        }
        let before = facts(folder.path());
        Self { folder, before }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("deep/file")
    }

    #[track_caller]
    fn untouched(&self, when: &str) {
        assert_eq!(facts(self.folder.path()), self.before, "{when}");
    }
}

fn facts(folder: &Path) -> Vec<Fact> {
    let mut found = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(path) = left.pop() {
        let meta = std::fs::symlink_metadata(&path).unwrap();
        let content = if meta.is_dir() {
            let entries = std::fs::read_dir(&path).unwrap();
            left.extend(entries.map(|entry| entry.unwrap().path()));
            Vec::new()
        } else {
            std::fs::read(&path).unwrap()
        };
        found.push((path, meta.mode(), meta.uid(), meta.nlink(), content));
    }
    found.sort();
    found
}

/// Every kind of thing that is not what it seems, under names that something may look for.
fn plant(at: &Path, outside: &Path) {
    let names = ["terminal.sock", "harness.log", "session.json", "deep"];
    for (n, name) in names.iter().enumerate() {
        let path = at.join(name);
        _ = std::fs::remove_file(&path);
        _ = std::fs::remove_dir_all(&path);
        match n {
            0 => symlink(outside.join("deep/file"), &path).unwrap(),
            1 => mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap(),
            2 => std::fs::create_dir(&path).unwrap(),
            _ => symlink(outside, &path).unwrap(),
        }
    }
    symlink("/", at.join("root")).unwrap();
    symlink("..", at.join("up")).unwrap();
}

/// The agent's directories, which it may write.
fn directories(hive: &TestHive, name: &str) -> Vec<PathBuf> {
    let home = hive.home().join("agents").join(name);
    let terminal = hive.run_dir().join("terminals").join(name);
    vec![
        home.join("state"),
        home.join("home"),
        home.join("harness"),
        terminal,
    ]
}

async fn until_gone(path: &Path) {
    until("it is gone", SOON, || {
        std::future::ready(std::fs::symlink_metadata(path).is_err().then_some(()))
    })
    .await;
}

#[tokio::test]
async fn links_in_an_agents_directories_lead_nowhere() {
    let outside = Outside::new();
    let mut hive = TestHive::builder().by_hand().start().await;
    hive.create("bee", "").await;
    let rm = ["agent", "rm", "bee", "--purge", "--yes"];
    for directory in directories(&hive, "bee") {
        plant(&directory, outside.folder.path());
    }
    for args in [
        ["agent", "stop", "bee"],
        ["agent", "start", "bee"],
        ["agent", "restart", "bee"],
    ] {
        hive.hive(&args).await.expect_code(0);
        outside.untouched(args[1]);
    }
    hive.restart().await;
    hive.until_started("bee").await;
    outside.untouched("another hived");
    hive.hive(&rm).await.expect_code(0);
    for directory in directories(&hive, "bee") {
        until_gone(&directory).await;
    }
    outside.untouched("purge");
}

#[tokio::test]
async fn hard_links_to_a_file_are_deleted_and_the_file_stays_as_it_is() {
    let outside = Outside::new();
    let mut hive = TestHive::builder().by_hand().start().await;
    hive.create("bee", "").await;
    for directory in directories(&hive, "bee") {
        std::fs::hard_link(outside.file(), directory.join("terminal.sock")).unwrap();
    }
    hive.hive(&["agent", "restart", "bee"]).await.expect_code(0);
    hive.hive(&["agent", "rm", "bee", "--purge", "--yes"])
        .await
        .expect_code(0);
    for directory in directories(&hive, "bee") {
        until_gone(&directory).await;
    }
    outside.untouched("purge");
}

/// The directories themselves lie in ones that no agent can write; should somebody exchange one all the
/// same, the agent does not start.
#[tokio::test]
async fn a_link_in_the_place_of_a_directory_is_refused() {
    let outside = Outside::new();
    let mut hive = TestHive::builder().by_hand().start().await;
    for (n, directory) in directories(&hive, "bee-N").iter().enumerate() {
        let name = format!("bee-{n}");
        let directory = PathBuf::from(directory.to_str().unwrap().replace("bee-N", &name));
        hive.create(&name, "").await;
        hive.hive(&["agent", "stop", &name]).await.expect_code(0);
        hive.until_state(&name, "stopped", SOON).await;
        std::fs::remove_dir_all(&directory).unwrap();
        symlink(outside.folder.path(), &directory).unwrap();
        hive.hive(&["agent", "start", &name]).await;
        hive.until_state(&name, "failed", SOON).await;
        let shown = hive.hive(&["agent", "show", &name]).await.expect_code(0);
        assert!(
            shown.stdout.contains("is not a directory"),
            "{}",
            shown.stdout
        );
        outside.untouched("start");
        hive.hive(&["agent", "rm", &name, "--purge", "--yes"])
            .await
            .expect_code(0);
        until_gone(&directory).await;
        outside.untouched("purge");
    }
}

#[tokio::test]
async fn docker_an_agent_can_swap_what_is_in_its_directories_and_gains_nothing() {
    let outside = Outside::new();
    let mut hive = TestHive::builder()
        .runtime(Runtime::Docker)
        .script(ECHO)
        .start()
        .await;
    let name = hive.unique("bee");
    hive.create(&name, "").await;
    hive.until_state(&name, "idle", START).await;
    let target = outside.folder.path().display();
    let line = format!(
        "for d in /run/hive-agent /state /home/agent /harness; do \
           ln -sfn {target}/deep/file $d/terminal.sock; ln -sfn {target} $d/link; ln -sfn / $d/root; mkfifo $d/fifo; \
           rmdir $d 2>/dev/null && echo $d removed; mv $d $d.old 2>/dev/null && echo $d moved; \
           ln -sfn {target} $d 2>/dev/null; \
         done; rm -f /run/hive/broker.sock; mv /run/hive/broker.sock /state/ 2>/dev/null; ls /run/hive"
    );
    let (_, said) = shell(&hive.container(&name), &line);
    assert!(
        !said.contains("removed") && !said.contains("moved"),
        "{said}"
    );
    assert!(said.contains("broker.sock"), "{said}");
    for args in [["agent", "stop", &name], ["agent", "start", &name]] {
        hive.hive(&args).await.expect_code(0);
        outside.untouched(args[1]);
    }
    hive.until_state(&name, "idle", START).await;
    let id = hive.send(&name, "hello").await;
    assert_eq!(hive.answer(id, SOON).await.body, "echo: hello");
    hive.hive(&["agent", "rm", &name, "--purge", "--yes"])
        .await
        .expect_code(0);
    for directory in directories(&hive, &name) {
        until_gone(&directory).await;
    }
    outside.untouched("purge");
}
