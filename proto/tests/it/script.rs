//! The script format: what it means, and that every fault is reported with its line.

use std::time::Duration;

use hive_proto::script::{Act, Crash, Failure, Incoming, Play, Script, Seen, Values};
use hive_proto::v1::{FailureClass, Outcome};
use serde_json::{Value, json};

fn script(text: &str) -> Script {
    Script::parse(text).unwrap_or_else(|faults| panic!("{faults}"))
}

fn faults(text: &str) -> Vec<String> {
    let faults = Script::parse(text).expect_err("the script was taken");
    faults.0.iter().map(ToString::to_string).collect()
}

fn message(id: i64, from: &str, body: &str) -> Incoming {
    Incoming {
        agent: "manager".to_owned(),
        from: from.to_owned(),
        id,
        body: body.to_owned(),
        redelivered: false,
    }
}

/// What the steps of a play say and do, with results given to tools in turn.
fn played(play: &Play<'_>, results: &[&str]) -> Vec<Value> {
    let mut values: Values = play.values.clone();
    let mut results = results.iter();
    let steps = play.rule.steps.iter();
    let done = steps.map(|step| match &step.act {
        Act::Say(text) => json!(values.text(text)),
        Act::Shell(line) => {
            let line = values.shell(line);
            values.result(step, *results.next().unwrap());
            json!({ "shell": line })
        }
        Act::Tool { name, args } => {
            let args = values.json(args);
            values.result(step, *results.next().unwrap());
            json!({ "tool": name, "args": args })
        }
        Act::Wait(_) | Act::Fail(_) | Act::Crash(_) | Act::End => json!(null),
    });
    done.collect()
}

#[test]
fn placeholders_are_filled() {
    let script = script(
        r#"
        [[rule]]
        from = "operator"
        body = '(?i)plan an? (\w+)'
        steps = [
            { say = "{{agent}} plans a {{1}}" },
            { tool = "send", args = { to = "cook", body = "{{1}} for {{from}}?", in_reply_to = "{{id}}" } },
            { tool = "recv", args = { wait_seconds = 60, deep = [ "{{ id }}", true, 1.5 ] }, save = "menu" },
            { shell = "echo {{menu.body}} {{body}}", save = "out" },
            { tool = "send", args = { to = "{{from}}", body = "{{menu.from}}: {{menu.body}}; {{out}}; {{last}}{{menu.none}}", n = "{{menu.id}}" } },
            { end = true },
        ]
        "#,
    );
    let incoming = message(7, "operator", "Plan a picnic, it's warm");
    let play = script.pick(&incoming, &mut Seen::default()).unwrap();
    let mail = r#"{"messages":[{"id":9,"from":"cook","body":"bread\nand olives"}],"remaining":0}"#;
    assert_eq!(
        played(&play, &["sent", mail, "ok", "sent"]),
        [
            json!("manager plans a picnic"),
            json!({ "tool": "send", "args": { "to": "cook", "body": "picnic for operator?", "in_reply_to": 7 } }),
            json!({ "tool": "recv", "args": { "wait_seconds": 60, "deep": [7, true, 1.5] } }),
            json!({ "shell": "echo 'bread\nand olives' 'Plan a picnic, it'\\''s warm'" }),
            json!({ "tool": "send", "args": { "to": "operator", "body": "cook: bread\nand olives; ok; ok", "n": 9 } }),
            json!(null),
        ]
    );
}

#[test]
fn results_that_are_json_open_by_path() {
    let script = script(
        r#"
        [[rule]]
        steps = [
            { tool = "get_agent_meta", save = "meta" },
            { say = "{{meta.list.1.name}}|{{meta.list.7.name}}|{{meta.n}}|{{last.list.0}}" },
        ]
        "#,
    );
    let play = script
        .pick(&message(1, "x", "y"), &mut Seen::default())
        .unwrap();
    let result = r#"{"n": 3, "list": ["first", {"name": "cook"}]}"#;
    assert_eq!(played(&play, &[result])[1], json!("cook||3|first"));
}

#[test]
fn the_first_rule_that_holds_answers() {
    let script = script(
        r#"
        rule = [
            { agent = "cook", steps = [{ say = "cook" }] },
            { from = "scout", steps = [{ say = "from scout" }] },
            { body = "^ping$", nth = 2, steps = [{ say = "second ping" }] },
            { body = "^ping$", times = 1, steps = [{ say = "first ping" }] },
            { redelivered = true, steps = [{ say = "again" }] },
            { body = "o(k)?", steps = [{ say = "<{{1}}>" }] },
        ]
        "#,
    );
    let mut seen = Seen::default();
    let mut said = |incoming: &Incoming| {
        let play = script.pick(incoming, &mut seen)?;
        Some(played(&play, &[])[0].as_str().unwrap().to_owned())
    };
    let cook = Incoming {
        agent: "cook".to_owned(),
        ..message(1, "scout", "ping")
    };
    let again = Incoming {
        redelivered: true,
        ..message(1, "a", "b")
    };
    assert_eq!(said(&cook).as_deref(), Some("cook"));
    assert_eq!(
        said(&message(2, "scout", "ping")).as_deref(),
        Some("from scout")
    );
    assert_eq!(
        said(&message(3, "a", "ping")).as_deref(),
        Some("first ping")
    );
    // The same message is the same number, however often it is looked at.
    assert_eq!(
        said(&message(3, "a", "ping")).as_deref(),
        Some("first ping")
    );
    assert_eq!(
        said(&message(4, "a", "ping")).as_deref(),
        Some("second ping")
    );
    assert_eq!(said(&message(5, "a", "ping")), None);
    assert_eq!(said(&again).as_deref(), Some("again"));
    assert_eq!(said(&message(6, "a", "moo")).as_deref(), Some("<>"));
}

#[test]
fn failures_say_how_a_turn_ends() {
    let script = script(
        r#"
        [[rule]]
        steps = [
            { fail = "rate_limited", retry_after = "3s" },
            { status = 429 },
            { status = 403, times = 2 },
            { fail = "auth_failed" },
            { status = 402 },
            { fail = "overloaded" },
            { status = 529 },
            { status = 400 },
            { stall = "250ms" },
            { drop = true },
            { fail = "context_full" },
            { max_tokens = true },
            { crash = "harness" },
            { wait = "1m" },
        ]
        "#,
    );
    let endings: Vec<_> = script.rules[0]
        .steps
        .iter()
        .filter_map(|step| match &step.act {
            Act::Fail(failure) => Some(failure.ending().map(|end| (end.outcome, end.failure))),
            _ => None,
        })
        .collect();
    let none = FailureClass::Unspecified;
    let failed = |class| Some((Outcome::Failed, class));
    assert_eq!(
        endings,
        [
            Some((Outcome::RateLimited, none)),
            Some((Outcome::RateLimited, none)),
            Some((Outcome::AuthFailed, none)),
            Some((Outcome::AuthFailed, none)),
            Some((Outcome::BudgetExhausted, none)),
            failed(FailureClass::Overloaded),
            failed(FailureClass::Overloaded),
            failed(FailureClass::Config),
            failed(FailureClass::Timeout),
            failed(FailureClass::Network),
            failed(FailureClass::ContextFull),
            None,
        ]
    );
    let Act::Fail(first) = &script.rules[0].steps[0].act else {
        panic!("not a failure");
    };
    assert_eq!(
        first.ending().unwrap().retry_after,
        Some(Duration::from_secs(3))
    );
    assert!(matches!(
        script.rules[0].steps[12].act,
        Act::Crash(Crash::Harness)
    ));
}

#[test]
fn steps_with_times_happen_so_often() {
    let script = script("[[rule]]\nsteps = [{ status = 529, times = 2 }, { fail = \"network\" }]");
    let mut seen = Seen::default();
    let steps = &script.rules[0].steps;
    let fired: Vec<bool> = (0..3).map(|_| seen.fires(0, 0, &steps[0])).collect();
    assert_eq!(fired, [true, true, false]);
    assert!((0..9).all(|_| seen.fires(0, 1, &steps[1])));
}

#[test]
fn every_fault_is_reported_with_its_line() {
    let text = r#"title = "x"
[[rule]]
form = "operator"
nth = 0
body = "("
redelivered = "yes"
steps = [
  { say = "{{1}}" },
  { say = "{{menu}}" },
  { say = "{{last}}" },
  { say = "{{from" },
  { say = 5 },
  { tool = "send", args = "to" },
  { tool = "recv", save = "body" },
  { tool = "recv", times = 2 },
  { shell = "ls", tool = "send" },
  { wait = "5 s" },
  { fail = "tired" },
  { fail = "auth_failed", retry_after = "1s" },
  { status = 200 },
  { crash = "host" },
  { drop = false },
  { nothing = 1 },
]
[[rule]]
[[rule]]
steps = [{ end = true }, { say = "late" }]
"#;
    let found = faults(text);
    let lines: Vec<&str> = found
        .iter()
        .map(|fault| fault.split(':').next().unwrap())
        .collect();
    let expected: Vec<String> = [1, 3, 4, 5, 6]
        .into_iter()
        .chain(8..=23)
        .chain([25, 26])
        .map(|line| format!("line {line}"))
        .collect();
    assert_eq!(lines, expected, "{found:#?}");
    assert!(found[0].contains("`title`"), "{found:#?}");
    assert!(found[5].contains("0 groups"), "{found:#?}");
}

#[test]
fn broken_toml_is_reported_with_its_line() {
    let found = faults("[[rule]]\nsteps = [\n{ say = }\n]\n");
    assert!(found[0].starts_with("line 3:"), "{found:?}");
}

#[test]
fn the_failure_is_what_was_written() {
    let script = script("[[rule]]\nsteps = [{ status = 500, retry_after = \"2s\" }]");
    let Act::Fail(failure) = &script.rules[0].steps[0].act else {
        panic!("not a failure");
    };
    assert_eq!(
        *failure,
        Failure::Status {
            code: 500,
            retry_after: Some(Duration::from_secs(2))
        }
    );
}
