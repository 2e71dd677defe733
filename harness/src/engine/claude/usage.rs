//! What one turn used, from numbers that are partly of the turn and partly running totals.
//!
//! Tokens come per turn. The cost comes as a total over the conversation, over restarts of the
//! program too, and includes what compactions cost; so the last total is kept with the session and
//! subtracted. A total that went down means that the program began to count afresh.

use serde_json::Value;

use hive_proto::v1::Usage;

use super::protocol::{ResultLine, TokenCounts};

/// The part of a turn's numbers that is counted from the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) context_tokens: u64,
    pub(super) tool_calls: u32,
}

/// Works out the turn's usage, and the total to keep for the next turn. `None` for a turn that
/// ended without a result: its cost shows up in the next turn's difference.
pub(super) fn settle(
    result: Option<&ResultLine>,
    counted: Counted,
    last_total: f64,
) -> (Usage, f64) {
    let mut usage = Usage {
        context_tokens: counted.context_tokens,
        tool_calls: counted.tool_calls,
        ..Usage::default()
    };
    let Some(result) = result else {
        return (usage, last_total);
    };
    let since = since_last(result);
    let tokens = match result.usage == TokenCounts::default() {
        true => since.tokens,
        false => result.usage,
    };
    usage.input_tokens = tokens.input_tokens;
    usage.output_tokens = tokens.output_tokens;
    usage.cache_read_tokens = tokens.cache_read_input_tokens;
    usage.cache_write_tokens = tokens.cache_creation_input_tokens;
    let Some(total) = result.total_cost_usd else {
        usage.cost_usd = since.cost_usd;
        return (usage, last_total);
    };
    usage.cost_usd = match total - last_total {
        grown if grown >= 0.0 => grown,
        _ if since.cost_usd > 0.0 => since.cost_usd,
        _ => total,
    };
    (usage, total)
}

/// Sums over the models of `model_usage_since_last_result`.
#[derive(Clone, Copy, Debug, Default)]
struct Since {
    tokens: TokenCounts,
    cost_usd: f64,
}

fn since_last(result: &ResultLine) -> Since {
    let mut since = Since::default();
    for model in result.model_usage_since_last_result.values() {
        let count = |key: &str| model.get(key).and_then(Value::as_u64).unwrap_or_default();
        since.tokens.input_tokens += count("inputTokens");
        since.tokens.output_tokens += count("outputTokens");
        since.tokens.cache_read_input_tokens += count("cacheReadInputTokens");
        since.tokens.cache_creation_input_tokens += count("cacheCreationInputTokens");
        since.cost_usd += model
            .get("costUSD")
            .and_then(Value::as_f64)
            .unwrap_or_default();
    }
    since
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result(total: f64, input: u64) -> ResultLine {
        ResultLine {
            total_cost_usd: Some(total),
            usage: TokenCounts {
                input_tokens: input,
                output_tokens: 50,
                cache_read_input_tokens: 300,
                cache_creation_input_tokens: 20,
            },
            ..ResultLine::default()
        }
    }

    #[test]
    fn cost_is_the_difference_and_tokens_are_the_turns_own() {
        let counted = Counted {
            context_tokens: 1320,
            tool_calls: 2,
        };
        let (first, total) = settle(Some(&result(0.25, 1000)), counted, 0.0);
        assert_eq!(
            (first.cost_usd, first.input_tokens, first.tool_calls),
            (0.25, 1000, 2)
        );
        assert_eq!(
            (first.cache_read_tokens, first.cache_write_tokens),
            (300, 20)
        );
        assert_eq!(first.context_tokens, 1320);
        let (second, total) = settle(Some(&result(0.75, 1000)), counted, total);
        assert_eq!((second.cost_usd, total), (0.5, 0.75));
    }

    #[test]
    fn a_total_that_went_down_is_a_fresh_count() {
        let (usage, total) = settle(Some(&result(0.1, 1)), Counted::default(), 5.0);
        assert_eq!((usage.cost_usd, total), (0.1, 0.1));
    }

    #[test]
    fn a_turn_without_a_result_costs_nothing_yet() {
        let (usage, total) = settle(None, Counted::default(), 5.0);
        assert_eq!((usage.cost_usd, total), (0.0, 5.0));
    }

    #[test]
    fn a_compaction_is_counted_from_the_sums_by_model() {
        let mut compaction = result(0.5, 0);
        compaction.usage = TokenCounts::default();
        let sums = json!({"a": {"inputTokens": 7, "outputTokens": 3, "costUSD": 0.5},
            "b": {"inputTokens": 1, "cacheReadInputTokens": 4}});
        compaction.model_usage_since_last_result = sums.as_object().cloned().unwrap();
        let (usage, _) = settle(Some(&compaction), Counted::default(), 0.0);
        let got = (
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens,
        );
        assert_eq!(got, (8, 3, 4));
    }
}
