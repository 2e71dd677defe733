//! How long a park lasts, and waiting for its end.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hive_proto::v1::EngineConfig;

use super::login::DirSnapshot;
use super::state::{Park, ParkKind, park_kind};
use crate::engine::TurnEnd;

/// A park without a time, unless the configuration says otherwise.
const DEFAULT_PARK: Duration = Duration::from_secs(300);
/// A login is tried again so often even if no file changed: a key that the broker adds may have been
/// put right without leaving a trace in the container.
const LOGIN_RETRY: Duration = Duration::from_secs(60);
/// Between two looks at the login directory while parked for it.
const LOGIN_LOOK: Duration = Duration::from_secs(1);

/// The park that the end of a turn asks for.
#[must_use]
pub(super) fn of(end: &TurnEnd, config: &EngineConfig, now_ms: i64) -> Option<Park> {
    let kind = park_kind(end.outcome)?;
    let secs = u64::from(config.rate_limit_park_secs);
    let default = if secs == 0 {
        DEFAULT_PARK
    } else {
        Duration::from_secs(secs)
    };
    let until_ms = match kind {
        ParkKind::NeedsLogin => after(now_ms, LOGIN_RETRY),
        ParkKind::RateLimited | ParkKind::BudgetExhausted => {
            // A time in the past would make a tight loop out of a wrong clock.
            end.until_ms
                .filter(|until| *until > now_ms)
                .unwrap_or_else(|| after(now_ms, default))
        }
    };
    Some(Park {
        kind,
        until_ms,
        why: end.detail.clone(),
    })
}

/// Ends when the park does; never without one. Waiting in short steps follows a clock that was set,
/// and a machine that slept.
pub(super) async fn over(park: Option<&Park>, login_dir: &Path) {
    let Some(park) = park else {
        return std::future::pending().await;
    };
    let before = DirSnapshot::take(login_dir);
    loop {
        let left = park.until_ms.saturating_sub(now_ms());
        let Ok(left) = u64::try_from(left) else {
            return;
        };
        if left == 0 {
            return;
        }
        let (left, step) = (Duration::from_millis(left), step(park.kind));
        tokio::time::sleep(left.min(step)).await;
        if park.kind == ParkKind::NeedsLogin && DirSnapshot::take(login_dir).differs(&before) {
            return;
        }
    }
}

fn step(kind: ParkKind) -> Duration {
    match kind {
        ParkKind::NeedsLogin => LOGIN_LOOK,
        ParkKind::RateLimited | ParkKind::BudgetExhausted => Duration::from_secs(15),
    }
}

/// Unix milliseconds by the wall clock.
pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

fn after(now_ms: i64, wait: Duration) -> i64 {
    now_ms.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use hive_proto::v1::{EngineConfig, FailureClass, Outcome, Usage};

    use super::{of, over};
    use crate::engine::TurnEnd;
    use crate::turn::state::{Park, ParkKind};

    fn end(outcome: Outcome, until_ms: Option<i64>) -> TurnEnd {
        TurnEnd {
            outcome,
            failure: FailureClass::Unspecified,
            detail: "why".to_owned(),
            until_ms,
            usage: Usage::default(),
            model: String::new(),
        }
    }

    #[test]
    fn a_park_has_the_time_given_or_the_default() {
        let config = EngineConfig::default();
        let until = |outcome, given, config: &EngineConfig| {
            of(&end(outcome, given), config, 1_000).map(|park| park.until_ms)
        };
        assert_eq!(until(Outcome::Ok, Some(9_000), &config), None);
        assert_eq!(
            until(Outcome::RateLimited, Some(9_000), &config),
            Some(9_000)
        );
        assert_eq!(
            until(Outcome::RateLimited, Some(999), &config),
            Some(301_000)
        );
        assert_eq!(until(Outcome::RateLimited, None, &config), Some(301_000));
        assert_eq!(
            until(Outcome::AuthFailed, Some(9_000), &config),
            Some(61_000)
        );
        let short = EngineConfig {
            rate_limit_park_secs: 2,
            ..config
        };
        assert_eq!(until(Outcome::BudgetExhausted, None, &short), Some(3_000));
    }

    #[tokio::test]
    async fn a_park_in_the_past_is_over() {
        let park = Park {
            kind: ParkKind::RateLimited,
            until_ms: 5,
            why: String::new(),
        };
        over(Some(&park), std::path::Path::new("/nonexistent")).await;
    }

    #[tokio::test]
    async fn a_change_of_the_login_ends_a_park() {
        let dir = tempfile::tempdir().unwrap();
        let park = Park {
            kind: ParkKind::NeedsLogin,
            until_ms: i64::MAX,
            why: String::new(),
        };
        let file = dir.path().join("credentials");
        let change = async {
            // Once the park has been polled it has taken its snapshot.
            tokio::task::yield_now().await;
            std::fs::write(file, "new").unwrap();
        };
        tokio::join!(over(Some(&park), dir.path()), change);
    }
}
