//! The real claude: turns that go well, tools, permissions, compaction.

use hive::engine::{Engine as _, EngineEvent};
use hive_proto::v1::{FailureClass, Outcome};
use hive_tests::claude::ClaudeBench;

/// (tool, went well) of each call, in order.
fn calls(events: &[EngineEvent]) -> Vec<(String, bool)> {
    let starts = events.iter().filter_map(|event| match event {
        EngineEvent::ToolStart { id, name } => Some((id.clone(), name.clone())),
        _ => None,
    });
    let end = |wanted: &str| {
        events
            .iter()
            .any(|event| matches!(event, EngineEvent::ToolEnd { id, ok: true } if id == wanted))
    };
    starts.map(|(id, name)| (name, end(&id))).collect()
}

fn texts(events: &[EngineEvent]) -> Vec<&str> {
    let text = |event: &'_ EngineEvent| matches!(event, EngineEvent::Text(_));
    let all = events.iter().filter(|event| text(event));
    all.map(|event| match event {
        EngineEvent::Text(text) => text.as_str(),
        _ => unreachable!("filtered"),
    })
    .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_calls_hives_tools_and_its_own_and_the_process_is_kept() {
    let script = r#"
        [[rule]]
        body = "^work"
        steps = [
          { tool = "request_next_turn", args = {} },
          { shell = "echo made > made.txt" },
          { say = "Done it." },
        ]
        [[rule]]
        steps = [ { say = "You are welcome." } ]
    "#;
    let mut bench = ClaudeBench::start(script).await;
    let first = bench.turn("work, please").await;
    assert_eq!(first.outcome, Outcome::Ok, "{first:?}");
    assert!(bench.asked_for_another_turn());
    let made = std::fs::read_to_string(bench.state().join("made.txt")).unwrap();
    assert_eq!(made, "made\n");
    let events = bench.take_events();
    let want = [("mcp__hive__request_next_turn", true), ("Bash", true)];
    assert_eq!(calls(&events), want.map(|(name, ok)| (name.to_owned(), ok)));
    assert_eq!(texts(&events), ["Done it."]);
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, EngineEvent::Raw(_))),
        "{events:?}"
    );
    assert_eq!(first.usage.tool_calls, 2);
    assert!(first.usage.input_tokens > 0 && first.usage.output_tokens > 0);
    assert!(first.usage.cost_usd > 0.0 && first.usage.context_tokens > 0);
    assert!(first.model.contains("haiku"), "{}", first.model);

    let pid = bench.engine.kept();
    assert!(pid.is_some());
    let second = bench.turn("thanks").await;
    assert_eq!(second.outcome, Outcome::Ok, "{second:?}");
    assert_eq!(bench.engine.kept(), pid, "the process was replaced");
    assert_eq!(texts(&bench.take_events()), ["You are welcome."]);
    assert!(
        second.usage.cost_usd > 0.0,
        "a turn costs its own cost only"
    );
    assert!(second.usage.cost_usd < first.usage.cost_usd);
    assert_eq!(bench.transcripts().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn bash_patterns_hold_for_every_command() {
    let script = r#"
        [[rule]]
        steps = [
          { shell = "touch allowed" },
          { shell = "touch allowed2; touch smuggled" },
          { shell = "rm allowed" },
          { shell = "ls" },
          { say = "Tried." },
        ]
    "#;
    let mut bench = ClaudeBench::start(script).await;
    bench.configure(|env| env.config.allowed_bash_patterns = vec!["touch *".to_owned()]);
    let end = bench.turn("try").await;
    assert_eq!(end.outcome, Outcome::Ok, "{end:?}");
    let oks: Vec<bool> = calls(&bench.take_events())
        .iter()
        .map(|(_, ok)| *ok)
        .collect();
    assert_eq!(oks, [true, false, false, false]);
    let mut names: Vec<String> = std::fs::read_dir(bench.state())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["allowed"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_compacted_and_goes_on() {
    let script = r#"
        [[rule]]
        steps = [ { say = "Noted." } ]
    "#;
    let mut bench = ClaudeBench::start(script).await;
    let empty = bench.compact().await;
    assert_eq!(
        empty.outcome,
        Outcome::Compacted,
        "nothing to compact: {empty:?}"
    );
    assert_eq!(bench.turn("remember").await.outcome, Outcome::Ok);
    _ = bench.take_events();
    let compacted = bench.compact().await;
    assert_eq!(compacted.outcome, Outcome::Compacted, "{compacted:?}");
    assert!(
        compacted.usage.cost_usd > 0.0,
        "a compaction costs too: {compacted:?}"
    );
    let events = bench.take_events();
    assert!(events.contains(&EngineEvent::Compacting) && events.contains(&EngineEvent::Compacted));
    let after = bench.turn("go on").await;
    assert_eq!(after.outcome, Outcome::Ok, "{after:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_that_is_too_long_is_a_full_context_until_it_is_compacted() {
    let script = r#"
        [[rule]]
        body = "^long"
        steps = [ { fail = "context_full", times = 1 }, { say = "Fits now." } ]
        [[rule]]
        steps = [ { say = "Fits." } ]
    "#;
    let mut bench = ClaudeBench::start(script).await;
    assert_eq!(bench.turn("first").await.outcome, Outcome::Ok);
    let full = bench.turn("long").await;
    let got = (full.outcome, full.failure);
    assert_eq!(
        got,
        (Outcome::Failed, FailureClass::ContextFull),
        "{full:?}"
    );
    let compacted = bench.compact().await;
    assert_eq!(compacted.outcome, Outcome::Compacted, "{compacted:?}");
    _ = bench.take_events();
    let after = bench.turn("long").await;
    assert_eq!(after.outcome, Outcome::Ok, "{after:?}");
    assert_eq!(texts(&bench.take_events()), ["Fits now."]);
}
