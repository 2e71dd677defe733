//! `OperatorService` on the operator socket, one file a noun.
//!
//! - [`service`]: who may call, and every method as one line
//! - [`agents`], [`approvals`], [`messages`], [`schedules`], [`streams`], [`topology`]: what the methods
//!   of a noun do

mod agents;
mod approvals;
mod ask;
mod messages;
mod notify;
mod schedules;
mod service;
mod streams;
mod topology;

use futures::stream::BoxStream;
use tonic::{Response, Status};

pub use service::OperatorRpc;

type Reply<T> = Result<Response<T>, Status>;
type Stream<T> = BoxStream<'static, Result<T, Status>>;
