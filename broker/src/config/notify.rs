//! `[[notify]]`: where the operator is told off-screen. No secret stands here: each is named by where
//! it is read from.

use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::{Table, Value};

use super::fields::Fields;
use crate::model::concern::{self, Concern};
use crate::model::notification::{FIRST_PAUSE_MS, Patience, TRIES};
use crate::notify::{Address, Channel, Format, Program, Source, Url, Way, Webhook};

/// The channels, in the order of the file.
pub(super) fn read(root: &mut Table, faults: &mut Vec<String>) -> Vec<Channel> {
    let tables = match root.remove("notify") {
        None => return Vec::new(),
        Some(Value::Array(list)) if list.iter().all(Value::is_table) => list,
        Some(_) => {
            faults.push("notify: write each channel as a section [[notify]]".into());
            return Vec::new();
        }
    };
    let mut channels: Vec<Channel> = Vec::new();
    for (at, table) in tables.into_iter().enumerate() {
        let Value::Table(table) = table else {
            continue;
        };
        let mut fields = Fields::element(table, format!("notify[{at}]"), faults);
        let channel = read_one(&mut fields);
        if let Some(channel) = channel {
            if channels.iter().any(|other| other.name == channel.name) {
                let why = format!(
                    "{:?} is another channel's: give each a `name`",
                    channel.name
                );
                fields.fault("name", why);
            }
            channels.push(channel);
        }
        fields.finish();
    }
    channels
}

fn read_one(fields: &mut Fields<'_>) -> Option<Channel> {
    let kind = fields.optional::<String>("kind").unwrap_or_default();
    let name = fields.or("name", kind.clone());
    if !is_word(&name) && !kind.is_empty() {
        fields.fault(
            "name",
            format!("{name:?} is not a word of a-z, 0-9, - and _"),
        );
    }
    let on = read_on(fields);
    let fold = fields.ranged("fold_secs", 60, 0..=86_400);
    let timeout = fields.ranged("timeout_secs", 10, 1..=60);
    let tries = fields.ranged("tries", TRIES.into(), 1..=20);
    let first = fields.ranged("retry_secs", FIRST_PAUSE_MS.unsigned_abs() / 1000, 1..=3600);
    let details = fields.or("details", true);
    let way = match kind.as_str() {
        "command" => Way::Command(read_program(fields)?),
        "webhook" => Way::Webhook(read_webhook(fields)?),
        other => {
            fields.fault("kind", format!("{other:?} is neither command nor webhook"));
            // What the other keys should be depends on it.
            fields.table().clear();
            return None;
        }
    };
    let ms = |secs: u64| i64::try_from(secs.saturating_mul(1000)).unwrap_or(i64::MAX);
    Some(Channel {
        name,
        on,
        way,
        fold_ms: ms(fold),
        timeout: Duration::from_secs(timeout),
        patience: Patience {
            tries: u32::try_from(tries).unwrap_or(TRIES),
            first_pause_ms: ms(first),
        },
        details,
    })
}

fn is_word(name: &str) -> bool {
    let letters = name
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_');
    letters && !name.is_empty() && name.len() <= 32
}

fn read_on(fields: &mut Fields<'_>) -> Vec<Concern> {
    let all = || concern::told().map(|rule| rule.concern);
    let Some(words) = fields.optional::<Vec<String>>("on") else {
        return all().collect();
    };
    let mut on = Vec::new();
    for word in words {
        match Concern::told(&word) {
            Some(concern) => on.push(concern),
            None => {
                let known: Vec<_> = concern::told().map(|rule| rule.word).collect();
                let known = known.join(", ");
                fields.fault("on", format!("{word:?} is none of {known}"));
            }
        }
    }
    on
}

fn read_program(fields: &mut Fields<'_>) -> Option<Program> {
    let run = fields.or("run", Vec::<String>::new());
    let env = fields.or("env", Vec::<String>::new());
    let program = run.first().map(PathBuf::from);
    if !program.is_some_and(|program| program.is_absolute()) {
        fields.fault(
            "run",
            "give a program by its absolute path, and its arguments",
        );
        return None;
    }
    Some(Program { run, env })
}

fn read_webhook(fields: &mut Fields<'_>) -> Option<Webhook> {
    let allow_http = fields.or("allow_http", false);
    let format = fields.parsed("format", Format::Hive, |word| {
        Format::of(word).ok_or_else(|| format!("{word:?} is none of hive, ntfy and slack"))
    });
    let secret = read_source(fields, "secret");
    let token = read_source(fields, "token");
    let address = read_address(fields, allow_http);
    if format == Format::Hive && secret.is_none() {
        fields.fault(
            "secret_env",
            "give secret_env or secret_file: what it signs with",
        );
    }
    Some(Webhook {
        address: address?,
        secret,
        token,
        format,
        allow_http,
    })
}

fn read_address(fields: &mut Fields<'_>, allow_http: bool) -> Option<Address> {
    let plain = fields.optional::<String>("url");
    match (plain, read_source(fields, "url")) {
        (None, Some(source)) => Some(Address::Secret(source)),
        (Some(text), None) => match crate::notify::address(&text, allow_http) {
            Ok(url) => Some(Address::Plain(without_password(fields, url)?)),
            Err(why) => {
                fields.fault("url", why);
                None
            }
        },
        (None, None) | (Some(_), Some(_)) => {
            fields.fault("url", "give one of url, url_env and url_file");
            None
        }
    }
}

fn without_password(fields: &mut Fields<'_>, url: Url) -> Option<Url> {
    if url.username().is_empty() && url.password().is_none() {
        return Some(url);
    }
    fields.fault(
        "url",
        "holds a password: put it whole into url_env or url_file",
    );
    None
}

/// `<what>_env` or `<what>_file`; one that stands here itself is a fault.
fn read_source(fields: &mut Fields<'_>, what: &str) -> Option<Source> {
    let env = format!("{what}_env");
    let file = format!("{what}_file");
    let from_env = fields.optional::<String>(&env).map(Source::Env);
    let from_file = fields.optional::<PathBuf>(&file);
    if from_file.as_deref().is_some_and(Path::is_relative) {
        fields.fault(&file, "is not an absolute path");
    }
    let from_file = from_file.map(Source::File);
    if from_env.is_some() && from_file.is_some() {
        fields.fault(&env, format!("give one of {env} and {file}"));
    }
    if what != "url" && fields.table().remove(what).is_some() {
        fields.fault(what, format!("no secret stands here: use {env} or {file}"));
    }
    from_env.or(from_file)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use toml::Table;

    use super::read;
    use crate::model::concern::{self, Concern};
    use crate::notify::{Channel, Format, Way};

    fn parse(text: &str) -> Result<Vec<Channel>, Vec<String>> {
        let mut table: Table = text.parse().unwrap();
        let mut faults = Vec::new();
        let channels = read(&mut table, &mut faults);
        if faults.is_empty() {
            Ok(channels)
        } else {
            Err(faults)
        }
    }

    #[test]
    fn both_ways_and_their_defaults() {
        let channels = parse(
            r#"
            [[notify]]
            kind = "command"
            run = ["/usr/bin/notify-send", "{title}", "{text}"]
            [[notify]]
            name = "phone"
            kind = "webhook"
            url = "https://ntfy.sh/my-hive"
            format = "ntfy"
            token_file = "/etc/hive/ntfy"
            on = ["failed_agent", "dead"]
            timeout_secs = 5
            "#,
        )
        .unwrap();
        assert_eq!(channels[0].name, "command");
        assert_eq!(channels[0].on.len(), concern::told().count());
        assert_eq!(channels[0].timeout, Duration::from_secs(10));
        assert_eq!(channels[1].on, [Concern::FailedAgent, Concern::Dead]);
        let Way::Webhook(webhook) = &channels[1].way else {
            panic!("{channels:?}");
        };
        assert_eq!(webhook.format, Format::Ntfy);
        assert_eq!(parse("").unwrap(), []);
    }

    #[test]
    fn every_fault_is_named_with_its_place() {
        let hook = "[[notify]]\nkind = \"webhook\"\n";
        let signed = format!("{hook}secret_env = \"S\"\n");
        for (text, fault) in [
            ("notify = 1".to_owned(), "notify:"),
            ("[[notify]]\nkind = \"pager\"".to_owned(), "notify[0].kind:"),
            (
                "[[notify]]\nkind = \"command\"".to_owned(),
                "notify[0].run:",
            ),
            (
                "[[notify]]\nkind = \"command\"\nrun = [\"sh\", \"-c\"]".to_owned(),
                "notify[0].run:",
            ),
            (
                format!("{hook}url = \"https://x\""),
                "notify[0].secret_env:",
            ),
            (
                format!("{signed}url = \"http://example.org\""),
                "notify[0].url:",
            ),
            (
                format!("{signed}url = \"ftp://example.org\""),
                "notify[0].url:",
            ),
            (
                format!("{signed}url = \"https://me:pw@example.org\""),
                "notify[0].url:",
            ),
            (signed.clone(), "notify[0].url:"),
            (format!("{signed}url_file = \"rel\""), "notify[0].url_file:"),
            (
                format!("{hook}url = \"https://x\"\nsecret = \"whsec_x\""),
                "notify[0].secret:",
            ),
            (
                format!("{signed}url = \"https://x\"\ntimeout = 3"),
                "notify[0].timeout:",
            ),
            (
                format!("{signed}url = \"https://x\"\non = [\"mail\"]"),
                "notify[0].on:",
            ),
            (
                format!("{signed}url = \"https://x\"\nname = \"My Phone\""),
                "notify[0].name:",
            ),
            (
                format!("{signed}url = \"https://x\"\n{signed}url = \"https://y\""),
                "notify[1].name:",
            ),
        ] {
            let faults = parse(&text).unwrap_err();
            let found = faults.iter().any(|one| one.starts_with(fault));
            assert!(found, "{text}: {faults:?}");
            assert!(
                !faults.iter().any(|one| one.contains("whsec_x")),
                "{faults:?}"
            );
        }
    }

    #[test]
    fn plain_http_needs_loopback_or_a_word() {
        let hook = "[[notify]]\nkind = \"webhook\"\nsecret_env = \"S\"\n";
        for url in [
            "http://127.0.0.1:8/x",
            "http://[::1]/",
            "http://localhost:9/",
        ] {
            parse(&format!("{hook}url = \"{url}\"")).unwrap();
        }
        parse(&format!(
            "{hook}url = \"http://10.0.0.7/\"\nallow_http = true"
        ))
        .unwrap();
    }
}
