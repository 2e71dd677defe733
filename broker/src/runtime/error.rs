//! Why a runtime did not do what it was asked.

/// Why a runtime did not do it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuntimeError {
    /// It cannot be asked; what runs is unknown.
    #[error("the {runtime} runtime does not answer: {why}")]
    Unavailable { runtime: &'static str, why: String },
    #[error("no image {0}")]
    NoImage(String),
    /// The request breaks a rule of isolation; nothing was made.
    #[error("refused: {0}")]
    Refused(String),
    /// Something that is not this agent's bears the name; it is left alone.
    #[error("{0} is there already and is not this agent's")]
    NameTaken(String),
    #[error("{0} does not exist")]
    NotFound(String),
    #[error("{0}")]
    Failed(String),
}
