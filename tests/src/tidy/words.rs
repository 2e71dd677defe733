//! Words that belong to one machine and not to the project.

use super::Finding;

/// Put together here, so that this file does not break its own rule.
fn forbidden() -> Vec<(String, &'static str)> {
    let join = |parts: &[&str]| parts.concat();
    let machine = "a path of somebody's machine";
    let registry = "where packages come from is the machine's setting (cargo, npm, apt)";
    vec![
        (join(&["/wo", "rk/"]), machine),
        (join(&["/ro", "ot/"]), machine),
        (join(&["registry.npm", "js.org"]), registry),
        (join(&["index.crates", ".io"]), registry),
        (join(&["static.crates", ".io"]), registry),
        (join(&["deb.debian", ".org"]), registry),
        (join(&["pypi", ".org"]), registry),
        (join(&["registry-1.docker", ".io"]), registry),
    ]
}

/// `words`: a tracked text file names no machine and no registry.
#[must_use]
pub fn foreign_words(path: &str, text: &str) -> Vec<Finding> {
    let forbidden = forbidden();
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for (word, why) in &forbidden {
            // A path counts where it begins: `/var/work/` is nobody's home.
            let hit = line.match_indices(word.as_str()).any(|(at, _)| {
                !word.starts_with('/')
                    || !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-$}".contains(c))
            });
            if hit {
                found.push(Finding {
                    path: path.to_owned(),
                    line: number + 1,
                    rule: "words",
                    text: format!("`{word}`: {why}"),
                });
            }
        }
    }
    found
}
