//! One accepted connection: it takes one of the socket's slots, and must introduce itself in time.
//!
//! HTTP/2's own pings begin only after its preface, so a client that says nothing, or one byte a
//! second, would stay for ever without the deadline here.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Sleep;
use tonic::transport::server::{Connected, UdsConnectInfo};

/// Until the preface has come.
const GREETING_TIME: Duration = Duration::from_secs(10);
/// How long a peer that may not use the socket has to hear so.
const REFUSAL_TIME: Duration = Duration::from_secs(2);
/// The preface and the header of the settings frame behind it (RFC 9113, 3.4).
const GREETING_BYTES: usize = 24 + 9;

/// A stream with its slot.
#[derive(Debug)]
pub(super) struct Connection {
    stream: UnixStream,
    greeting: Option<Greeting>,
    /// When it ends, whatever it does.
    end: Option<Pin<Box<Sleep>>>,
    _slot: OwnedSemaphorePermit,
}

#[derive(Debug)]
struct Greeting {
    missing: usize,
    deadline: Pin<Box<Sleep>>,
}

// === impl Connection ===

impl Connection {
    pub(super) fn new(stream: UnixStream, slot: OwnedSemaphorePermit) -> Self {
        let greeting = Greeting {
            missing: GREETING_BYTES,
            deadline: Box::pin(tokio::time::sleep(GREETING_TIME)),
        };
        Self {
            stream,
            greeting: Some(greeting),
            end: None,
            _slot: slot,
        }
    }

    /// One that lasts for one refusal.
    pub(super) fn short(stream: UnixStream, slot: OwnedSemaphorePermit) -> Self {
        Self {
            end: Some(Box::pin(tokio::time::sleep(REFUSAL_TIME))),
            ..Self::new(stream, slot)
        }
    }
}

impl Connected for Connection {
    type ConnectInfo = UdsConnectInfo;

    fn connect_info(&self) -> UdsConnectInfo {
        self.stream.connect_info()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(greeting) = &mut self.greeting
            && greeting.deadline.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        if let Some(end) = &mut self.end
            && end.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        let came = buf.filled().len() - before;
        if let Some(greeting) = &mut self.greeting {
            greeting.missing = greeting.missing.saturating_sub(came);
            if greeting.missing == 0 {
                self.greeting = None;
            }
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
