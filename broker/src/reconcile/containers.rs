//! Compares what the runtime holds with the agents there are, and keeps the shown states true.
//!
//! It only looks: what is to be done about what it sees is the drivers' work. What bears this hive's
//! label and belongs to no agent any more is ended here.

use std::time::Duration;

use super::{ReconcileError, Reconciler, Report};
use crate::agents::Agents;

/// Short, so that `hive agent ls` tells the truth within two seconds even of a runtime that says
/// nothing: this period and one look's limit together.
const PERIOD: Duration = Duration::from_millis(700);

/// The look at the runtime.
#[derive(Clone, Debug)]
pub struct Containers(Agents);

// === impl Containers ===

impl Containers {
    #[must_use]
    pub fn new(agents: Agents) -> Self {
        Self(agents)
    }
}

#[async_trait::async_trait]
impl Reconciler for Containers {
    fn name(&self) -> &'static str {
        crate::agents::CONTAINERS
    }

    fn period(&self) -> Duration {
        PERIOD
    }

    async fn run(&self) -> Result<Report, ReconcileError> {
        let looked = self.0.look().await?;
        let agents = self.0.note_states().await?;
        let seen = looked.map_err(|error| ReconcileError::Outside(error.to_string()))?;
        Ok(Report::default()
            .count("agents", agents)
            .count("running", seen.running)
            .count("at rest", seen.resting)
            .count("orphans", seen.orphans))
    }
}
