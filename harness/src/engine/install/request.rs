//! What is asked for: an engine, perhaps a version, and where it comes from.

use std::path::PathBuf;

use super::catalog::Known;
use super::error::InstallError;

/// Where the program comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The npm registry, through the npm client.
    Registry,
    /// A local program, or the tarball of its npm package.
    File(PathBuf),
}

/// One request, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub(super) name: String,
    /// `None`: the pinned one, or what a tarball says of itself.
    pub(super) version: Option<String>,
    pub(super) source: Source,
}

// === impl Request ===

impl Request {
    /// Reads `NAME` or `NAME@VERSION`.
    ///
    /// # Errors
    /// When the name is not known, or the version could not be a directory's name.
    pub fn parse(spec: &str, source: Source) -> Result<Self, InstallError> {
        let (name, version) = match spec.split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (spec, None),
        };
        if Known::find(name).is_none() {
            return Err(InstallError::UnknownEngine(name.to_owned()));
        }
        if let Some(version) = version.filter(|version| !is_version(version)) {
            return Err(InstallError::BadVersion(version.to_owned()));
        }
        Ok(Self {
            name: name.to_owned(),
            version: version.map(str::to_owned),
            source,
        })
    }
}

/// Digits first, then what versions are made of; so it is a plain file name too.
pub(super) fn is_version(text: &str) -> bool {
    text.len() <= 64
        && text.starts_with(|first: char| first.is_ascii_digit())
        && text
            .chars()
            .all(|sign| sign.is_ascii_alphanumeric() || matches!(sign, '.' | '-' | '+'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_are_read_and_hostile_ones_refused() {
        let request = Request::parse("claude@2.1.332", Source::Registry).unwrap();
        assert_eq!(request.version.as_deref(), Some("2.1.332"));
        assert_eq!(
            Request::parse("claude", Source::Registry).unwrap().version,
            None
        );
        for spec in [
            "claude@",
            "claude@../x",
            "claude@latest",
            "claude@1/2",
            "claude@1 2",
        ] {
            let got = Request::parse(spec, Source::Registry);
            assert!(matches!(got, Err(InstallError::BadVersion(_))), "{spec}");
        }
        for spec in ["", "codex", "../claude", "@claude"] {
            let got = Request::parse(spec, Source::Registry);
            assert!(matches!(got, Err(InstallError::UnknownEngine(_))), "{spec}");
        }
    }
}
