//! Every row of what the real program (2.1.332) was seen to end with.

use std::time::Duration;

use super::*;
use crate::engine::claude::protocol::ApiRetry;

const NOW: i64 = 1_796_083_200_000;

fn result(json: &str) -> Facts {
    let mut facts = Facts::new(Kind::Prompt);
    facts.result = Some(serde_json::from_str(json).unwrap());
    facts
}

fn stderr(code: i32, text: &str) -> Facts {
    let mut facts = Facts::new(Kind::Prompt);
    facts.death = Some(Death {
        code: Some(code),
        signal: None,
        stderr: text.to_owned(),
    });
    facts
}

fn verdict(facts: &Facts) -> (Outcome, FailureClass) {
    let verdict = judge(facts, NOW);
    (verdict.outcome, verdict.failure)
}

#[test]
fn results_map_to_outcomes() {
    use FailureClass as F;
    let none = F::Unspecified;
    for (json, outcome, failure) in [
        (
            r#"{"subtype":"success","is_error":false,"terminal_reason":"completed","result":"Hi"}"#,
            Outcome::Ok,
            none,
        ),
        (
            r#"{"subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":401,"api_error_type":"authentication_error","result":"Invalid API key · Fix external API key"}"#,
            Outcome::AuthFailed,
            none,
        ),
        (
            r#"{"subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":403,"api_error_type":"permission_error","result":"Failed to authenticate. API Error: 403"}"#,
            Outcome::AuthFailed,
            none,
        ),
        (
            r#"{"subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":402,"api_error_type":"billing_error","result":"Credit balance is too low"}"#,
            Outcome::BudgetExhausted,
            none,
        ),
        (
            r#"{"subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":429,"api_error_type":"rate_limit_error","result":"API Error: Request rejected (429) · limit"}"#,
            Outcome::RateLimited,
            none,
        ),
        (
            r#"{"subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":529,"api_error_type":"overloaded_error","result":"API Error: 529 Overloaded."}"#,
            Outcome::Failed,
            F::Overloaded,
        ),
        (
            r#"{"subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":500,"api_error_type":"api_error","result":"API Error: 500"}"#,
            Outcome::Failed,
            F::Overloaded,
        ),
        (
            r#"{"subtype":"success","is_error":true,"terminal_reason":"prompt_too_long","api_error_status":400,"result":"Prompt is too long"}"#,
            Outcome::Failed,
            F::ContextFull,
        ),
        (
            r#"{"subtype":"success","is_error":true,"terminal_reason":"blocking_limit","api_error_status":null,"result":"Prompt is too long"}"#,
            Outcome::Failed,
            F::ContextFull,
        ),
        (
            r#"{"subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":413,"result":"API Error: 413"}"#,
            Outcome::Failed,
            F::ContextFull,
        ),
        (
            r#"{"subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":400,"result":"API Error: 400 messages.4: `tool_use` ids were found without `tool_result`"}"#,
            Outcome::Failed,
            F::BadSession,
        ),
        (
            r#"{"subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":400,"result":"API Error: 400 max_tokens: too large"}"#,
            Outcome::Failed,
            F::Config,
        ),
        (
            r#"{"subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":404,"api_error_type":"not_found_error","result":"There's an issue with the selected model"}"#,
            Outcome::Failed,
            F::Config,
        ),
        (
            r#"{"subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":504,"result":"API Error: 504"}"#,
            Outcome::Failed,
            F::Timeout,
        ),
        (
            r#"{"subtype":"success","is_error":true,"terminal_reason":"api_error","api_error":"connection_failed","api_error_status":null,"result":"API Error: Unable to connect"}"#,
            Outcome::Failed,
            F::Network,
        ),
        (
            r#"{"subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":null,"result":"API Error: Connection error. ECONNRESET"}"#,
            Outcome::Failed,
            F::Network,
        ),
        (
            r#"{"subtype":"success","is_error":true,"stop_reason":"stop_sequence","terminal_reason":"api_error","api_error":"max_output_tokens","api_error_status":null,"result":"API Error: Claude's response exceeded the 128000 output token maximum."}"#,
            Outcome::Failed,
            F::Refused,
        ),
        (
            r#"{"subtype":"success","is_error":true,"stop_reason":"refusal","terminal_reason":"api_error","api_error_status":null,"result":"API Error: Haiku 5.5 can't help with this. Start a new session to continue."}"#,
            Outcome::Failed,
            F::Refused,
        ),
        (
            r#"{"subtype":"success","is_error":false,"stop_reason":"refusal","terminal_reason":"completed"}"#,
            Outcome::Failed,
            F::Refused,
        ),
        (
            r#"{"subtype":"success","is_error":false,"stop_reason":"end_turn","terminal_reason":"completed","safety_stops":1}"#,
            Outcome::Ok,
            none,
        ),
        (
            r#"{"subtype":"error_max_turns","is_error":true,"terminal_reason":"max_turns","errors":["Reached maximum number of turns (2)"]}"#,
            Outcome::Failed,
            F::Config,
        ),
        (
            r#"{"subtype":"error_max_budget_usd","is_error":true,"terminal_reason":"budget_exhausted"}"#,
            Outcome::BudgetExhausted,
            none,
        ),
        (
            r#"{"subtype":"error_during_execution","is_error":true,"errors":["No conversation found with session ID: 1"]}"#,
            Outcome::Failed,
            F::BadSession,
        ),
        (
            r#"{"subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools"}"#,
            Outcome::Failed,
            F::Crashed,
        ),
        (
            r#"{"subtype":"error_during_execution","is_error":true,"errors":["something new"]}"#,
            Outcome::Failed,
            F::Crashed,
        ),
    ] {
        assert_eq!(verdict(&result(json)), (outcome, failure), "{json}");
    }
}

#[test]
fn a_death_without_a_result_is_a_crash_unless_its_last_words_say_more() {
    use FailureClass as F;
    for (code, text, want) in [
        (143, "", F::Crashed),
        (
            1,
            "EROFS: read-only file system, mkdir '/tmp/claude-1000'",
            F::Crashed,
        ),
        (
            1,
            "error: unknown option '--system-prompt-snapshot'",
            F::Config,
        ),
        (
            1,
            "--dangerously-skip-permissions cannot be used with root/sudo privileges",
            F::Config,
        ),
        (1, "No conversation found with session ID: 1", F::BadSession),
        (1, "Error: Session ID 1 is already in use.", F::BadSession),
    ] {
        assert_eq!(
            verdict(&stderr(code, text)),
            (Outcome::Failed, want),
            "{text}"
        );
    }
    let mut killed = Facts::new(Kind::Prompt);
    killed.death = Some(Death {
        code: None,
        signal: Some(9),
        stderr: String::new(),
    });
    let said = judge(&killed, NOW).detail;
    assert_eq!(said, "claude was ended by signal 9 before the turn ended");
}

#[test]
fn what_hive_ended_itself_counts_by_its_reason() {
    let aborted = r#"{"subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming"}"#;
    let minute = Duration::from_secs(60);
    for (stop, want) in [
        (
            Stop::Cancelled,
            (Outcome::Interrupted, FailureClass::Unspecified),
        ),
        (
            Stop::Silent(minute),
            (Outcome::Failed, FailureClass::Timeout),
        ),
        (Stop::Wall(minute), (Outcome::Failed, FailureClass::Timeout)),
        (
            Stop::NotReady(minute),
            (Outcome::Failed, FailureClass::Timeout),
        ),
        (
            Stop::ToolsLost("x".to_owned()),
            (Outcome::Failed, FailureClass::Crashed),
        ),
        (
            Stop::RateLimited,
            (Outcome::RateLimited, FailureClass::Unspecified),
        ),
    ] {
        let mut facts = result(aborted);
        facts.stop = Some(stop.clone());
        assert_eq!(verdict(&facts), want, "{stop:?}");
        facts.result = None;
        facts.death = Some(Death::default());
        assert_eq!(verdict(&facts), want, "{stop:?}, killed");
    }
}

#[test]
fn a_turn_that_ended_well_before_the_interrupt_reached_it_is_ok() {
    let mut facts = result(r#"{"subtype":"success","is_error":false}"#);
    facts.stop = Some(Stop::Cancelled);
    assert_eq!(verdict(&facts), (Outcome::Ok, FailureClass::Unspecified));
}

#[test]
fn the_end_of_a_park_is_taken_from_the_best_source() {
    let limited = r#"{"subtype":"success","is_error":true,"api_error_status":429,"result":"API Error: Request rejected (429) · limit"}"#;
    let mut facts = result(limited);
    assert_eq!(judge(&facts, NOW).until_ms, None, "nothing was told");
    facts.retry_at_ms = NOW - 1000;
    facts.last_retry = Some(ApiRetry {
        attempt: 1,
        retry_delay_ms: 32_223.0,
        error_status: Some(429),
        error: "rate_limit".to_owned(),
    });
    assert_eq!(judge(&facts, NOW).until_ms, Some(NOW + 31_223));
    facts.retry_at_ms = NOW - 60_000;
    assert_eq!(judge(&facts, NOW).until_ms, None, "that wait is over");
    let text = limited.replace("limit\"", "limit, retry after 3600 seconds\"");
    facts.result = Some(serde_json::from_str(&text).unwrap());
    assert_eq!(judge(&facts, NOW).until_ms, Some(NOW + 3_600_000));
    facts.limit = Some(Some(NOW / 1000 + 7200));
    assert_eq!(judge(&facts, NOW).until_ms, Some(NOW + 7_200_000));
}

#[test]
fn a_compaction_ends_compacted_or_says_why_not() {
    let mut facts = result(r#"{"subtype":"success","is_error":false,"result":""}"#);
    facts.kind = Kind::Compact;
    facts.compact_error = "exhausted".to_owned();
    let failed = judge(&facts, NOW);
    assert_eq!(
        (failed.outcome, failed.failure),
        (Outcome::Failed, FailureClass::ContextFull)
    );
    assert_eq!(failed.detail, "the context was not compacted: exhausted");
    facts.compact_error = "Error: No messages to compact".to_owned();
    assert_eq!(judge(&facts, NOW).outcome, Outcome::Compacted);
    facts.compact_error.clear();
    facts.compacted = true;
    assert_eq!(judge(&facts, NOW).outcome, Outcome::Compacted);
}

#[test]
fn details_are_one_short_line() {
    let long = format!("API Error: 529\n{}", "x ".repeat(1000));
    let json = serde_json::json!({"subtype": "success", "is_error": true,
        "api_error_status": 529, "result": long});
    let detail = judge(&result(&json.to_string()), NOW).detail;
    assert!(detail.starts_with("API Error: 529 x x") && detail.chars().count() == 300);
}
