//! The restart plan: how long to wait before an agent that died is started again, and when to give up.

use hive_proto::ids::UnixMs;

/// What an agent may use up before it is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Restarts within the window; the next death is final.
    pub most: usize,
    pub window_ms: i64,
    /// Wait before the first restart of a window; doubled for each further one.
    pub first_ms: i64,
}

/// What follows from a death.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Start again at `at`; `counted` are the restarts that then count, with this one.
    Restart { at: UnixMs, counted: Vec<UnixMs> },
    /// The window is used up: only a person starts it again.
    GiveUp { restarts: usize },
}

// === impl Rule ===

impl Default for Rule {
    /// Five restarts in ten minutes, after 0.5, 1, 2, 4 and 8 s.
    fn default() -> Self {
        Self {
            most: 5,
            window_ms: 600_000,
            first_ms: 500,
        }
    }
}

impl Rule {
    /// What follows from a death at `died_at`, given the times of earlier restarts.
    ///
    /// Times in the future (the host's clock was set back) count as just now, so a wrong clock can
    /// make the plan stricter, never endless.
    #[must_use]
    pub fn after_death(&self, restarts: &[UnixMs], died_at: UnixMs) -> Plan {
        let begin = died_at.plus_ms(self.window_ms.saturating_neg());
        let mut counted: Vec<UnixMs> = restarts
            .iter()
            .copied()
            .filter(|at| *at > begin)
            .map(|at| at.min(died_at))
            .collect();
        if counted.len() >= self.most {
            return Plan::GiveUp {
                restarts: counted.len(),
            };
        }
        let doublings = u32::try_from(counted.len()).unwrap_or(16).min(16);
        let at = died_at.plus_ms(self.first_ms.saturating_mul(1 << doublings));
        counted.push(at);
        Plan::Restart { at, counted }
    }
}

#[cfg(test)]
mod tests {
    use hive_proto::ids::UnixMs;

    use super::{Plan, Rule};

    const NOW: UnixMs = UnixMs(1_000_000_000);

    fn ago(ms: i64) -> UnixMs {
        NOW.plus_ms(-ms)
    }

    #[test]
    fn waits_double_and_the_sixth_death_is_final() {
        let rule = Rule::default();
        let mut restarts = Vec::new();
        let mut waits = Vec::new();
        loop {
            match rule.after_death(&restarts, NOW) {
                Plan::Restart { at, counted } => {
                    waits.push(at.0 - NOW.0);
                    restarts = counted;
                }
                Plan::GiveUp { restarts } => {
                    assert_eq!(restarts, 5);
                    break;
                }
            }
        }
        assert_eq!(waits, [500, 1_000, 2_000, 4_000, 8_000]);
    }

    #[test]
    fn restarts_outside_the_window_are_forgotten() {
        let old: Vec<UnixMs> = (0..9).map(|n| ago(600_000 + n)).collect();
        let plan = Rule::default().after_death(&old, NOW);
        let at = NOW.plus_ms(500);
        assert_eq!(
            plan,
            Plan::Restart {
                at,
                counted: vec![at]
            }
        );
    }

    #[test]
    fn a_clock_set_back_never_makes_restarts_endless() {
        let future = vec![NOW.plus_ms(9_000_000); 5];
        let plan = Rule::default().after_death(&future, NOW);
        assert_eq!(plan, Plan::GiveUp { restarts: 5 });
    }
}
