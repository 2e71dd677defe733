//! One turn on the engine, with the one second chance that a full context or a lost session gets.

use hive_proto::v1::{FailureClass, Outcome, Usage};
use tokio_util::sync::CancellationToken;

use super::state::Happened;
use crate::engine::{Engine, EventSink, TurnEnd, TurnInput};

/// Runs the turn. `note` hears when a compaction begins and ends.
pub(super) async fn drive(
    engine: &mut dyn Engine,
    input: TurnInput,
    events: EventSink,
    cancel: CancellationToken,
    note: &(dyn Fn(Happened) + Send + Sync),
) -> TurnEnd {
    let first = engine
        .turn(input.clone(), events.clone(), cancel.clone())
        .await;
    if first.outcome != Outcome::Failed || cancel.is_cancelled() {
        return first;
    }
    match first.failure {
        FailureClass::ContextFull if engine.caps().compact => {
            note(Happened::CompactBegan);
            let compacted = engine.compact(events.clone(), cancel.clone()).await;
            note(Happened::CompactEnded);
            if !went_well(compacted.outcome) {
                return uncompacted(first, compacted);
            }
            let mut second = engine.turn(input, events, cancel).await;
            if second.outcome == Outcome::Ok {
                second.outcome = Outcome::Compacted;
            }
            with_usage(with_usage(second, &first.usage), &compacted.usage)
        }
        FailureClass::BadSession => {
            tracing::warn!("the engine's session is gone; beginning a new one");
            engine.new_session().await;
            let second = engine.turn(input, events, cancel).await;
            with_usage(second, &first.usage)
        }
        FailureClass::ContextFull
        | FailureClass::Unspecified
        | FailureClass::Overloaded
        | FailureClass::Network
        | FailureClass::Crashed
        | FailureClass::Timeout
        | FailureClass::Config
        | FailureClass::Refused => first,
    }
}

/// A compaction that failed for a passing reason is that reason; otherwise the context stays full.
fn uncompacted(first: TurnEnd, compacted: TurnEnd) -> TurnEnd {
    let lasting = compacted.outcome == Outcome::Failed
        && matches!(
            compacted.failure,
            FailureClass::Config
                | FailureClass::Refused
                | FailureClass::ContextFull
                | FailureClass::BadSession
        );
    if !lasting {
        return with_usage(compacted, &first.usage);
    }
    let mut end = with_usage(first, &compacted.usage);
    end.detail = format!("{}; compaction failed: {}", end.detail, compacted.detail);
    end
}

fn went_well(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Ok | Outcome::Compacted)
}

/// `end` with the usage of an earlier run of the same turn added.
fn with_usage(mut end: TurnEnd, earlier: &Usage) -> TurnEnd {
    let usage = &mut end.usage;
    usage.input_tokens += earlier.input_tokens;
    usage.output_tokens += earlier.output_tokens;
    usage.cache_read_tokens += earlier.cache_read_tokens;
    usage.cache_write_tokens += earlier.cache_write_tokens;
    usage.cost_usd += earlier.cost_usd;
    usage.tool_calls += earlier.tool_calls;
    end
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use hive_proto::ids::{MessageId, TurnId};
    use hive_proto::v1::{FailureClass, Outcome, Usage};
    use tokio_util::sync::CancellationToken;

    use super::drive;
    use crate::engine::{Caps, Engine, EngineEnv, EventSink, TurnEnd, TurnInput};

    /// Ends turns and compactions as told, and writes down what it was asked.
    struct Told {
        turns: VecDeque<TurnEnd>,
        compacts: VecDeque<TurnEnd>,
        asked: Vec<&'static str>,
        compact: bool,
    }

    #[async_trait::async_trait]
    impl Engine for Told {
        fn caps(&self) -> Caps {
            Caps {
                long_lived: false,
                compact: self.compact,
                model_calls: false,
            }
        }
        async fn turn(&mut self, _: TurnInput, _: EventSink, _: CancellationToken) -> TurnEnd {
            self.asked.push("turn");
            self.turns.pop_front().unwrap()
        }
        async fn compact(&mut self, _: EventSink, _: CancellationToken) -> TurnEnd {
            self.asked.push("compact");
            self.compacts.pop_front().unwrap()
        }
        async fn idle(&mut self) -> Option<Duration> {
            None
        }
        fn configure(&mut self, _: EngineEnv) {}
        async fn new_session(&mut self) {
            self.asked.push("new_session");
        }
        async fn stop(&mut self) {}
    }

    fn end(outcome: Outcome, failure: FailureClass) -> TurnEnd {
        TurnEnd {
            outcome,
            failure,
            detail: "x".to_owned(),
            until_ms: None,
            usage: Usage {
                input_tokens: 1,
                ..Usage::default()
            },
            model: String::new(),
        }
    }

    fn ok() -> TurnEnd {
        end(Outcome::Ok, FailureClass::Unspecified)
    }

    fn failed(class: FailureClass) -> TurnEnd {
        end(Outcome::Failed, class)
    }

    async fn run(turns: Vec<TurnEnd>, compacts: Vec<TurnEnd>) -> (TurnEnd, String, usize) {
        let mut engine = Told {
            turns: turns.into(),
            compacts: compacts.into(),
            asked: Vec::new(),
            compact: true,
        };
        let notes = Arc::new(Mutex::new(0));
        let noted = notes.clone();
        let input = TurnInput {
            turn: TurnId(1),
            message: MessageId(1),
            from: "operator".to_owned(),
            in_reply_to: None,
            body: String::new(),
            redelivered: false,
            prompt: String::new(),
        };
        let end = drive(
            &mut engine,
            input,
            Arc::new(|_| {}),
            CancellationToken::new(),
            &move |_| *noted.lock().unwrap() += 1,
        )
        .await;
        let notes = *notes.lock().unwrap();
        (end, engine.asked.join(" "), notes)
    }

    #[tokio::test]
    async fn a_full_context_is_compacted_once() {
        use FailureClass::ContextFull;
        let compacted = end(Outcome::Compacted, FailureClass::Unspecified);
        let (end, asked, notes) =
            run(vec![failed(ContextFull), ok()], vec![compacted.clone()]).await;
        assert_eq!(
            (end.outcome, end.usage.input_tokens),
            (Outcome::Compacted, 3)
        );
        assert_eq!((asked.as_str(), notes), ("turn compact turn", 2));

        let twice = vec![failed(ContextFull), failed(ContextFull)];
        let (end, asked, _) = run(twice, vec![compacted]).await;
        assert_eq!((end.outcome, end.failure), (Outcome::Failed, ContextFull));
        assert_eq!(asked, "turn compact turn");
    }

    #[tokio::test]
    async fn a_compaction_that_may_pass_is_the_outcome() {
        let full = || failed(FailureClass::ContextFull);
        let limited = end(Outcome::RateLimited, FailureClass::Unspecified);
        let (end, _, _) = run(vec![full()], vec![limited]).await;
        assert_eq!(end.outcome, Outcome::RateLimited);
        let (end, _, _) = run(vec![full()], vec![failed(FailureClass::Refused)]).await;
        assert_eq!(end.failure, FailureClass::ContextFull);
        assert_eq!(end.detail, "x; compaction failed: x");
    }

    #[tokio::test]
    async fn a_bad_session_is_begun_anew_once() {
        use FailureClass::BadSession;
        let (end, asked, _) = run(vec![failed(BadSession), ok()], vec![]).await;
        assert_eq!(end.outcome, Outcome::Ok);
        assert_eq!(asked, "turn new_session turn");
        let (end, _, _) = run(vec![failed(BadSession), failed(BadSession)], vec![]).await;
        assert_eq!(end.failure, BadSession);
    }

    #[tokio::test]
    async fn other_failures_are_not_tried_again() {
        let (end, asked, _) = run(vec![failed(FailureClass::Overloaded)], vec![]).await;
        assert_eq!(
            (end.failure, asked.as_str()),
            (FailureClass::Overloaded, "turn")
        );
    }
}
