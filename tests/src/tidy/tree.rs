//! The workspace's files, and every rule over all of them.

use std::path::{Path, PathBuf};

use super::{
    EXCEPTIONS, Finding, Source, foreign_crates, foreign_words, forgotten_modules, links,
    model_is_pure, no_allow, no_bare_spawn, no_shell, no_sleep_in_tests, no_sql_outside_store,
    no_store_at_the_edges, no_unwrap, one_binary, opens_with_its_job, sizes,
};

/// Folders that hold no source.
const SKIP: &[&str] = &["target", "node_modules", ".git", ".hive"];

/// The text files of the workspace.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    /// Path from the root and content, sorted.
    pub files: Vec<(String, String)>,
}

/// The workspace's root.
#[must_use]
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

// === impl Tree ===

impl Tree {
    /// Reads every text file below `root`.
    ///
    /// # Errors
    /// When a folder cannot be read.
    pub fn read(root: &Path) -> std::io::Result<Self> {
        let mut files = Vec::new();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder)? {
                let entry = entry?;
                let name = entry.file_name();
                if SKIP.iter().any(|skip| name == *skip) {
                    continue;
                }
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if kind.is_file()
                    && let Ok(text) = std::fs::read_to_string(entry.path())
                    && let Ok(path) = entry.path().strip_prefix(root)
                {
                    files.push((path.to_string_lossy().into_owned(), text));
                }
            }
        }
        files.sort();
        Ok(Self {
            root: root.to_owned(),
            files,
        })
    }

    /// Every broken rule, without the excepted places; exceptions that nothing needs are among them.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut all = self.broken_rules();
        let mut unused = Vec::new();
        for exception in EXCEPTIONS {
            let before = all.len();
            all.retain(|finding| {
                finding.rule != exception.rule || !covers(exception.path, &finding.path)
            });
            if all.len() == before {
                unused.push(Finding {
                    path: exception.path.to_owned(),
                    line: 0,
                    rule: exception.rule,
                    text: "this exception is not needed any more".to_owned(),
                });
            }
        }
        all.extend(unused);
        all.sort();
        all
    }

    fn broken_rules(&self) -> Vec<Finding> {
        let sources: Vec<Source> = self
            .files
            .iter()
            .filter(|(path, _)| path.ends_with(".rs"))
            .map(|(path, text)| Source::new(path.clone(), text.clone()))
            .collect();
        let one: [fn(&Source) -> Vec<Finding>; 11] = [
            sizes,
            opens_with_its_job,
            no_allow,
            no_unwrap,
            no_bare_spawn,
            no_sleep_in_tests,
            no_shell,
            no_sql_outside_store,
            foreign_crates,
            model_is_pure,
            no_store_at_the_edges,
        ];
        let mut all: Vec<Finding> = sources
            .iter()
            .flat_map(|source| one.iter().flat_map(|rule| rule(source)))
            .collect();
        all.extend(forgotten_modules(&sources));
        let paths: Vec<String> = sources.iter().map(|source| source.path.clone()).collect();
        all.extend(one_binary(&paths));
        for (path, text) in &self.files {
            all.extend(foreign_words(path, text));
            if path.ends_with(".md") {
                all.extend(links(&self.root, path, text));
            }
        }
        all
    }
}

fn covers(exception: &str, path: &str) -> bool {
    path == exception || exception.ends_with('/') && path.starts_with(exception)
}
