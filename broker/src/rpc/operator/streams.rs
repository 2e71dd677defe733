//! What flows until somebody has enough: events, logs, a backup. The reader sets the pace; nothing
//! piles up for a slow one.

use std::future::Future;

use futures::StreamExt as _;
use hive_proto::ids::EventSeq;
use hive_proto::v1::{self, BackupChunk, LogLine};
use tokio_util::io::ReaderStream;
use tonic::Response;

use super::{Reply, Stream};
use crate::events::Since;
use crate::hive::Hive;
use crate::rpc::status::status;
use crate::runtime::LogOptions;

/// Lines of a log when none are asked for, and at the most.
const DEFAULT_TAIL: u32 = 50;
const MOST_TAIL: u32 = 100_000;
/// Bytes of one piece of a backup.
const PIECE: usize = 256 * 1024;

pub(super) async fn watch(hive: &Hive, request: v1::WatchRequest) -> Reply<Stream<v1::Event>> {
    let since = match request.since_seq {
        Some(seq) => Since::After(EventSeq(seq)),
        None => Since::Now,
    };
    let events = hive.events.watch(since, request.agent).await;
    let events = events.map_err(status)?;
    let shown = events.map(|event| event.map(Into::into).map_err(status));
    Ok(Response::new(shown.boxed()))
}

pub(super) async fn backup(hive: &Hive) -> Reply<Stream<BackupChunk>> {
    let file = hive.backup.make().await.map_err(status)?;
    let pieces = ReaderStream::with_capacity(file, PIECE).map(|piece| match piece {
        Ok(data) => Ok(BackupChunk {
            data: data.to_vec(),
        }),
        Err(error) => Err(status(crate::backup::BackupError::Read(error))),
    });
    Ok(Response::new(pieces.boxed()))
}

pub(super) async fn logs(hive: &Hive, request: v1::LogsRequest) -> Reply<Stream<LogLine>> {
    let tail = match request.tail {
        0 => DEFAULT_TAIL,
        some => some.min(MOST_TAIL),
    };
    let options = LogOptions {
        tail,
        follow: request.follow,
    };
    let lines = hive.agents.logs(&request.name, options).await;
    let lines = lines.map_err(status)?.take_until(stopping(hive));
    let shown = lines.map(|line| line.map(|text| LogLine { text }).map_err(status));
    Ok(Response::new(shown.boxed()))
}

/// A stream ends with the daemon, not with its grace.
fn stopping(hive: &Hive) -> impl Future<Output = ()> + Send + 'static {
    hive.tasks.stopping().cancelled_owned()
}
