//! The create request, worked out from a spec alone: what an agent's container may and may not do.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use bollard::models::{
    ContainerCreateBody, HealthConfig, HostConfig, HostConfigLogConfig, Mount, MountBindOptions,
    MountBindOptionsPropagationEnum, MountType, ResourcesUlimits, RestartPolicy,
    RestartPolicyNameEnum,
};
use serde_json::Value;

use crate::runtime::{Spec, digest};

/// Labels: the agent's number, its name, the owning hive, the configuration commit, the hash of the
/// request, the copy of `hive` that is mounted.
pub(super) const LABEL_AGENT: &str = "hive.agent";
pub(super) const LABEL_NAME: &str = "hive.name";
pub(super) const LABEL_HIVE: &str = "hive.hive";
pub(super) const LABEL_CONFIG: &str = "hive.config";
pub(super) const LABEL_SPEC: &str = "hive.spec";
pub(super) const LABEL_BINARY: &str = "hive.binary";

const PROGRAM: &str = "/usr/local/bin/hive";
/// Bash output is spooled in `/tmp`; it counts as the container's memory.
const TMP: &str = "rw,nosuid,nodev,noexec,size=256m,mode=1777";
const RUN: &str = "rw,nosuid,nodev,noexec,size=16m,mode=755";
/// Between TERM and KILL when someone else stops the container.
const STOP_SECS: i64 = 10;

/// Whether the container may write there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    ReadOnly,
    Writable,
}

/// The container's name.
pub(super) fn name(spec: &Spec) -> String {
    format!("hive-{}", spec.name)
}

/// The whole request, with the hash of itself among its labels.
pub(super) fn create(spec: &Spec) -> ContainerCreateBody {
    let mut body = body(spec);
    let hash = hash(spec);
    let labels = body.labels.get_or_insert_default();
    labels.insert(LABEL_SPEC.into(), hash);
    body
}

/// Hash of the request without the label that holds it.
pub(super) fn hash(spec: &Spec) -> String {
    let value = serde_json::to_value(body(spec)).unwrap_or_default();
    digest(canonical(&value))
}

/// JSON with the keys of every object in order, whatever order a map had them in.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(object) => {
            let sorted: BTreeMap<&String, String> = object
                .iter()
                .map(|(key, value)| (key, canonical(value)))
                .collect();
            let pairs: Vec<String> = sorted
                .into_iter()
                .map(|(key, value)| format!("{key:?}:{value}"))
                .collect();
            format!("{{{}}}", pairs.join(","))
        }
        Value::Array(array) => {
            let items: Vec<String> = array.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

fn body(spec: &Spec) -> ContainerCreateBody {
    ContainerCreateBody {
        hostname: Some(spec.name.to_string()),
        image: Some(spec.image.clone()),
        user: Some(format!("{uid}:{uid}", uid = spec.uid)),
        entrypoint: Some(vec![PROGRAM.into()]),
        cmd: Some(vec!["serve".into()]),
        working_dir: Some("/state".into()),
        env: Some(environment(spec)),
        labels: Some(labels(spec)),
        network_disabled: Some(true),
        stop_signal: Some("SIGTERM".into()),
        stop_timeout: Some(STOP_SECS),
        // The image's own check would be a process that hive did not start.
        healthcheck: Some(HealthConfig {
            test: Some(vec!["NONE".into()]),
            ..Default::default()
        }),
        host_config: Some(host(spec)),
        ..Default::default()
    }
}

fn environment(spec: &Spec) -> Vec<String> {
    let fixed = [
        ("CLAUDE_CONFIG_DIR", "/home/agent/.claude"),
        ("HIVE_SOCKET", "/run/hive/broker.sock"),
        ("HOME", "/home/agent"),
    ];
    let fixed = fixed.iter().map(|(name, value)| format!("{name}={value}"));
    let own = spec
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    own.chain(fixed).collect()
}

fn labels(spec: &Spec) -> HashMap<String, String> {
    [
        (LABEL_AGENT, spec.agent_id.to_string()),
        (LABEL_NAME, spec.name.to_string()),
        (LABEL_HIVE, spec.hive_id.clone()),
        (LABEL_CONFIG, spec.config_sha.clone()),
        (LABEL_BINARY, spec.hive.display().to_string()),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect()
}

fn host(spec: &Spec) -> HostConfig {
    let limits = spec.limits;
    HostConfig {
        cap_drop: Some(vec!["ALL".into()]),
        // Nothing else here: the engine's default seccomp profile stays.
        security_opt: Some(vec!["no-new-privileges:true".into()]),
        privileged: Some(false),
        readonly_rootfs: Some(true),
        tmpfs: Some(HashMap::from([
            ("/tmp".to_owned(), TMP.to_owned()),
            ("/run".to_owned(), RUN.to_owned()),
        ])),
        pids_limit: Some(limits.pids),
        memory: Some(limits.memory_bytes),
        // Memory and swap together: as much as memory alone, so no swap.
        memory_swap: Some(limits.memory_bytes),
        nano_cpus: Some(limits.cpu_milli.saturating_mul(1_000_000)),
        ulimits: Some(vec![ResourcesUlimits {
            name: Some("nofile".into()),
            soft: Some(limits.nofile),
            hard: Some(limits.nofile),
        }]),
        log_config: Some(HostConfigLogConfig {
            typ: Some("json-file".into()),
            config: Some(HashMap::from([
                ("max-size".to_owned(), limits.log_bytes.to_string()),
                ("max-file".to_owned(), limits.log_files.to_string()),
            ])),
        }),
        init: Some(true),
        network_mode: Some("none".into()),
        ipc_mode: Some("private".into()),
        restart_policy: Some(RestartPolicy {
            name: Some(RestartPolicyNameEnum::NO),
            maximum_retry_count: None,
        }),
        auto_remove: Some(false),
        mounts: Some(mounts(spec)),
        ..Default::default()
    }
}

fn mounts(spec: &Spec) -> Vec<Mount> {
    use Access::{ReadOnly, Writable};
    let own = &spec.mounts;
    let again = format!("/agents/{}/state", spec.name);
    let mut mounts = vec![
        mount(&own.sockets, "/run/hive", ReadOnly),
        mount(&own.terminal, "/run/hive-agent", Writable),
        mount(&own.state, "/state", Writable),
        mount(&own.state, &again, Writable),
        mount(&own.home, "/home/agent", Writable),
        mount(&own.harness, "/harness", Writable),
        mount(&spec.hive, PROGRAM, ReadOnly),
    ];
    if let Some(engines) = &own.engines {
        mounts.push(mount(engines, "/opt/hive/engines", ReadOnly));
    }
    mounts
}

/// A bind mount: unlike a volume it is an error when its source is missing.
fn mount(source: &Path, target: &str, access: Access) -> Mount {
    Mount {
        typ: Some(MountType::BIND),
        source: Some(source.display().to_string()),
        target: Some(target.to_owned()),
        read_only: Some(access == Access::ReadOnly),
        bind_options: Some(MountBindOptions {
            propagation: Some(MountBindOptionsPropagationEnum::PRIVATE),
            ..Default::default()
        }),
        ..Default::default()
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
