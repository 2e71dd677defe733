//! Each seam's suite on each of its implementations.

use std::sync::Arc;

use hive_tests::conformance::{self, Bench};
use hived::runtime::{Process, Trust};
use hived::shutdown::Tasks;

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
    tasks.drain(std::future::pending()).await;
}
