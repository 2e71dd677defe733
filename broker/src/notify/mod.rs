//! Off-screen notification: what waits for the operator goes out by a command or a signed webhook.
//!
//! Nothing is told from memory. Each channel reads the events after its own cursor; what they open
//! becomes rows of the outbox in the transaction that moves the cursor, so that no event is missed and
//! none is told twice, whatever is killed when. A try is written down before it begins and settled
//! after it ended: towards the outside each notification goes out at least once, always with the same
//! id and the same body.
//!
//! - [`service`]: what the edges may ask
//! - [`adopt`]: taking over what an earlier hived has left; [`serve`]: the channels' loops
//! - [`attempt`]: one step of a channel; [`queue`]: a try on the books; [`sender`]: its way out
//! - [`fill`]: from events to what is to be told
//! - [`notice`]: what a notification says; [`shapes`]: how each receiver wants to have it
//! - [`command`], [`webhook`]: the two ways out; [`signature`], [`secret`]: what a webhook signs with
//! - [`settings`]: what hive.toml says of a channel

mod adopt;
mod attempt;
mod command;
mod error;
mod fill;
mod notice;
mod queue;
mod secret;
mod sender;
mod serve;
mod service;
mod settings;
mod shapes;
mod signature;
mod webhook;

pub use attempt::Step;
pub use error::NotifyError;
pub use notice::words;
pub use sender::Tried;
pub use service::Notify;
pub use settings::{Address, Channel, Format, Program, Source, Url, Way, Webhook, address};

pub use crate::store::outbox::{Listing, OutboxRow};
