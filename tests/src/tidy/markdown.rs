//! Links of the documentation: every relative one leads to a file, every fragment to a heading.

use std::path::Path;

use super::Finding;

/// `link`: checks the links of one Markdown file below `root`.
#[must_use]
pub fn links(root: &Path, path: &str, text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        for target in targets(line) {
            if let Some(why) = broken(root, path, text, target) {
                found.push(Finding {
                    path: path.to_owned(),
                    line: number + 1,
                    rule: "link",
                    text: format!("{target}: {why}"),
                });
            }
        }
    }
    found
}

fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("](").filter_map(|(at, mark)| {
        let rest = &line[at + mark.len()..];
        rest.find(')').map(|end| &rest[..end])
    })
}

fn broken(root: &Path, path: &str, text: &str, target: &str) -> Option<&'static str> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
    let folder = root.join(path).parent().map(Path::to_owned)?;
    let full = folder.join(file);
    let other;
    let text = if file.is_empty() {
        text
    } else {
        if !full.exists() {
            return Some("no such file");
        }
        if fragment.is_empty() || full.is_dir() {
            return None;
        }
        other = std::fs::read_to_string(&full).unwrap_or_default();
        &other
    };
    let known = text
        .lines()
        .filter(|line| line.starts_with('#'))
        .any(|line| slug(line) == fragment);
    (!known && !fragment.is_empty()).then_some("no such heading")
}

/// How the usual renderers turn a heading into an anchor.
fn slug(heading: &str) -> String {
    heading
        .trim_start_matches('#')
        .trim()
        .to_lowercase()
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
            _ => None,
        })
        .collect()
}
