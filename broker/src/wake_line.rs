//! `mcp.sock`: wakes the agent by one line of JSON, for scripts that speak no gRPC.
//!
//! ```text
//! → {"cmd":"wake","from":"cron","body":"tick","key":"2026-12-01"}
//! ← {"ok":true,"id":7}
//! ← {"ok":false,"reason":"reserved_name","error":"…","hint":"…"}
//! ```
//!
//! A connection may carry many lines. A line that is too long or too slow, or is not JSON, is
//! answered and ends the connection, because what comes behind it cannot be trusted to be a line.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hive_proto::Refusal;
use hive_proto::ids::AgentId;
use hive_proto::limits::BODY_BYTES;
use hive_proto::reason;
use hive_proto::v1::Reason;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::inbox::{Inbox, Novelty, Outgoing};
use crate::refusals::Refuse as _;

/// A body of the longest size, every byte of it written as `\u00xx`, and the rest of the line.
const LINE_BYTES: u64 = 6 * BODY_BYTES as u64 + 4096;
/// For one line, and for the pause before it.
const LINE_TIME: Duration = Duration::from_secs(30);
/// Connections of one socket; more wait in its backlog.
const CONNECTIONS: usize = 32;
/// After a failed accept: without descriptors or memory the next one fails too.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug, Deserialize)]
#[serde(tag = "cmd", rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    Wake {
        from: String,
        body: String,
        #[serde(default)]
        key: Option<String>,
    },
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Answer {
    Done {
        ok: bool,
        id: i64,
        duplicate: bool,
    },
    Refused {
        ok: bool,
        reason: &'static str,
        error: String,
        hint: String,
    },
}

/// Whether another line may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Line,
    End,
}

/// Serves one agent's socket until `until`; running lines are finished.
pub async fn serve(inbox: Inbox, agent: AgentId, listener: UnixListener, until: CancellationToken) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = until.cancelled() => break,
            Some(_) = connections.join_next() => continue,
            accepted = accept(&listener, &slots) => accepted,
        };
        match accepted {
            Ok((stream, slot)) => {
                let (inbox, until) = (inbox.clone(), until.clone());
                connections.spawn(async move {
                    if let Err(error) = converse(&inbox, agent, stream, &until).await {
                        debug!(agent.id = %agent, %error, "a wake connection broke");
                    }
                    drop(slot);
                });
            }
            Err(error) => {
                warn!(agent.id = %agent, %error, "a wake socket cannot accept");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    while connections.join_next().await.is_some() {}
}

async fn accept(
    listener: &UnixListener,
    slots: &Arc<Semaphore>,
) -> io::Result<(UnixStream, Option<tokio::sync::OwnedSemaphorePermit>)> {
    // The semaphore is never closed, so a slot always comes.
    let slot = Arc::clone(slots).acquire_owned().await.ok();
    let (stream, _) = listener.accept().await?;
    Ok((stream, slot))
}

async fn converse(
    inbox: &Inbox,
    agent: AgentId,
    mut stream: UnixStream,
    until: &CancellationToken,
) -> io::Result<()> {
    let (read, mut write) = stream.split();
    let mut read = BufReader::new(read);
    loop {
        let mut line = Vec::new();
        let mut bounded = (&mut read).take(LINE_BYTES);
        let came = tokio::select! {
            came = tokio::time::timeout(LINE_TIME, bounded.read_until(b'\n', &mut line)) => came,
            () = until.cancelled() => return Ok(()),
        };
        let (answer, next) = match came {
            Ok(Err(error)) => return Err(error),
            Ok(Ok(0)) => return Ok(()),
            Ok(Ok(_)) if line.ends_with(b"\n") || (line.len() as u64) < LINE_BYTES => {
                answer(inbox, agent, &line).await
            }
            Ok(Ok(_)) => refused(Refusal::new(Reason::BodyTooLarge, "the line is too long")),
            // Nothing was begun: the client is idle, and is let go without a word.
            Err(_) if line.is_empty() => return Ok(()),
            Err(_) => refused(Refusal::new(
                Reason::Timeout,
                "the line did not end in time",
            )),
        };
        let mut text = serde_json::to_vec(&answer)?;
        text.push(b'\n');
        // A client that does not read its answers must not hold a slot.
        tokio::time::timeout(LINE_TIME, write.write_all(&text)).await??;
        match next {
            Next::Line => {}
            Next::End => return Ok(()),
        }
    }
}

async fn answer(inbox: &Inbox, agent: AgentId, line: &[u8]) -> (Answer, Next) {
    let Line::Wake { from, body, key } = match serde_json::from_slice(line) {
        Ok(line) => line,
        Err(error) => {
            let refusal =
                Refusal::new(Reason::InvalidArgument, format!("not a wake line: {error}"));
            let hint = r#"write {"cmd":"wake","from":"NAME","body":"TEXT"}"#;
            return refused(refusal.with_hint(hint));
        }
    };
    let message = Outgoing {
        body,
        in_reply_to: None,
        key: key.filter(|key| !key.is_empty()),
    };
    match inbox.wake(agent, &from, message).await {
        Ok(sent) => {
            let answer = Answer::Done {
                ok: true,
                id: sent.id.0,
                duplicate: sent.novelty == Novelty::Duplicate,
            };
            (answer, Next::Line)
        }
        Err(error) => (refused(error.refusal()).0, Next::Line),
    }
}

fn refused(refusal: Refusal) -> (Answer, Next) {
    let answer = Answer::Refused {
        ok: false,
        reason: reason::word(refusal.reason),
        error: refusal.message,
        hint: refusal.hint,
    };
    (answer, Next::End)
}
