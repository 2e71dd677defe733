//! Each seam's suite on each of its implementations.

use std::sync::Arc;

use hive_tests::conformance::{self, Bench};
use hived::paths::Paths;
use hived::runtime::{Docker, Process, Runtime as _, RuntimeError, Trust};
use hived::shutdown::{GRACE, Tasks};

fn bench(
    runtime: Arc<dyn hived::runtime::Runtime>,
    folder: &std::path::Path,
    suffix: &str,
    uid: u32,
) -> Bench {
    Bench {
        runtime,
        folder: folder.to_owned(),
        suffix: suffix.to_owned(),
        uid,
    }
}

/// Different from any other run's on this machine.
fn suffix() -> String {
    uuid::Uuid::new_v4().simple().to_string()[..8].to_owned()
}

#[tokio::test]
async fn the_process_runtime_conforms() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let suffix = suffix();
    let tasks = Tasks::default();
    let runtime = Process::new(suffix.clone(), Trust::ScriptedOnly, tasks.clone()).unwrap();
    let own = rustix::process::getuid().as_raw();
    let bench = bench(Arc::new(runtime), folder.path(), &suffix, own);
    conformance::runtime(&bench).await;
    tasks.drain(GRACE, std::future::pending()).await;
}

#[tokio::test]
async fn the_docker_runtime_conforms() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let suffix = suffix();
    // Beside the benches' folders: what lies below a hive's own directories is an agent's alone.
    let paths = Paths::new(folder.path().join("h"), folder.path().join("r")).unwrap();
    let runtime = Docker::new("", paths, suffix.clone()).unwrap();
    let bench = bench(Arc::new(runtime), folder.path(), &suffix, 10_001);
    conformance::runtime(&bench).await;
}

#[tokio::test]
async fn a_docker_engine_that_is_away_is_unavailable_and_never_empty() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let paths = Paths::new(folder.path().join("h"), folder.path().join("r")).unwrap();
    let socket = folder.path().join("engine.sock");
    let host = format!("unix://{}", socket.display());
    let runtime = Docker::new(&host, paths, "h".into()).unwrap();
    for step in ["no socket", "nobody listens"] {
        let listed = runtime.list().await;
        assert!(
            matches!(listed, Err(RuntimeError::Unavailable { .. })),
            "{step}: {listed:?}"
        );
        // A listener that is dropped leaves its socket behind, as a killed engine does.
        if !socket.exists() {
            drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
        }
    }
}

#[test]
fn a_remote_docker_engine_is_refused() {
    let paths = Paths::new("/h".into(), "/r".into()).unwrap();
    assert!(Docker::new("tcp://127.0.0.1:2375", paths, "h".into()).is_err());
}
