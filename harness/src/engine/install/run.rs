//! The steps of one install.

use std::path::{Path, PathBuf};

use super::archive::{FileKind, check_program, kind, take_program, version};
use super::catalog::{Arch, Known};
use super::digest::integrity;
use super::error::InstallError;
use super::npm;
use super::request::{Request, Source};
use super::shelf::Shelf;

/// What an install is doing, for the person who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Fetching,
    Checking,
    Unpacking,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    Installed {
        version: String,
        program: PathBuf,
    },
    /// The same version was there already.
    AlreadyThere {
        version: String,
        program: PathBuf,
    },
}

/// What is to be put on the shelf.
struct Plan {
    engine: Known,
    arch: Arch,
    version: String,
}

/// Installs into the directory `engines`. `progress` hears of each step.
///
/// Dropping the future in the middle leaves nothing behind, or at most a directory that the next
/// install removes.
///
/// # Errors
/// When anything about the program is not as expected; then nothing was changed.
pub async fn install(
    engines: &Path,
    request: &Request,
    progress: &(dyn Fn(Step) + Sync),
) -> Result<Done, InstallError> {
    let engine = Known::find(&request.name)
        .ok_or_else(|| InstallError::UnknownEngine(request.name.clone()))?;
    let arch = Arch::current().ok_or_else(|| InstallError::NoPackage(request.name.clone()))?;
    let directory = engines.to_owned();
    let shelf = blocking(move || Shelf::open(&directory)).await?;
    let plan = Plan {
        engine,
        arch,
        version: wanted_version(request, &engine)?,
    };
    if let Some(found) = shelf.find(engine.name, &plan.version) {
        return Ok(Done::AlreadyThere {
            version: found.version,
            program: found.program,
        });
    }
    let workshop = shelf.workshop()?;
    let (file, expected) = match &request.source {
        Source::Registry => {
            progress(Step::Fetching);
            fetch(&plan, workshop.path()).await?
        }
        Source::File(file) => (file.clone(), local_hash(&plan, file)?),
    };
    progress(Step::Checking);
    check_hash(file.clone(), expected).await?;
    progress(Step::Unpacking);
    let program = blocking(move || {
        let to = workshop.path().join(plan.engine.name);
        let sha256 = take_program(&file, &plan.engine, &to)?;
        check_program(&to, plan.arch, &file)?;
        let name = plan.engine.name;
        let program = shelf.put(workshop.path(), name, &plan.version, &sha256)?;
        Ok((plan.version, program))
    });
    let (version, program) = program.await?;
    Ok(Done::Installed { version, program })
}

fn wanted_version(request: &Request, engine: &Known) -> Result<String, InstallError> {
    if let Some(version) = &request.version {
        return Ok(version.clone());
    }
    match &request.source {
        Source::Registry => Ok(engine.version.to_owned()),
        Source::File(file) => match kind(file)? {
            FileKind::Tarball => version(file),
            FileKind::Program => Err(InstallError::NoVersion(file.clone())),
        },
    }
}

/// The tarball, and the hash that it must have: the one compiled in for the pinned version, the
/// registry's for any other.
async fn fetch(plan: &Plan, dir: &Path) -> Result<(PathBuf, Option<String>), InstallError> {
    let missing = || InstallError::NoPackage(plan.engine.name.to_owned());
    let package = plan.engine.package(plan.arch).ok_or_else(missing)?;
    let expected = match plan.engine.pinned(plan.arch, &plan.version) {
        Some(pinned) => pinned.to_owned(),
        None => npm::integrity(package.name, &plan.version, dir).await?,
    };
    let file = npm::fetch(package.name, &plan.version, dir).await?;
    Ok((file, Some(expected)))
}

/// A local tarball that calls itself the pinned version must be it; a local program is the
/// operator's own word.
fn local_hash(plan: &Plan, file: &Path) -> Result<Option<String>, InstallError> {
    Ok(match kind(file)? {
        FileKind::Tarball => plan
            .engine
            .pinned(plan.arch, &plan.version)
            .map(str::to_owned),
        FileKind::Program => None,
    })
}

async fn check_hash(file: PathBuf, expected: Option<String>) -> Result<(), InstallError> {
    let Some(want) = expected else {
        return Ok(());
    };
    let path = file.clone();
    let got = blocking(move || integrity(&path).map_err(InstallError::io(path))).await?;
    match got == want {
        true => Ok(()),
        false => Err(InstallError::WrongHash {
            what: file.display().to_string(),
            got,
            want,
        }),
    }
}

/// Runs file work off the async threads.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, InstallError> + Send + 'static,
) -> Result<T, InstallError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| {
        Err(InstallError::Io {
            path: PathBuf::from("install"),
            source: std::io::Error::other(error),
        })
    })
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
