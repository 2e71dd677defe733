//! Lines captured from the real program (2.1.332), trimmed.

use super::*;

fn line(text: &str) -> Line {
    parse(text.as_bytes())
}

#[test]
fn init_names_session_model_and_servers() {
    let init = line(
        r#"{"type":"system","subtype":"init","cwd":"/srv/agent","session_id":"cae971d1-0000-4000-8000-000000000000","tools":["Bash","mcp__hive__send"],"mcp_servers":[{"name":"hive","status":"connected","source":"dynamic"}],"model":"claude-haiku-5-5","permissionMode":"default","apiKeySource":"ANTHROPIC_API_KEY","claude_code_version":"2.1.332","uuid":"u"}"#,
    );
    let Line::Init(init) = init else {
        panic!("{init:?}");
    };
    assert_eq!(init.session_id, "cae971d1-0000-4000-8000-000000000000");
    assert_eq!(init.model, "claude-haiku-5-5");
    assert_eq!(init.mcp_servers[0].status, "connected");
}

#[test]
fn an_assistant_line_holds_texts_tools_and_the_context() {
    let tool = line(
        r#"{"type":"assistant","message":{"id":"msg_9366","type":"message","role":"assistant","model":"claude-haiku-5-5","content":[{"type":"tool_use","id":"toolu_abf7","name":"mcp__hive__send","input":{"to":"beta","body":"yo"}}],"stop_reason":null,"usage":{"input_tokens":1000,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":1,"service_tier":"standard"},"context_management":null},"parent_tool_use_id":null,"session_id":"s","uuid":"u"}"#,
    );
    let want = Assistant {
        model: "claude-haiku-5-5".to_owned(),
        tools: vec![("toolu_abf7".to_owned(), "mcp__hive__send".to_owned())],
        context_tokens: 1320,
        ..Assistant::default()
    };
    assert_eq!(tool, Line::Assistant(want));
    let made_up = line(
        r#"{"type":"assistant","message":{"model":"<synthetic>","stop_reason":"stop_sequence","usage":{"output_tokens_details":null,"input_tokens":0,"service_tier":null},"content":[{"type":"text","text":"API Error: Request rejected (429) · fake"}]},"parent_tool_use_id":null,"error":"rate_limit","is_api_error_message":true,"api_error_status":429}"#,
    );
    let Line::Assistant(made_up) = made_up else {
        panic!("{made_up:?}");
    };
    assert_eq!(made_up.context_tokens, 0);
    assert_eq!(made_up.texts, ["API Error: Request rejected (429) · fake"]);
}

#[test]
fn a_subagents_request_does_not_count_as_the_context() {
    let sub = line(
        r#"{"type":"assistant","message":{"model":"m","content":[],"usage":{"input_tokens":9}},"parent_tool_use_id":"toolu_1"}"#,
    );
    assert_eq!(
        sub,
        Line::Assistant(Assistant {
            model: "m".to_owned(),
            ..Assistant::default()
        })
    );
}

#[test]
fn tool_results_come_as_text_and_as_blocks() {
    let failed = line(
        r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"Exit code 3\nhi","is_error":true,"tool_use_id":"toolu_7816"}]},"parent_tool_use_id":null,"tool_use_result":"Error: Exit code 3\nhi"}"#,
    );
    assert_eq!(
        failed,
        Line::ToolResults(vec![("toolu_7816".to_owned(), false)])
    );
    let sent = line(
        r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_abf7","type":"tool_result","content":[{"type":"text","text":"sent to beta"}]}]},"tool_use_result":[{"type":"text","text":"sent to beta"}]}"#,
    );
    assert_eq!(
        sent,
        Line::ToolResults(vec![("toolu_abf7".to_owned(), true)])
    );
    let synthetic = line(
        r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"Output token limit hit."}]},"isSynthetic":true}"#,
    );
    assert_eq!(synthetic, Line::ToolResults(Vec::new()));
    let summary = line(r#"{"type":"user","message":{"role":"user","content":"This session …"}}"#);
    assert_eq!(summary, Line::ToolResults(Vec::new()));
}

#[test]
fn a_result_is_read_whatever_the_order_of_its_fields() {
    let result = line(
        r#"{"duration_api_ms":17,"stop_reason":"end_turn","session_id":"cae971d1","total_cost_usd":0.0001305,"usage":{"input_tokens":1000,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":50,"output_tokens_details":{"thinking_tokens":0},"server_tool_use":{"web_search_requests":0},"iterations":[]},"modelUsage":{},"permission_denials":[],"terminal_reason":"completed","is_error":false,"num_turns":1,"subtype":"success","api_error_status":null,"result":"Hello from fake.","type":"result","duration_ms":89,"uuid":"u","result_index":0,"model_usage_since_last_result":{"claude-haiku-5-5":{"inputTokens":1000}}}"#,
    );
    let Line::Result(result) = result else {
        panic!("{result:?}");
    };
    assert_eq!(result.subtype, "success");
    assert_eq!(result.terminal_reason.as_deref(), Some("completed"));
    assert_eq!(result.usage.output_tokens, 50);
    assert_eq!(result.total_cost_usd, Some(0.000_130_5));
    assert_eq!(result.api_error_status, None);
    assert_eq!(result.model_usage_since_last_result.len(), 1);
}

#[test]
fn system_lines_are_told_apart() {
    let retry = line(
        r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"retry_delay_ms":3324,"error_status":429,"error":"rate_limit","session_id":"s","uuid":"u"}"#,
    );
    let Line::Retry(retry) = retry else {
        panic!("{retry:?}");
    };
    assert_eq!((retry.attempt, retry.error_status), (1, Some(429)));
    let network = line(
        r#"{"type":"system","subtype":"api_retry","attempt":1,"retry_delay_ms":601.5,"error_status":null,"error":"unknown"}"#,
    );
    assert!(matches!(
        network,
        Line::Retry(ApiRetry {
            error_status: None,
            ..
        })
    ));
    let boundary = line(
        r#"{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"manual","pre_tokens":1370,"post_tokens":436,"duration_ms":67}}"#,
    );
    assert_eq!(boundary, Line::Compacted { post_tokens: 436 });
    for (text, want) in [
        (
            r#"{"type":"system","subtype":"status","status":"compacting"}"#,
            Line::Compacting,
        ),
        (
            r#"{"type":"system","subtype":"status","status":"requesting"}"#,
            Line::Quiet,
        ),
        (
            r#"{"type":"system","subtype":"status","status":null,"compact_result":"failed","compact_error":"exhausted"}"#,
            Line::CompactFailed("exhausted".to_owned()),
        ),
        (
            r#"{"type":"system","subtype":"status","status":null,"compact_result":"success"}"#,
            Line::Quiet,
        ),
        (
            r#"{"type":"system","subtype":"informational","content":"stopped · continuing once","level":"notice"}"#,
            Line::Notice("stopped · continuing once".to_owned()),
        ),
        (
            r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1796087000}}"#,
            Line::LimitReached {
                resets_at: Some(1_796_087_000),
            },
        ),
        (
            r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"}}"#,
            Line::Quiet,
        ),
        (r#"{"type":"tool_progress","heartbeat":true}"#, Line::Quiet),
    ] {
        assert_eq!(line(text), want, "{text}");
    }
}

#[test]
fn requests_and_replies_carry_their_ids() {
    let ask = line(
        r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"permission_suggestions":[],"tool_use_id":"toolu_1"}}"#,
    );
    assert_eq!(
        ask,
        Line::PermissionRequest {
            request_id: "r1".to_owned(),
            tool: "Bash".to_owned(),
            input: serde_json::json!({"command": "ls"}),
        }
    );
    let reply = line(
        r#"{"type":"control_response","response":{"subtype":"error","request_id":"r2","error":"ECONNREFUSED: Unable to connect."}}"#,
    );
    assert_eq!(
        reply,
        Line::ControlReply {
            request_id: "r2".to_owned(),
            reply: Err("ECONNREFUSED: Unable to connect.".to_owned()),
        }
    );
}

#[test]
fn what_is_not_known_is_unknown_and_never_an_error() {
    for text in [
        "",
        "not json",
        "[1,2]",
        "null",
        r#"{"type":"later"}"#,
        r#"{"type":"system","subtype":"later"}"#,
        r#"{"type":"assistant"}"#,
        r#"{"type":"result","usage":"a word"}"#,
        r#"{"type":"system","subtype":"init","mcp_servers":7}"#,
    ] {
        assert_eq!(line(text), Line::Unknown, "{text}");
    }
}
