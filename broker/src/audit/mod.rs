//! Refusals that somebody may have to look into, written down as events.

mod throttle;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hive_proto::ids::AgentId;
use hive_proto::v1::Reason;
use hive_proto::{Refusal, reason};
use serde_json::{Value, json};
use tracing::warn;

use self::throttle::Throttle;
use crate::clock::Clock;
use crate::model::event::Kind;
use crate::shutdown::Tasks;
use crate::store::Store;
use crate::store::events::{self, About};

/// One row in this time: whoever is refused cannot fill the disk with it.
const PAUSE: Duration = Duration::from_secs(1);

/// Writes audit events; cheap to clone.
#[derive(Clone, Debug)]
pub struct Audit {
    store: Store,
    clock: Clock,
    tasks: Tasks,
    last: Arc<Mutex<Option<Duration>>>,
    calls: Arc<Mutex<Throttle<Caller, Refused>>>,
}

/// Whose call was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Caller {
    Agent(AgentId),
    /// Admitted to the operator socket.
    Operator,
}

/// What tells one refusal of a caller from another: method, reason, sentence.
type Refused = (String, &'static str, String);

/// Characters of a refusal's sentence that are kept.
const WHY_CHARS: usize = 200;

// === impl Audit ===

impl Audit {
    #[must_use]
    pub fn new(store: Store, clock: Clock, tasks: Tasks) -> Self {
        Self {
            store,
            clock,
            tasks,
            last: Arc::default(),
            calls: Arc::default(),
        }
    }

    /// Somebody who is no operator called on the operator socket.
    pub fn operator_refused(&self, uid: Option<u32>, pid: Option<i32>) {
        if !self.due() {
            return;
        }
        warn!(
            peer.uid = uid,
            peer.pid = pid,
            "refused on the operator socket"
        );
        let data = json!({"uid": uid, "pid": pid});
        self.write(Kind::OperatorRefused, About::default(), data);
    }

    /// A call, or a part of one, was refused: written down if it was for lack of a right.
    pub fn call_refused(&self, caller: Caller, method: &str, refusal: &Refusal) {
        if !is_denial(refusal.reason) {
            return;
        }
        let word = reason::word(refusal.reason);
        let why: String = refusal.message.chars().take(WHY_CHARS).collect();
        let what = (method.to_owned(), word, why.clone());
        let now = self.clock.monotonic();
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let due = calls.take(caller, what, now);
        drop(calls);
        let Some(left_out) = due else { return };
        let (by, about) = match caller {
            Caller::Agent(id) => ("agent", About::agent(id)),
            Caller::Operator => ("operator", About::default()),
        };
        warn!(caller = ?caller, method, reason = word, "a call was refused");
        let data = json!({"by": by, "method": method, "reason": word, "why": why,
            "left_out": left_out});
        self.write(Kind::CallRefused, about, data);
    }

    fn write(&self, kind: Kind, about: About, data: Value) {
        let store = self.store.clone();
        self.tasks.spawn("audit", async move {
            let written = store
                .write(move |tx| events::append(tx, kind, about, &data))
                .await;
            if let Err(error) = written {
                warn!(%error, "a refusal could not be recorded");
            }
        });
    }

    fn due(&self) -> bool {
        let now = self.clock.monotonic();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let due = last.is_none_or(|last| now.saturating_sub(last) >= PAUSE);
        if due {
            *last = Some(now);
        }
        due
    }
}

fn is_denial(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::NotPermitted | Reason::WrongRole | Reason::NotInSubtree
    )
}
