//! Compiles hive/v1/*.proto in pure Rust, so that no `protoc` is needed.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=hive");
    let files = [
        "hive/v1/common.proto",
        "hive/v1/agent.proto",
        "hive/v1/manager.proto",
        "hive/v1/operator.proto",
    ];
    let descriptors = protox::compile(files, ["."])?;
    tonic_prost_build::configure().compile_fds(descriptors)?;
    Ok(())
}
