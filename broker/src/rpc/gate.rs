//! Before any call: is the socket still this agent's and is it too fast, is this peer an operator.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hive_proto::Refusal;
use hive_proto::v1::Reason;
use tokio_util::sync::CancellationToken;
use tonic::transport::server::UdsConnectInfo;

use crate::audit::Audit;
use crate::clock::Clock;
use crate::hive::Hive;

/// The gate of one agent's socket.
#[derive(Clone, Debug)]
pub(super) struct AgentGate {
    clock: Clock,
    bucket: Arc<Mutex<Bucket>>,
    /// Cancelled when the agent is removed.
    closed: CancellationToken,
    stopping: CancellationToken,
}

/// The gate of the operator socket.
#[derive(Clone, Debug)]
pub(super) struct OperatorGate {
    operators: Arc<Operators>,
    audit: Audit,
    stopping: CancellationToken,
}

/// Who may use the operator socket beside root.
#[derive(Clone, Debug)]
pub(super) struct Operators {
    /// The user that hived runs as.
    own: u32,
    listed: Vec<u32>,
}

/// So many calls a second, and as many at once.
#[derive(Debug)]
struct Bucket {
    per_sec: f64,
    tokens: f64,
    filled_at: Duration,
}

// === impl AgentGate ===

impl AgentGate {
    pub(super) fn new(
        clock: Clock,
        per_sec: u32,
        closed: CancellationToken,
        stopping: CancellationToken,
    ) -> Self {
        let bucket = Bucket {
            per_sec: per_sec.into(),
            tokens: per_sec.into(),
            filled_at: clock.monotonic(),
        };
        Self {
            clock,
            bucket: Arc::new(Mutex::new(bucket)),
            closed,
            stopping,
        }
    }

    /// # Errors
    /// Why no call is taken now.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.closed.is_cancelled() {
            return Err(gone());
        }
        refuse_stopping(&self.stopping)?;
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        if bucket.take(self.clock.monotonic()) {
            return Ok(());
        }
        let most = bucket.per_sec;
        let why = format!("more than {most} calls a second on this agent's socket");
        Err(Refusal::new(Reason::RateLimited, why))
    }
}

/// The refusal of every call on the socket of an agent that is gone.
pub(super) fn gone() -> Refusal {
    Refusal::new(Reason::UnknownAgent, "the agent of this socket was removed")
}

// === impl OperatorGate ===

impl OperatorGate {
    pub(super) fn new(operators: Operators, audit: Audit, stopping: CancellationToken) -> Self {
        Self {
            operators: Arc::new(operators),
            audit,
            stopping,
        }
    }

    /// # Errors
    /// Why this peer's call is not taken.
    pub(super) fn check(&self, info: Option<&UdsConnectInfo>) -> Result<(), Refusal> {
        refuse_stopping(&self.stopping)?;
        if self.knows(info) {
            return Ok(());
        }
        let peer = info.and_then(|info| info.peer_cred);
        let uid = peer.map(|cred| cred.uid());
        self.audit
            .operator_refused(uid, peer.and_then(|cred| cred.pid()));
        let who = uid.map_or_else(
            || "a peer without a uid".to_owned(),
            |uid| format!("uid {uid}"),
        );
        let hint =
            "root, the user that hived runs as, and the uids under `operators` in hive.toml may";
        Err(Refusal::new(
            Reason::NotPermitted,
            format!("{who} may not use the operator socket"),
        )
        .with_hint(hint))
    }

    /// Whether the peer is an operator.
    pub(super) fn knows(&self, info: Option<&UdsConnectInfo>) -> bool {
        let peer = info.and_then(|info| info.peer_cred);
        peer.is_some_and(|cred| self.operators.admit(cred.uid()))
    }
}

// === impl Operators ===

impl Operators {
    pub(super) fn of(hive: &Hive) -> Self {
        Self {
            own: rustix::process::geteuid().as_raw(),
            listed: hive.config.operators.clone(),
        }
    }

    pub(super) fn admit(&self, uid: u32) -> bool {
        uid == 0 || uid == self.own || self.listed.contains(&uid)
    }
}

// === impl Bucket ===

impl Bucket {
    fn take(&mut self, now: Duration) -> bool {
        let passed = now.saturating_sub(self.filled_at).as_secs_f64();
        self.filled_at = now;
        self.tokens = (self.tokens + passed * self.per_sec).min(self.per_sec);
        let has = self.tokens >= 1.0;
        if has {
            self.tokens -= 1.0;
        }
        has
    }
}

fn refuse_stopping(stopping: &CancellationToken) -> Result<(), Refusal> {
    if stopping.is_cancelled() {
        return Err(Refusal::new(Reason::Unavailable, "hived is stopping"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Bucket, Operators};

    #[test]
    fn the_listed_the_own_and_root_are_operators() {
        let operators = Operators {
            own: 500,
            listed: vec![1000, 1001],
        };
        for uid in [0, 500, 1000, 1001] {
            assert!(operators.admit(uid), "{uid}");
        }
        for uid in [1, 499, 1002, 10_001, u32::MAX] {
            assert!(!operators.admit(uid), "{uid}");
        }
    }

    #[test]
    fn a_bucket_refills_with_time_and_no_further_than_full() {
        let mut bucket = Bucket {
            per_sec: 2.0,
            tokens: 2.0,
            filled_at: Duration::ZERO,
        };
        let mut taken = |ms| bucket.take(Duration::from_millis(ms));
        assert_eq!([taken(0), taken(0), taken(0)], [true, true, false]);
        assert_eq!([taken(500), taken(500)], [true, false]);
        assert_eq!(
            [taken(99_000), taken(99_000), taken(99_000)],
            [true, true, false]
        );
    }
}
