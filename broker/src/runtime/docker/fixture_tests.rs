//! A spec for the tests of this folder.

use std::path::PathBuf;

use hive_proto::ids::AgentId;

use crate::runtime::{Limits, Mounts, Spec};

pub(super) fn spec() -> Spec {
    Spec {
        agent_id: AgentId(7),
        name: "ann".parse().unwrap(),
        engine: "scripted".into(),
        uid: 10_001,
        image: "hive-agent:latest".into(),
        hive: PathBuf::from("/h/bin/hive-1"),
        mounts: Mounts {
            sockets: PathBuf::from("/r/agents/ann"),
            terminal: PathBuf::from("/r/terminals/ann"),
            state: PathBuf::from("/h/agents/ann/state"),
            home: PathBuf::from("/h/agents/ann/home"),
            harness: PathBuf::from("/h/agents/ann/harness"),
            engines: Some(PathBuf::from("/h/engines")),
        },
        env: vec![("HIVE_AGENT".into(), "ann".into())],
        limits: Limits {
            memory_bytes: 4 << 30,
            cpu_milli: 2_000,
            pids: 512,
            nofile: 4_096,
            log_bytes: 10_000_000,
            log_files: 3,
        },
        config_sha: String::new(),
        hive_id: "cafe".into(),
    }
}
