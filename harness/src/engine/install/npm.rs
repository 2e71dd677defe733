//! The npm client, asked for one package.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use tokio::process::Command;

use super::error::InstallError;

/// Fetches the tarball of `package` at `version` into `dir`.
///
/// # Errors
/// When there is no npm, or it fails; then with its own last words.
pub(super) async fn fetch(
    package: &str,
    version: &str,
    dir: &Path,
) -> Result<PathBuf, InstallError> {
    let spec = format!("{package}@{version}");
    let into = dir.display().to_string();
    let args = [
        "pack",
        &spec,
        "--json",
        "--ignore-scripts",
        "--pack-destination",
        &into,
    ];
    let answer = run(&spec, &args, dir).await?;
    let name = answer
        .get(0)
        .and_then(|package| package.get("filename"))
        .and_then(Value::as_str)
        // Some versions of npm name the file with the scope's slash in it.
        .map(|name| name.trim_start_matches('@').replace('/', "-"));
    let path = name
        .map(|name| dir.join(name))
        .filter(|path| path.is_file());
    path.ok_or_else(|| InstallError::Npm {
        package: spec,
        why: "it does not say which file it made".to_owned(),
    })
}

/// The hash that the registry gives for the tarball.
///
/// # Errors
/// As for [`fetch`].
pub(super) async fn integrity(
    package: &str,
    version: &str,
    dir: &Path,
) -> Result<String, InstallError> {
    let spec = format!("{package}@{version}");
    let answer = run(&spec, &["view", &spec, "dist.integrity", "--json"], dir).await?;
    let text = answer.as_str().filter(|text| text.starts_with("sha512-"));
    text.map(str::to_owned).ok_or_else(|| InstallError::Npm {
        package: spec,
        why: "the registry gives no hash for it".to_owned(),
    })
}

/// Runs npm in `dir`, so that no project's own settings count, and reads the JSON that it prints.
async fn run(spec: &str, args: &[&str], dir: &Path) -> Result<Value, InstallError> {
    let failed = |why: String| InstallError::Npm {
        package: spec.to_owned(),
        why,
    };
    let output = Command::new("npm")
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => InstallError::NoNpm,
            _ => failed(error.to_string()),
        })?;
    if !output.status.success() {
        return Err(failed(last_words(&String::from_utf8_lossy(&output.stderr))));
    }
    serde_json::from_slice(&output.stdout).map_err(|_| failed("it printed no JSON".to_owned()))
}

/// The first line of npm's complaint that says something.
fn last_words(stderr: &str) -> String {
    let lines = stderr.lines().map(|line| {
        line.trim_start_matches("npm ")
            .trim_start_matches("ERR! ")
            .trim_start_matches("error ")
            .trim()
    });
    let telling = lines.filter(|line| {
        !line.is_empty() && !line.starts_with("code ") && !line.to_lowercase().starts_with("warn")
    });
    let first = telling.into_iter().next().unwrap_or("it gave no reason");
    first.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_complaint_is_found_in_old_and_new_npm() {
        let new = "npm warn Unknown env config\nnpm error code ETARGET\nnpm error notarget No matching version found for x@9.\n";
        assert_eq!(
            last_words(new),
            "notarget No matching version found for x@9."
        );
        let old = "npm ERR! code E404\nnpm ERR! 404 Not Found - GET x\n";
        assert_eq!(last_words(old), "404 Not Found - GET x");
        assert_eq!(last_words(""), "it gave no reason");
    }
}
