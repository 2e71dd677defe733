//! Which requests about an agent are taken: a pure gate before anything is recorded or done.
//!
//! ```text
//!             start            stop             remove
//! running  ──────────▶ running ────▶ stopped ──────────▶ removed
//!    │ ▲ restart                        │ start
//!    └─┘                                └──────▶ running
//! running ── gives up (driver) ──▶ failed ── start, restart ──▶ running
//! ```

/// Where an agent stands as recorded, not as it is seen at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Running,
    Paused,
    Stopped,
    /// The restart plan gave up.
    Failed,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    Start,
    Stop,
    /// Stop at once: also for one that is stopping already.
    StopNow,
    Restart,
    Pause,
    Resume,
    Remove,
}

/// The gate's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Accept,
    /// What is asked for is recorded already: success without a change.
    AlreadySo,
    Deny(Why),
}

/// Why a request is denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    #[error("it is stopped")]
    Stopped,
    #[error("it has failed")]
    Failed,
}

/// The whole table.
#[must_use]
pub fn admit(standing: Standing, request: Request) -> Verdict {
    use Standing as S;
    match (request, standing) {
        (Request::Start, S::Running | S::Paused) => Verdict::AlreadySo,
        (Request::Start, S::Stopped | S::Failed) => Verdict::Accept,
        // A failed agent is stopped, too, so that it does not wait for attention any longer.
        (Request::Stop, S::Running | S::Paused | S::Failed) => Verdict::Accept,
        (Request::Stop, S::Stopped) => Verdict::AlreadySo,
        (Request::StopNow, _) => Verdict::Accept,
        (Request::Restart, S::Running | S::Paused | S::Failed) => Verdict::Accept,
        (Request::Restart, S::Stopped) => Verdict::Deny(Why::Stopped),
        (Request::Pause, S::Running) => Verdict::Accept,
        (Request::Pause, S::Paused) => Verdict::AlreadySo,
        (Request::Pause, S::Stopped) => Verdict::Deny(Why::Stopped),
        (Request::Pause, S::Failed) => Verdict::Deny(Why::Failed),
        (Request::Resume, S::Paused) => Verdict::Accept,
        (Request::Resume, S::Running) => Verdict::AlreadySo,
        (Request::Resume, S::Stopped) => Verdict::Deny(Why::Stopped),
        (Request::Resume, S::Failed) => Verdict::Deny(Why::Failed),
        (Request::Remove, _) => Verdict::Accept,
    }
}

#[cfg(test)]
mod tests {
    use super::{Request, Standing, Verdict, Why, admit};

    #[test]
    fn asking_twice_is_success_and_changes_nothing() {
        for (first, then) in [
            (Request::Start, Standing::Running),
            (Request::Stop, Standing::Stopped),
            (Request::Pause, Standing::Paused),
            (Request::Resume, Standing::Running),
        ] {
            assert_eq!(admit(then, first), Verdict::AlreadySo, "{first:?}");
        }
    }

    #[test]
    fn a_failed_agent_can_be_started_restarted_stopped_and_removed() {
        for request in [
            Request::Start,
            Request::Restart,
            Request::Stop,
            Request::StopNow,
            Request::Remove,
        ] {
            assert_eq!(
                admit(Standing::Failed, request),
                Verdict::Accept,
                "{request:?}"
            );
        }
    }

    #[test]
    fn what_does_not_run_is_neither_paused_nor_restarted() {
        for request in [Request::Pause, Request::Resume, Request::Restart] {
            let verdict = admit(Standing::Stopped, request);
            assert_eq!(verdict, Verdict::Deny(Why::Stopped), "{request:?}");
        }
    }

    #[test]
    fn stop_now_hurries_a_stop_that_was_asked_for_before() {
        assert_eq!(admit(Standing::Stopped, Request::StopNow), Verdict::Accept);
    }
}
