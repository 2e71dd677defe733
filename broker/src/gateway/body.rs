//! Bodies: one type for what goes out, and bounds on what comes in.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep};

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A response's body, whoever makes it.
pub(super) type Body = UnsyncBoxBody<Bytes, BoxError>;

/// A request's body with its bounds.
pub(super) struct Bounded {
    inner: Incoming,
    left: u64,
    limit: u64,
    pause: Duration,
    /// Runs while the next piece is awaited.
    timer: Pin<Box<Sleep>>,
}

/// Which bound was crossed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BoundError {
    #[error("the body is over {0} bytes")]
    TooLarge(u64),
    #[error("the body stopped coming")]
    Stalled,
}

/// A body that is all there.
pub(super) fn whole(bytes: Bytes) -> Body {
    Full::new(bytes)
        .map_err(|never| match never {})
        .boxed_unsync()
}

// === impl Bounded ===

impl Bounded {
    pub(super) fn new(inner: Incoming, limit: u64, pause: Duration) -> Self {
        Self {
            inner,
            left: limit,
            limit,
            pause,
            timer: Box::pin(tokio::time::sleep(pause)),
        }
    }
}

impl HttpBody for Bounded {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        let frame = match Pin::new(&mut this.inner).poll_frame(cx) {
            Poll::Pending => {
                return this
                    .timer
                    .as_mut()
                    .poll(cx)
                    .map(|()| Some(Err(BoundError::Stalled.into())));
            }
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(Some(Ok(frame))) => frame,
        };
        this.timer.as_mut().reset(Instant::now() + this.pause);
        let size = frame.data_ref().map_or(0, |data| data.len() as u64);
        match this.left.checked_sub(size) {
            Some(left) => {
                this.left = left;
                Poll::Ready(Some(Ok(frame)))
            }
            None => Poll::Ready(Some(Err(BoundError::TooLarge(this.limit).into()))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The bound behind an error, however deep it is wrapped.
pub(super) fn bound_behind(error: &(dyn std::error::Error + 'static)) -> Option<BoundError> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(bound) = error.downcast_ref::<BoundError>() {
            return Some(*bound);
        }
        next = error.source();
    }
    None
}
