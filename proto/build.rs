//! Compiles hive/v1/*.proto in pure Rust, so that no `protoc` is needed.

use prost::Message as _;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=hive");
    let files = [
        "hive/v1/common.proto",
        "hive/v1/questions.proto",
        "hive/v1/reminders.proto",
        "hive/v1/loose_ends.proto",
        "hive/v1/agent.proto",
        "hive/v1/approvals.proto",
        "hive/v1/schedules.proto",
        "hive/v1/manager.proto",
        "hive/v1/notify.proto",
        "hive/v1/operator.proto",
        "hive/v1/rights.proto",
        "hive/v1/topology.proto",
    ];
    let mut descriptors = protox::compile(files, ["."])?;
    tonic_prost_build::configure().compile_fds(descriptors.clone())?;
    // What `methods.rs` reads: comments are of no use to it.
    for file in &mut descriptors.file {
        file.source_code_info = None;
    }
    let out = std::path::PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("hive.v1.bin"), descriptors.encode_to_vec())?;
    Ok(())
}
