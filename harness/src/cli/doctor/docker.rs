//! The Docker side: the engine, what of it is not supported yet, the image, the static hive.

use std::path::PathBuf;

use serde_json::Value;

use super::super::docker_engine::{AskError, DockerEngine};
use super::super::programs;
use super::{Check, Patient, elf};

/// Docker Engine 20.10.
const OLDEST_API: (u64, u64) = (1, 41);

pub(super) async fn examine(patient: &Patient) -> Vec<Check> {
    let engine = DockerEngine::configured(&patient.config);
    let version = match engine.ask("/version").await {
        Ok(version) => version,
        Err(error) => return vec![unreachable(patient, &error)],
    };
    let mut checks = vec![version_check(patient, &version)];
    match engine.ask("/info").await {
        Ok(info) => checks.push(security(patient, &info)),
        Err(error) => checks.push(unreachable(patient, &error)),
    }
    checks.push(image(patient, &engine).await);
    checks.push(static_hive(patient));
    checks
}

fn unreachable(patient: &Patient, error: &AskError) -> Check {
    let remedy = match error {
        AskError::Remote(_) => {
            "a remote engine is not supported yet: unset DOCKER_HOST, or name a unix:// socket on this host"
        }
        _ if patient.uses_docker() => {
            "start the engine, or set DOCKER_HOST; `hive up --runtime process` does without, and without isolation"
        }
        _ => "install a Docker engine to run agents isolated",
    };
    let text = format!("no engine answers: {error}");
    Check::fault(patient.docker_fault(), "docker engine", text, remedy)
}

fn version_check(patient: &Patient, version: &Value) -> Check {
    let name = "docker engine";
    let text = |key: &str| version[key].as_str().unwrap_or("?").to_owned();
    let api = text("ApiVersion");
    let shown = format!("{} (API {api})", text("Version"));
    if parse_api(&api).is_some_and(|api| api >= OLDEST_API) {
        return Check::ok(name, shown);
    }
    Check::fault(
        patient.docker_fault(),
        name,
        format!("{shown} is too old"),
        "install Docker Engine 20.10 or newer",
    )
}

fn parse_api(text: &str) -> Option<(u64, u64)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Both change what a user id inside a container means outside, so the owners of an agent's files
/// would be wrong.
fn security(patient: &Patient, info: &Value) -> Check {
    let name = "docker security";
    let options = info["SecurityOptions"].as_array();
    let options: Vec<&str> = options
        .iter()
        .flat_map(|list| list.iter().filter_map(Value::as_str))
        .collect();
    let has = |what: &str| {
        options
            .iter()
            .any(|o| *o == format!("name={what}") || o.starts_with(&format!("name={what},")))
    };
    for (option, what) in [
        ("rootless", "a rootless engine"),
        ("userns", "userns-remap"),
    ] {
        if has(option) {
            return Check::fault(
                patient.docker_fault(),
                name,
                format!("{what} is not supported yet"),
                "use an engine that runs as root without userns-remap",
            );
        }
    }
    if !has("seccomp") {
        return Check::warn(
            name,
            "the engine has no seccomp profile",
            "use an engine with seccomp: it keeps system calls from agents that they do not need",
        );
    }
    let names: Vec<&str> = options
        .iter()
        .filter_map(|option| option.strip_prefix("name="))
        .map(|option| option.split(',').next().unwrap_or(option))
        .collect();
    Check::ok(name, names.join(", "))
}

async fn image(patient: &Patient, engine: &DockerEngine) -> Check {
    let name = "agent image";
    let image = patient.config.image();
    match engine.has_image(image).await {
        Ok(true) => Check::ok(name, image),
        Ok(false) => Check::fault(
            patient.docker_fault(),
            name,
            format!("the engine does not have {image}"),
            "`make image` builds it; agent.image in hive.toml names another one",
        ),
        Err(error) => Check::fault(
            patient.docker_fault(),
            name,
            format!("cannot ask for {image}: {error}"),
            "look after the engine",
        ),
    }
}

/// It is mounted into images that have another C library, or none.
fn static_hive(patient: &Patient) -> Check {
    let name = "hive program";
    let verdict = mounted_hive(patient).and_then(|path| {
        let linkage = elf::linkage(&path)?;
        Ok((path.display().to_string(), linkage))
    });
    match verdict {
        Ok((path, elf::Linkage::Static)) => Check::ok(name, format!("{path} is static")),
        Ok((path, elf::Linkage::Dynamic)) => Check::fault(
            patient.docker_fault(),
            name,
            format!("{path} is linked dynamically: it may not start in an agent's image"),
            "`make install` builds a static one",
        ),
        Ok((path, elf::Linkage::NoElf)) => Check::warn(
            name,
            format!("{path} is no 64-bit ELF program"),
            "`make install` builds a static one",
        ),
        Err(error) => Check::warn(name, format!("cannot be read: {error}"), "install it again"),
    }
}

/// The one that hived mounts: what hive.toml or `$HIVE_BINARY` names, else the one beside hived, else
/// this one.
fn mounted_hive(patient: &Patient) -> std::io::Result<PathBuf> {
    if let Some(path) = patient.config.hive_binary() {
        return Ok(PathBuf::from(path));
    }
    if let Some(path) = std::env::var_os("HIVE_BINARY").filter(|path| !path.is_empty()) {
        return Ok(PathBuf::from(path));
    }
    let beside = programs::hived()
        .map(|hived| hived.with_file_name("hive"))
        .filter(|hive| hive.exists());
    match beside {
        Some(path) => Ok(path),
        None => std::env::current_exe(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::Ctx;
    use super::super::super::hive_toml::HiveToml;
    use super::super::Patient;
    use super::super::check::Verdict;
    use super::{security, version_check};

    fn patient() -> Patient {
        Patient {
            ctx: Ctx::find(|_| None),
            config: HiveToml::default(),
            status: Ok(hive_proto::v1::HiveStatus {
                runtime: "docker".to_owned(),
                ..Default::default()
            }),
        }
    }

    #[test]
    fn what_is_not_supported_yet_is_named() {
        let check = |options: &[&str]| security(&patient(), &json!({ "SecurityOptions": options }));
        let plain = check(&["name=apparmor", "name=seccomp,profile=default"]);
        assert_eq!(plain.verdict, Verdict::Ok);
        assert_eq!(plain.text, "apparmor, seccomp");
        let rootless = check(&["name=seccomp,profile=default", "name=rootless"]);
        assert_eq!(rootless.verdict, Verdict::Fail);
        assert!(rootless.text.contains("not supported yet"));
        assert_eq!(
            check(&["name=userns", "name=seccomp"]).verdict,
            Verdict::Fail
        );
        assert_eq!(check(&[]).verdict, Verdict::Warn);
    }

    #[test]
    fn an_old_engine_is_a_failure() {
        let check =
            |api: &str| version_check(&patient(), &json!({ "Version": "x", "ApiVersion": api }));
        assert_eq!(check("1.41").verdict, Verdict::Ok);
        assert_eq!(check("1.100").verdict, Verdict::Ok);
        assert_eq!(check("1.40").verdict, Verdict::Fail);
        assert_eq!(check("x").verdict, Verdict::Fail);
    }
}
