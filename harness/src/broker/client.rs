//! gRPC over a Unix socket: connects at the first call and again after every loss.

use std::path::{Path, PathBuf};

use hive_proto::limits::RPC_BYTES;
use hive_proto::v1::agent_service_client::AgentServiceClient;
use hive_proto::v1::manager_service_client::ManagerServiceClient;
use hive_proto::v1::operator_service_client::OperatorServiceClient;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint, Uri};
use tower::service_fn;

/// A handle to one socket of the broker; cheap to clone, all clones share the connection.
///
/// A call while the broker is away fails with `unavailable`; the next one connects again.
#[derive(Clone, Debug)]
pub struct BrokerClient {
    channel: Channel,
    socket: PathBuf,
}

// === impl BrokerClient ===

impl BrokerClient {
    /// Connects lazily to the broker behind `socket`.
    #[must_use]
    pub fn connect(socket: &Path) -> Self {
        let path = socket.to_path_buf();
        // The address is never resolved: the connector below goes to the socket. `from_static` only
        // fails on a malformed constant.
        let endpoint = Endpoint::from_static("http://hive.invalid");
        let channel = endpoint.connect_with_connector_lazy(service_fn(move |_: Uri| {
            let path = path.clone();
            async move { UnixStream::connect(path).await.map(TokioIo::new) }
        }));
        Self {
            channel,
            socket: socket.to_path_buf(),
        }
    }

    /// The socket that this client talks to.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// What an agent's own socket serves.
    #[must_use]
    pub fn agent(&self) -> AgentServiceClient<Channel> {
        AgentServiceClient::new(self.channel.clone())
            .max_decoding_message_size(RPC_BYTES)
            .max_encoding_message_size(RPC_BYTES)
    }

    /// What a manager's own socket serves beside it.
    #[must_use]
    pub fn manager(&self) -> ManagerServiceClient<Channel> {
        ManagerServiceClient::new(self.channel.clone())
            .max_decoding_message_size(RPC_BYTES)
            .max_encoding_message_size(RPC_BYTES)
    }

    /// What the operator's socket serves.
    #[must_use]
    pub fn operator(&self) -> OperatorServiceClient<Channel> {
        OperatorServiceClient::new(self.channel.clone())
            .max_decoding_message_size(RPC_BYTES)
            .max_encoding_message_size(RPC_BYTES)
    }
}
