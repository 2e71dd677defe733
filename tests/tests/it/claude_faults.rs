//! The real claude: every way in which a model call goes wrong has its own outcome.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hive::engine::{Engine as _, EngineEvent};
use hive_proto::v1::{FailureClass, Outcome};
use hive_tests::claude::{ClaudeBench, seen};
use tokio_util::sync::CancellationToken;

/// One rule whose only step is `step`; a message that says `again` is answered well.
fn failing(step: &str) -> String {
    format!(
        "[[rule]]\nbody = \"again\"\nsteps = [ {{ say = \"Better.\" }} ]\n\
         [[rule]]\nsteps = [ {step}, {{ say = \"Got there.\" }} ]\n"
    )
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

/// Plays the step and checks how the turn ended, and that the next turn goes well.
async fn ends(step: &str, outcome: Outcome, failure: FailureClass) {
    let mut bench = ClaudeBench::start(&failing(step)).await;
    let end = bench.turn("do it").await;
    assert_eq!(
        (end.outcome, end.failure),
        (outcome, failure),
        "{step}: {end:?}"
    );
    assert_eq!(
        end.detail.is_empty(),
        outcome == Outcome::Ok,
        "{step}: {end:?}"
    );
    let again = bench.turn("again").await;
    assert_eq!(again.outcome, Outcome::Ok, "after {step}: {again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_key_needs_a_login() {
    ends(
        "{ status = 401 }",
        Outcome::AuthFailed,
        FailureClass::Unspecified,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forbidden_model_needs_a_login() {
    ends(
        "{ status = 403 }",
        Outcome::AuthFailed,
        FailureClass::Unspecified,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_account_is_an_exhausted_budget() {
    ends(
        "{ status = 402 }",
        Outcome::BudgetExhausted,
        FailureClass::Unspecified,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overloaded_provider_is_a_passing_failure() {
    ends(
        "{ status = 529 }",
        Outcome::Failed,
        FailureClass::Overloaded,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_provider_is_a_passing_failure() {
    ends(
        "{ status = 500 }",
        Outcome::Failed,
        FailureClass::Overloaded,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_overload_is_sat_out() {
    ends(
        "{ status = 529, times = 2 }",
        Outcome::Ok,
        FailureClass::Unspecified,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_not_understood_is_a_configuration_fault() {
    ends(
        "{ fail = \"config\" }",
        Outcome::Failed,
        FailureClass::Config,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_final() {
    ends(
        "{ fail = \"refused\" }",
        Outcome::Failed,
        FailureClass::Refused,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_connection_that_comes_back_is_nothing() {
    ends(
        "{ drop = true, times = 1 }",
        Outcome::Ok,
        FailureClass::Unspecified,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_never_answered_is_the_network() {
    ends(
        "{ fail = \"network\" }",
        Outcome::Failed,
        FailureClass::Network,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_too_long_once_goes_on() {
    ends(
        "{ max_tokens = true }",
        Outcome::Ok,
        FailureClass::Unspecified,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_at_the_gateway_is_the_network() {
    let mut bench = ClaudeBench::start(&failing("{ say = \"never\" }")).await;
    let good = bench.env.gateway_url.clone();
    bench.configure(|env| env.gateway_url = "http://127.0.0.1:9".to_owned());
    let end = bench.turn("do it").await;
    let got = (end.outcome, end.failure);
    assert_eq!(got, (Outcome::Failed, FailureClass::Network), "{end:?}");
    bench.configure(|env| env.gateway_url = good);
    assert_eq!(bench.turn("again").await.outcome, Outcome::Ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_limit_parks_until_the_time_that_was_told() {
    let mut bench = ClaudeBench::start(&failing("{ status = 429, retry_after = \"30s\" }")).await;
    let (began, begun) = (now_ms(), std::time::Instant::now());
    let end = bench.turn("do it").await;
    assert_eq!(end.outcome, Outcome::RateLimited, "{end:?}");
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "the turn sat the limit out"
    );
    let wait = end.until_ms.expect("the time was told") - began;
    assert!((30_000..45_000).contains(&wait), "{wait} ms");
    assert_eq!(bench.turn("again").await.outcome, Outcome::Ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_limit_of_an_hour_is_told_too() {
    let mut bench = ClaudeBench::start(&failing("{ status = 429, retry_after = \"60m\" }")).await;
    let began = now_ms();
    let end = bench.turn("do it").await;
    assert_eq!(end.outcome, Outcome::RateLimited, "{end:?}");
    let wait = end.until_ms.expect("the time was told") - began;
    assert!((3_600_000..3_660_000).contains(&wait), "{wait} ms");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_limit_without_a_time_says_none() {
    let mut bench = ClaudeBench::start(&failing("{ status = 429 }")).await;
    let end = bench.turn("do it").await;
    assert_eq!(
        (end.outcome, end.until_ms),
        (Outcome::RateLimited, None),
        "{end:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_rate_limit_is_sat_out() {
    let step = "{ status = 429, retry_after = \"1s\", times = 1 }";
    ends(step, Outcome::Ok, FailureClass::Unspecified).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_answer_ends_by_the_silence_clock() {
    let mut bench = ClaudeBench::start(&failing("{ stall = \"60s\" }")).await;
    bench.configure(|env| env.config.turn_silence_secs = 3);
    let end = bench.turn("do it").await;
    assert_eq!(
        (end.outcome, end.failure),
        (Outcome::Failed, FailureClass::Timeout),
        "{end:?}"
    );
    assert_eq!(bench.engine.kept(), None, "a silent process is not kept");
    assert_eq!(bench.turn("again").await.outcome, Outcome::Ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_takes_too_long_ends_by_the_wall_clock() {
    let mut bench = ClaudeBench::start(&failing(
        "{ shell = \"sleep 0.5; while :; do sleep 0.5; done\" }",
    ))
    .await;
    bench.configure(|env| env.config.turn_wall_secs = 4);
    let end = bench.turn("do it").await;
    assert_eq!(
        (end.outcome, end.failure),
        (Outcome::Failed, FailureClass::Timeout),
        "{end:?}"
    );
    assert_eq!(bench.turn("again").await.outcome, Outcome::Ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_turn_leaves_the_process_ready_for_the_next() {
    let mut bench =
        ClaudeBench::start(&failing("{ say = \"Thinking.\" }, { stall = \"60s\" }")).await;
    let cancel = CancellationToken::new();
    let events = bench.events();
    let trigger = {
        let cancel = cancel.clone();
        async move {
            let started = |event: &EngineEvent| matches!(event, EngineEvent::SessionStarted { .. });
            seen(&events, "the turn has begun", started).await;
            cancel.cancel();
        }
    };
    let (end, ()) = tokio::join!(bench.turn_until("do it", cancel), trigger);
    assert_eq!(end.outcome, Outcome::Interrupted, "{end:?}");
    let pid = bench.engine.kept();
    assert!(pid.is_some(), "the process is kept");
    assert_eq!(bench.turn("again").await.outcome, Outcome::Ok);
    assert_eq!(bench.engine.kept(), pid);
}
