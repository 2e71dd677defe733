//! Connections to a hive's sockets, as any client of the public API makes them.

use std::path::{Path, PathBuf};

use hive_proto::Refusal;
use hive_proto::limits::RPC_BYTES;
use hive_proto::v1::agent_service_client::AgentServiceClient;
use hive_proto::v1::manager_service_client::ManagerServiceClient;
use hive_proto::v1::operator_service_client::OperatorServiceClient;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint, Uri};
use tower::service_fn;

pub use tonic::{Code, Request, Status, Streaming};

/// The operator's client.
pub type Operator = OperatorServiceClient<Channel>;
/// An agent's client.
pub type Agent = AgentServiceClient<Channel>;
/// A manager's further client.
pub type Manager = ManagerServiceClient<Channel>;

/// A channel that connects at its first call and again after each break.
#[must_use]
pub fn channel(socket: &Path) -> Channel {
    let path: PathBuf = socket.to_owned();
    Endpoint::from_static("http://hive.invalid").connect_with_connector_lazy(service_fn(
        move |_: Uri| {
            let path = path.clone();
            async move { UnixStream::connect(path).await.map(TokioIo::new) }
        },
    ))
}

/// The operator service on `socket`.
#[must_use]
pub fn operator(socket: &Path) -> Operator {
    OperatorServiceClient::new(channel(socket))
        .max_decoding_message_size(RPC_BYTES)
        .max_encoding_message_size(usize::MAX)
}

/// The agent service on `socket`.
#[must_use]
pub fn agent(socket: &Path) -> Agent {
    AgentServiceClient::new(channel(socket))
        .max_decoding_message_size(RPC_BYTES)
        .max_encoding_message_size(usize::MAX)
}

/// The manager service on `socket`.
#[must_use]
pub fn manager(socket: &Path) -> Manager {
    ManagerServiceClient::new(channel(socket))
        .max_decoding_message_size(RPC_BYTES)
        .max_encoding_message_size(usize::MAX)
}

/// The refusal inside a status.
#[must_use]
pub fn refusal(status: &Status) -> Refusal {
    Refusal::from_status(status)
}

/// Calls any method of any service with an empty request. The answer's content is not looked at; of a
/// stream, not even its first message is waited for.
///
/// # Errors
/// The status.
pub async fn call_by_path(socket: &Path, service: &str, method: &str) -> Result<(), Status> {
    let mut grpc = tonic::client::Grpc::new(channel(socket));
    grpc.ready()
        .await
        .map_err(|error| Status::unavailable(error.to_string()))?;
    let path = format!("/{service}/{method}")
        .parse()
        .map_err(|_| Status::invalid_argument("not a path"))?;
    let codec = tonic_prost::ProstCodec::<(), ()>::default();
    // A unary answer is a stream of one.
    grpc.server_streaming(tonic::Request::new(()), path, codec)
        .await
        .map(drop)
}
