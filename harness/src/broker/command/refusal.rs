//! Every status becomes a refusal that says which socket did not answer, or that this socket is not the
//! operator's.

use std::error::Error as _;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use hive_proto::Refusal;
use hive_proto::v1::Reason;
use tonic::{Code, Status};

const OPERATORS: &str = "the operator's socket is for root, the user that hived runs as, and the uids that hive.toml lists under `operators`";

/// A status as a refusal: the broker's own word, else what the transport met.
pub(super) fn refusal(status: &Status, socket: &Path) -> Refusal {
    let carried = Refusal::from_status(status);
    if !status.details().is_empty() {
        return carried;
    }
    match status.code() {
        Code::Unimplemented => not_served(),
        // A connection that cannot be made or that broke surfaces under any of these. `Cancelled` is one
        // of them: a command's deadline is its own, the transport has none that could have run out.
        Code::Unavailable | Code::Unknown | Code::Internal | Code::Cancelled => {
            unreachable(status, socket)
        }
        _ => carried,
    }
}

/// The other side's service was asked: identity is the socket, so this is a matter of permission.
fn not_served() -> Refusal {
    Refusal::new(
        Reason::NotPermitted,
        "this socket does not serve that command",
    )
    .with_hint("inside an agent's container only `hive send`, `hive inbox` and `hive wake` work; the other commands are the operator's")
}

fn unreachable(status: &Status, socket: &Path) -> Refusal {
    let path = socket.display();
    let cause = cause(status);
    let why = match &cause {
        Some(error) => format!("cannot reach hived at {path}: {}", plain(error.kind())),
        None => format!("the connection to hived at {path} broke"),
    };
    let refusal = Refusal::new(Reason::Unavailable, why);
    match cause.map(|error| error.kind()) {
        Some(io::ErrorKind::PermissionDenied) => refusal.with_hint(OPERATORS),
        Some(io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => refusal,
        // Somebody took the connection and closed it: hived, for want of room to say why.
        Some(_) | None if is_anothers(socket) => refusal.with_hint(OPERATORS),
        Some(_) | None => refusal,
    }
}

/// Whether the socket belongs to another user, and this one is not root.
fn is_anothers(socket: &Path) -> bool {
    let own = rustix::process::geteuid();
    let owner = std::fs::symlink_metadata(socket).map(|meta| meta.uid());
    !own.is_root() && owner.is_ok_and(|owner| owner != own.as_raw())
}

/// The error of the operating system at the bottom of a status.
fn cause(status: &Status) -> Option<&io::Error> {
    let mut error = status.source();
    while let Some(inner) = error {
        if let Some(io) = inner.downcast_ref::<io::Error>() {
            return Some(io);
        }
        error = inner.source();
    }
    None
}

fn plain(kind: io::ErrorKind) -> String {
    match kind {
        io::ErrorKind::NotFound => "there is no such socket".to_owned(),
        io::ErrorKind::ConnectionRefused => "nobody listens".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use hive_proto::Refusal;
    use hive_proto::v1::Reason;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{UnixListener, UnixStream};
    use tonic::Status;

    use super::refusal;
    use crate::broker::{BrokerClient, CommandCalls};

    #[test]
    fn the_brokers_own_word_wins() {
        let sent = Refusal::new(Reason::WrongState, "it does not run").with_hint("start it");
        assert_eq!(refusal(&Status::from(sent.clone()), Path::new("/s")), sent);
    }

    #[test]
    fn the_other_sides_service_is_a_matter_of_permission() {
        let refused = refusal(&Status::unimplemented(""), Path::new("/s"));
        assert_eq!(refused.reason, Reason::NotPermitted);
        assert!(refused.hint.contains("operator"));
    }

    #[tokio::test]
    async fn a_missing_socket_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("x.sock");
        let calls = CommandCalls::new(BrokerClient::connect(&socket));
        let refused = calls.status().await.unwrap_err();
        assert_eq!(refused.reason, Reason::Unavailable);
        assert_eq!(
            refused.message,
            format!(
                "cannot reach hived at {}: there is no such socket",
                socket.display()
            )
        );
    }

    /// What a listener that is no broker does with a connection.
    async fn misbehave(mut stream: UnixStream, how: usize) {
        let mut read = [0; 16];
        match how {
            0 => {}
            1 => drop(stream.read(&mut read).await),
            2 => drop(stream.write_all(b"{\"error\":\"not JSON\"}\n").await),
            _ => {
                drop(stream.read(&mut read).await);
                drop(stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await);
            }
        }
    }

    #[tokio::test]
    async fn a_listener_that_is_no_broker_is_a_broker_that_cannot_be_reached() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("x.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        // Which status the transport makes of it depends on who is first: hence the many rounds.
        for round in 0..200 {
            let calls = CommandCalls::new(BrokerClient::connect(&socket));
            let other = async {
                let (stream, _) = listener.accept().await.unwrap();
                misbehave(stream, round % 4).await;
            };
            let (refused, ()) = tokio::join!(calls.status(), other);
            let refused = refused.unwrap_err();
            assert_eq!(refused.reason, Reason::Unavailable, "{round}: {refused:?}");
            assert!(refused.message.contains("x.sock"), "{refused:?}");
        }
    }

    #[test]
    fn a_connection_that_was_cancelled_is_no_timeout() {
        let refused = refusal(
            &Status::cancelled("operation was canceled"),
            Path::new("/s"),
        );
        assert_eq!(refused.reason, Reason::Unavailable);
    }
}
