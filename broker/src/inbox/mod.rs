//! The inbox: what is sent is on disk before the reply, what is received is leased under a turn.

mod deliver;
mod error;
mod life;
mod recv;
mod send;
mod wait;

pub(crate) use deliver::post_scheduled;
pub use error::InboxError;
pub use life::{Life, Mailbox, Waiting, WaitingKind};
pub use recv::{Received, RecvArgs, Take};
pub use send::{Delivered, Inbox, Limits, Novelty, Outgoing, Sent};

pub use crate::store::Recipient;
pub use crate::store::messages::Listing;
pub use crate::topology::Sender;
