//! A response's body on its way to the agent: bytes untouched, counted as they pass, reported once
//! at the end, however it ends.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hive_proto::ids::{AgentId, UnixMs};
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use super::body::{Body, BoxError};
use super::meter::{Meter, Tokens};

/// One model call, after it ended. Holds nothing of what was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCall {
    pub agent: AgentId,
    /// As the upstream names it; empty when it did not answer with a message.
    pub model: String,
    pub tokens: Tokens,
    /// HTTP status that the agent got.
    pub status: u16,
    pub ended: Ended,
    /// When the call began.
    pub at: UnixMs,
}

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All of it was passed on.
    Whole,
    /// The upstream broke it off.
    CutByUpstream,
    /// The agent went away.
    CutByAgent,
}

/// Receives every model call; must not block.
pub type UsageSink = Arc<dyn Fn(ModelCall) + Send + Sync>;

/// What is known of a call before its response's body.
pub(super) struct Call {
    pub(super) agent: AgentId,
    pub(super) status: u16,
    pub(super) at: UnixMs,
    pub(super) sink: UsageSink,
}

pub(super) struct Metered {
    inner: Body,
    /// Taken when it is reported.
    open: Option<(Call, Meter)>,
    /// An error of the upstream that was held back once.
    broken: Option<BoxError>,
}

// === impl Metered ===

impl Metered {
    pub(super) fn new(inner: Body, call: Call, meter: Meter) -> Self {
        Self {
            inner,
            open: Some((call, meter)),
            broken: None,
        }
    }

    fn report(&mut self, ended: Ended) {
        let Some((call, meter)) = self.open.take() else {
            return;
        };
        let (model, tokens) = meter.finish();
        (call.sink)(ModelCall {
            agent: call.agent,
            model,
            tokens,
            status: call.status,
            ended,
            at: call.at,
        });
    }
}

impl HttpBody for Metered {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(error) = self.broken.take() {
            return Poll::Ready(Some(Err(error)));
        }
        match Pin::new(&mut self.inner).poll_frame(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(None) => {
                self.report(Ended::Whole);
                Poll::Ready(None)
            }
            Poll::Ready(Some(Err(error))) => {
                self.report(Ended::CutByUpstream);
                // The server sends what it holds when nothing more is ready, and throws it away at
                // an error: the agent gets everything that came before.
                self.broken = Some(error);
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Ready(Some(Ok(frame))) => {
                if let (Some(data), Some((_, meter))) = (frame.data_ref(), &mut self.open) {
                    meter.feed(data);
                }
                // With a known length nobody asks for the end any more.
                if self.inner.is_end_stream() {
                    self.report(Ended::Whole);
                }
                Poll::Ready(Some(Ok(frame)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for Metered {
    fn drop(&mut self) {
        let ended = match self.inner.is_end_stream() {
            true => Ended::Whole,
            false => Ended::CutByAgent,
        };
        self.report(ended);
    }
}
