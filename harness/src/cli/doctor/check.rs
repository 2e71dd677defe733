//! What one check says, for people and for scripts.

use serde::Serialize;

use super::super::escape;
use super::super::output::{Tone, paint};

/// How it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    Ok,
    /// The hive works, but not as it could.
    Warn,
    /// The hive does not work.
    Fail,
}

/// One line of the examination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) verdict: Verdict,
    pub(super) text: String,
    /// What to do; absent when all is well.
    pub(super) remedy: Option<String>,
}

/// The JSON document.
#[derive(Debug, Serialize)]
pub(super) struct Report<'a> {
    ok: bool,
    checks: &'a [Check],
}

// === impl Verdict ===

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }

    fn tone(self) -> Tone {
        match self {
            Self::Ok => Tone::Good,
            Self::Warn => Tone::Busy,
            Self::Fail => Tone::Bad,
        }
    }
}

// === impl Check ===

impl Check {
    pub(super) fn ok(name: &'static str, text: impl Into<String>) -> Self {
        Self {
            name,
            verdict: Verdict::Ok,
            text: text.into(),
            remedy: None,
        }
    }

    pub(super) fn warn(
        name: &'static str,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::fault(Verdict::Warn, name, text, remedy)
    }

    pub(super) fn fail(
        name: &'static str,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::fault(Verdict::Fail, name, text, remedy)
    }

    pub(super) fn fault(
        verdict: Verdict,
        name: &'static str,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            name,
            verdict,
            text: text.into(),
            remedy: Some(remedy.into()),
        }
    }
}

// === impl Report ===

impl<'a> Report<'a> {
    pub(super) fn new(checks: &'a [Check]) -> Self {
        Self {
            ok: checks.iter().all(|check| check.verdict != Verdict::Fail),
            checks,
        }
    }
}

/// One line a check, its remedy under it.
pub(super) fn text(checks: &[Check]) -> String {
    let width = checks.iter().map(|check| check.name.len()).max();
    let width = width.unwrap_or(0);
    let mut out = String::new();
    for check in checks {
        let verdict = paint(check.verdict.tone(), &format!("{:4}", check.verdict.word()));
        let text = escape::line(&check.text);
        out.push_str(&format!("{verdict}  {:width$}  {text}\n", check.name));
        if let Some(remedy) = &check.remedy {
            let indent = " ".repeat(6 + width + 2);
            out.push_str(&format!("{indent}→ {}\n", escape::line(remedy)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Check, Report, text};

    fn checks() -> [Check; 2] {
        [
            Check::ok("data directory", "/var/lib/hive is writable"),
            Check::fail("hived", "it does not run", "`hive up` starts it"),
        ]
    }

    #[test]
    fn every_fault_has_its_remedy_under_it() {
        insta::assert_snapshot!(text(&checks()), @"
        ok    data directory  /var/lib/hive is writable
        fail  hived           it does not run
                              → `hive up` starts it
        ");
    }

    #[test]
    fn the_json_has_its_stable_keys() {
        let json = serde_json::to_string_pretty(&Report::new(&checks())).unwrap();
        insta::assert_snapshot!(json, @r#"
        {
          "ok": false,
          "checks": [
            {
              "name": "data directory",
              "verdict": "ok",
              "text": "/var/lib/hive is writable",
              "remedy": null
            },
            {
              "name": "hived",
              "verdict": "fail",
              "text": "it does not run",
              "remedy": "`hive up` starts it"
            }
          ]
        }
        "#);
    }
}
