//! What a reconciler is.

use std::time::Duration;

use super::bell::Bell;
use super::report::Report;
use crate::store::StoreError;

/// One reconciler.
#[async_trait::async_trait]
pub trait Reconciler: Send + Sync + std::fmt::Debug {
    /// Unique, one word.
    fn name(&self) -> &'static str;

    /// Between the end of one run and the beginning of the next, unless nudged. Asked after each run,
    /// so that one that waits for a time can name it.
    fn period(&self) -> Duration;

    /// What a service rings to have it run soon; none by default.
    fn bell(&self) -> Option<Bell> {
        None
    }

    /// Compares what is with what should be and repairs it. Safe to repeat and to cut off.
    async fn run(&self) -> Result<Report, ReconcileError>;
}

/// Why a run could not be finished; the next one tries again.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReconcileError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Something outside hive does not do its part.
    #[error("{0}")]
    Outside(String),
}
