//! Installs from local files: what is taken, what is refused, and that nothing half-done stays.

use std::fs;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;
use crate::engine::installed::versions;

/// The smallest file that passes for a program of this processor.
fn program() -> Vec<u8> {
    let mut head = vec![0; 64];
    head[..6].copy_from_slice(b"\x7fELF\x02\x01");
    let machine = Arch::current().unwrap().elf_machine();
    head[18..20].copy_from_slice(&machine.to_le_bytes());
    head
}

/// A tarball with these members.
fn tarball(path: &Path, members: &[(&str, &[u8])]) {
    let file = fs::File::create(path).unwrap();
    let mut builder = tar::Builder::new(GzEncoder::new(file, Compression::fast()));
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o755);
        builder.append_data(&mut header, name, *bytes).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap();
}

async fn run(engines: &Path, spec: &str, file: &Path) -> Result<Done, InstallError> {
    let request = Request::parse(spec, Source::File(file.to_owned()))?;
    install(engines, &request, &|_| ()).await
}

/// Names in the directory of engines, but the lock.
fn left(engines: &Path) -> Vec<String> {
    let entries = fs::read_dir(engines).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != ".lock").collect()
}

#[tokio::test]
async fn a_tarball_is_installed_once_with_its_hash() {
    let dir = tempfile::tempdir().unwrap();
    let engines = dir.path().join("engines");
    let file = dir.path().join("claude.tgz");
    tarball(
        &file,
        &[
            ("package/package.json", br#"{"name":"x","version":"9.9.1"}"#),
            ("package/claude", &program()),
        ],
    );
    let done = run(&engines, "claude", &file).await.unwrap();
    let program = engines.join("claude/9.9.1/claude");
    let want = Done::Installed {
        version: "9.9.1".to_owned(),
        program: program.clone(),
    };
    assert_eq!(done, want);
    let recorded = fs::read_to_string(engines.join("claude/9.9.1/claude.sha256")).unwrap();
    let mut sink = Vec::new();
    let mut source = fs::File::open(&program).unwrap();
    let sha256 = super::super::digest::copy_hashing(&mut source, &mut sink).unwrap();
    assert_eq!(recorded, format!("{sha256}  claude\n"));
    assert_eq!(left(&engines), ["claude"]);
    let again = run(&engines, "claude@9.9.1", &file).await.unwrap();
    assert!(matches!(again, Done::AlreadyThere { .. }));
}

#[tokio::test]
async fn a_program_needs_its_version_named() {
    let dir = tempfile::tempdir().unwrap();
    let engines = dir.path().join("engines");
    let file = dir.path().join("claude");
    fs::write(&file, program()).unwrap();
    let unnamed = run(&engines, "claude", &file).await;
    assert!(matches!(unnamed, Err(InstallError::NoVersion(_))));
    run(&engines, "claude@1.2.3", &file).await.unwrap();
    assert_eq!(versions(&engines, "claude")[0].version, "1.2.3");
}

#[tokio::test]
async fn what_is_not_as_expected_is_refused_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let engines = dir.path().join("engines");
    let file = |name: &str| dir.path().join(name);
    let foreign = |at: usize, byte: u8| {
        let mut bytes = program();
        bytes[at] = byte;
        bytes
    };
    fs::write(file("script"), b"#!/bin/sh\nexit 0\n").unwrap();
    fs::write(file("empty"), b"").unwrap();
    fs::write(file("short"), b"\x7fELF").unwrap();
    fs::write(file("bits32"), foreign(4, 1)).unwrap();
    fs::write(file("foreign"), foreign(18, 3)).unwrap();
    tarball(&file("no-member"), &[("package/other", b"x")]);
    tarball(&file("elsewhere"), &[("claude", &program())]);
    fs::write(file("cut"), &fs::read(file("elsewhere")).unwrap()[..60]).unwrap();
    for name in [
        "script",
        "empty",
        "short",
        "bits32",
        "foreign",
        "no-member",
        "elsewhere",
        "cut",
    ] {
        let got = run(&engines, "claude@1.0.0", &file(name)).await;
        assert!(got.is_err(), "{name}");
        assert!(
            left(&engines).is_empty(),
            "{name} left {:?}",
            left(&engines)
        );
    }
}

#[tokio::test]
async fn a_tarball_that_pretends_to_be_the_pinned_version_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let engines = dir.path().join("engines");
    let file = dir.path().join("claude.tgz");
    let manifest = format!(
        r#"{{"version":"{}"}}"#,
        Known::find("claude").unwrap().version
    );
    let members: [(&str, &[u8]); 2] = [
        ("package/package.json", manifest.as_bytes()),
        ("package/claude", &program()),
    ];
    tarball(&file, &members);
    let got = run(&engines, "claude", &file).await;
    assert!(matches!(got, Err(InstallError::WrongHash { .. })));
    assert!(left(&engines).is_empty());
}

#[tokio::test]
async fn a_link_in_the_place_of_the_program_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let engines = dir.path().join("engines");
    let file = dir.path().join("claude.tgz");
    let out = fs::File::create(&file).unwrap();
    let mut builder = tar::Builder::new(GzEncoder::new(out, Compression::fast()));
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    builder
        .append_link(&mut header, "package/claude", "/bin/sh")
        .unwrap();
    builder.into_inner().unwrap().finish().unwrap();
    let got = run(&engines, "claude@1.0.0", &file).await;
    assert!(matches!(got, Err(InstallError::NoMember { .. })));
}

#[tokio::test]
async fn what_an_interrupted_install_left_is_cleared_and_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let engines = dir.path().join("engines");
    fs::create_dir_all(engines.join(".partial-old/made")).unwrap();
    fs::create_dir_all(engines.join("claude/1.2.3")).unwrap();
    let file = dir.path().join("claude");
    fs::write(&file, program()).unwrap();
    let done = run(&engines, "claude@1.2.3", &file).await.unwrap();
    assert!(matches!(done, Done::Installed { .. }));
    assert_eq!(left(&engines), ["claude"]);
    assert!(engines.join("claude/1.2.3/claude").is_file());
}
