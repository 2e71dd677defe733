//! The create request as JSON, without an engine: C1 and C3 of the isolation rules.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{create, hash};
use crate::runtime::docker::fixture::spec;

fn request() -> Value {
    serde_json::to_value(create(&spec())).unwrap()
}

fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

#[test]
fn it_may_do_nothing_that_it_was_not_given() {
    let request = request();
    for (pointer, expected) in [
        ("/User", json!("10001:10001")),
        ("/HostConfig/CapDrop", json!(["ALL"])),
        ("/HostConfig/CapAdd", Value::Null),
        ("/HostConfig/Privileged", json!(false)),
        ("/HostConfig/SecurityOpt", json!(["no-new-privileges:true"])),
        ("/HostConfig/ReadonlyRootfs", json!(true)),
        ("/HostConfig/NetworkMode", json!("none")),
        ("/HostConfig/IpcMode", json!("private")),
        ("/HostConfig/Init", json!(true)),
        ("/HostConfig/RestartPolicy/Name", json!("no")),
        ("/HostConfig/AutoRemove", json!(false)),
        ("/Entrypoint", json!(["/usr/local/bin/hive"])),
        ("/Cmd", json!(["serve"])),
        ("/WorkingDir", json!("/state")),
    ] {
        assert_eq!(at(&request, pointer), &expected, "{pointer}");
    }
    for absent in [
        "PidMode",
        "UTSMode",
        "UsernsMode",
        "Devices",
        "DeviceRequests",
        "DeviceCgroupRules",
        "Binds",
        "VolumesFrom",
        "PortBindings",
        "ExtraHosts",
        "Sysctls",
        "GroupAdd",
        "MaskedPaths",
        "ReadonlyPaths",
        "CgroupnsMode",
        "Runtime",
    ] {
        let value = at(&request, &format!("/HostConfig/{absent}"));
        assert_eq!(value, &Value::Null, "{absent} is set");
    }
}

#[test]
fn what_it_may_use_up_is_bounded() {
    let request = request();
    for (pointer, expected) in [
        ("/HostConfig/Memory", json!(4_294_967_296_i64)),
        ("/HostConfig/MemorySwap", json!(4_294_967_296_i64)),
        ("/HostConfig/NanoCpus", json!(2_000_000_000_i64)),
        ("/HostConfig/PidsLimit", json!(512)),
        (
            "/HostConfig/Ulimits",
            json!([{"Name": "nofile", "Soft": 4096, "Hard": 4096}]),
        ),
        ("/HostConfig/LogConfig/Type", json!("json-file")),
        (
            "/HostConfig/LogConfig/Config",
            json!({"max-size": "10000000", "max-file": "3"}),
        ),
    ] {
        assert_eq!(at(&request, pointer), &expected, "{pointer}");
    }
    for tmpfs in ["/tmp", "/run"] {
        let options = at(&request, "/HostConfig/Tmpfs")[tmpfs].as_str().unwrap();
        for option in ["nosuid", "nodev", "noexec", "size="] {
            assert!(options.contains(option), "{tmpfs}: {options}");
        }
    }
}

#[test]
fn every_mount_is_private_and_only_its_own_directories_are_writable() {
    let request = request();
    let mounts = at(&request, "/HostConfig/Mounts").as_array().unwrap();
    let mut table = Vec::new();
    for mount in mounts {
        assert_eq!(mount["Type"], "bind");
        assert_eq!(mount["BindOptions"]["Propagation"], "private");
        let access = if mount["ReadOnly"] == true {
            "ro"
        } else {
            "rw"
        };
        table.push(format!(
            "{} {} {access}",
            mount["Source"].as_str().unwrap(),
            mount["Target"].as_str().unwrap()
        ));
    }
    assert_eq!(
        table,
        [
            "/r/agents/ann /run/hive ro",
            "/r/terminals/ann /run/hive-agent rw",
            "/h/agents/ann/state /state rw",
            "/h/agents/ann/state /agents/ann/state rw",
            "/h/agents/ann/home /home/agent rw",
            "/h/agents/ann/harness /harness rw",
            "/h/bin/hive-1 /usr/local/bin/hive ro",
            "/h/engines /opt/hive/engines ro",
        ]
    );
}

#[test]
fn its_labels_name_its_owner_and_what_it_was_made_from() {
    let request = request();
    let spec = spec();
    assert_eq!(
        at(&request, "/Labels"),
        &json!({
            "hive.agent": "7", "hive.name": "ann", "hive.hive": "cafe", "hive.config": "",
            "hive.spec": hash(&spec), "hive.binary": "/h/bin/hive-1",
        })
    );
}

#[test]
fn the_hash_is_stable_and_changes_with_everything_that_matters() {
    let first = hash(&spec());
    for _ in 0..20 {
        assert_eq!(hash(&spec()), first);
    }
    let mut others = Vec::new();
    for change in 0..5 {
        let mut other = spec();
        match change {
            0 => other.image = "another".into(),
            1 => other.hive = PathBuf::from("/h/bin/hive-2"),
            2 => other.limits.pids += 1,
            3 => other.env.push(("HIVE_X".into(), "1".into())),
            _ => other.uid += 1,
        }
        others.push(hash(&other));
    }
    others.push(first);
    others.sort();
    others.dedup();
    assert_eq!(others.len(), 6);
}

#[test]
fn nothing_in_its_environment_looks_like_a_secret() {
    let request = request();
    for pair in at(&request, "/Env").as_array().unwrap() {
        let text = pair.as_str().unwrap().to_uppercase();
        for word in ["KEY", "TOKEN", "SECRET", "PASSWORD"] {
            assert!(!text.contains(word), "{text}");
        }
    }
}
