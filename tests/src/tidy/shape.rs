//! Rules about one file's shape: size, first line, what it must not call.

use super::{Finding, Source};

/// Production lines of one file.
const FILE_LINES: usize = 600;
/// Lines of one function.
const FUNCTION_LINES: usize = 100;
/// Lines of one test, whose table of cases is one thing to read.
const TEST_LINES: usize = 150;

fn finding(source: &Source, at: usize, rule: &'static str, text: impl Into<String>) -> Finding {
    Finding {
        path: source.path.clone(),
        line: source.line_of(at),
        rule,
        text: text.into(),
    }
}

/// `size`: files and functions that nobody reads to the end.
#[must_use]
pub fn sizes(source: &Source) -> Vec<Finding> {
    let lines = source.production_lines();
    let file = (lines > FILE_LINES).then(|| {
        finding(
            source,
            0,
            "size",
            format!("{lines} lines, at most {FILE_LINES}"),
        )
    });
    let limit = |test: bool| if test { TEST_LINES } else { FUNCTION_LINES };
    let functions = source
        .functions()
        .into_iter()
        .filter(|function| function.lines > limit(function.test))
        .map(|function| Finding {
            path: source.path.clone(),
            line: function.line,
            rule: "size",
            text: format!(
                "fn {} has {} lines, at most {}",
                function.name,
                function.lines,
                limit(function.test)
            ),
        });
    file.into_iter().chain(functions).collect()
}

/// `job`: the first line says what the file is for.
#[must_use]
pub fn opens_with_its_job(source: &Source) -> Vec<Finding> {
    let first = source.text.lines().next().unwrap_or_default();
    match first.strip_prefix("//!") {
        Some(job) if job.trim().len() > 10 => Vec::new(),
        _ => vec![finding(
            source,
            0,
            "job",
            "must open with `//!` and its one job",
        )],
    }
}

/// `allow`: `#[expect]` notices when it is no longer needed.
#[must_use]
pub fn no_allow(source: &Source) -> Vec<Finding> {
    ["#[allow", "#![allow"]
        .iter()
        .flat_map(|needle| source.code.match_indices(needle))
        .map(|(at, _)| finding(source, at, "allow", "use #[expect(…, reason = \"…\")]"))
        .collect()
}

/// `unwrap`: a panic in production is a bug report without a sentence.
#[must_use]
pub fn no_unwrap(source: &Source) -> Vec<Finding> {
    if source.path.starts_with("tests/") {
        return Vec::new();
    }
    [".unwrap()", ".expect("]
        .iter()
        .flat_map(|needle| source.code.match_indices(needle))
        .filter(|(at, _)| !source.in_test(*at))
        .map(|(at, _)| finding(source, at, "unwrap", "return an error instead"))
        .collect()
}

/// `spawn`: every task ends at shutdown, so every task is tracked.
#[must_use]
pub fn no_bare_spawn(source: &Source) -> Vec<Finding> {
    if source.path == "proto/shutdown/src/lib.rs" {
        return Vec::new();
    }
    [
        "tokio::spawn",
        "tokio::task::spawn",
        "tokio::task::spawn_local",
    ]
    .iter()
    .flat_map(|needle| source.find_word(needle))
    .filter(|at| !source.in_test(*at))
    .map(|at| {
        finding(
            source,
            at,
            "spawn",
            "use Tasks of hive_shutdown, or a JoinSet that is awaited here",
        )
    })
    .collect()
}

/// `sleep`: a test waits for the event itself. Time that a test drives (`start_paused`) may pass.
#[must_use]
pub fn no_sleep_in_tests(source: &Source) -> Vec<Finding> {
    if source.code.contains("start_paused") {
        return Vec::new();
    }
    source
        .find_word("sleep")
        .filter(|at| source.code[at + "sleep".len()..].starts_with('('))
        .filter(|at| source.in_test(*at) || source.path.starts_with("tests/"))
        .map(|at| finding(source, at, "sleep", "wait for the event itself"))
        .collect()
}

/// `shell`: arguments are passed as a list, never pasted into a command line.
#[must_use]
pub fn no_shell(source: &Source) -> Vec<Finding> {
    if source.is_test_file() || source.path.starts_with("tests/") {
        return Vec::new();
    }
    let shells = ["sh", "bash", "/bin/sh", "/bin/bash", "/usr/bin/env"];
    source
        .find_word("Command::new(\"")
        .filter(|at| !source.in_test(*at))
        .filter_map(|at| {
            let line = source.line_of(at);
            source
                .strings
                .iter()
                .find(|(on, text)| *on == line && shells.contains(&text.as_str()))
                .map(|(_, text)| finding(source, at, "shell", format!("runs `{text}`")))
        })
        .collect()
}

/// `forgotten`: a file that no `mod` names is never compiled, and its tests never run.
#[must_use]
pub fn forgotten_modules(sources: &[Source]) -> Vec<Finding> {
    sources
        .iter()
        .filter(|source| {
            parents(&source.path).is_some_and(|(name, parents)| {
                !sources.iter().any(|other| names(other, &name, &parents))
            })
        })
        .map(|source| finding(source, 0, "forgotten", "no `mod` names this file"))
        .collect()
}

/// Whether `other` declares the module, by its name or by its path.
fn names(other: &Source, name: &str, parents: &[String]) -> bool {
    let by_name = || other.find_word(&format!("mod {name};")).next().is_some();
    let by_path = || {
        let folder = |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
        let near = parents
            .iter()
            .any(|parent| folder(parent) == folder(&other.path));
        let file = format!("{name}.rs");
        near && other.code.contains("#[path") && other.strings.iter().any(|(_, text)| *text == file)
    };
    parents.contains(&other.path) && by_name() || by_path()
}

/// The module's name, and the files one of which must declare it; none for a crate's root.
fn parents(path: &str) -> Option<(String, Vec<String>)> {
    let stem = path.strip_suffix(".rs")?;
    let stem = stem.strip_suffix("/mod").unwrap_or(stem);
    let (folder, name) = stem.rsplit_once('/')?;
    let target = folder.ends_with("/tests") && folder.matches('/').count() == 1;
    let root = target || matches!(name, "lib" | "main" | "build");
    (!root).then(|| {
        let parents = ["mod.rs", "lib.rs", "main.rs"]
            .iter()
            .map(|file| format!("{folder}/{file}"))
            .chain(std::iter::once(format!("{folder}.rs")))
            .collect();
        (name.to_owned(), parents)
    })
}

/// `binary`: at most one test binary a crate; each further one is another link of everything.
#[must_use]
pub fn one_binary(paths: &[String]) -> Vec<Finding> {
    let mut first: std::collections::BTreeMap<&str, &str> = std::collections::BTreeMap::new();
    let mut found = Vec::new();
    for path in paths {
        let mut parts = path.split('/');
        let (Some(crate_dir), Some("tests"), Some(target)) =
            (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let before = first.entry(crate_dir).or_insert(target);
        if *before != target {
            found.push(Finding {
                path: path.clone(),
                line: 0,
                rule: "binary",
                text: format!("a second test binary beside {before}"),
            });
        }
    }
    found
}
