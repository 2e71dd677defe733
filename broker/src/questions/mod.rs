//! Questions: asked by an agent, answered by the operator or a peer, decided once.
//!
//! - [`ask`]: asking, with the caps
//! - [`decide`]: answering, cancelling, expiring: whoever is first
//! - [`wait`]: waiting for the answer inside a turn
//! - [`look`]: looking at them
//!
//! **How an answer reaches its asker.** Whatever decides a question queues a message with it in the
//! same transaction, so a crash leaves both or neither. That message is the only carrier: either the
//! next `Recv` takes it like any other, or a turn that waits for this very question takes it out of
//! its order, by leasing it under itself in the transaction that finds the decision. It is then one of
//! the turn's messages: acked when the turn ends well, back in the queue when the turn is lost, handed
//! out again when the reply that carried it was lost. So one row is acked once, and no answer is shown
//! twice unless the turn that was shown it did not end.
//!
//! An agent that withdraws its own question is told nothing: its call has the result.

mod ask;
mod decide;
mod error;
mod look;
mod wait;

pub use crate::store::questions::{Choice, QuestionRow};
pub use ask::{Asked, Asking, Limits, Questions};
pub use decide::{Decider, asker_or_target_is_gone, cancel_for};
pub use error::QuestionError;
pub use look::Listing;
pub use wait::{WaitArgs, Waited};
