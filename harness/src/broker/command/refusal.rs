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
        // A connection that cannot be made or that broke surfaces under any of these.
        Code::Unavailable | Code::Unknown | Code::Internal => unreachable(status, socket),
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
}
