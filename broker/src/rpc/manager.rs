//! `ManagerService` on an agent's socket: authority over its subtree. That the agent is a manager at
//! the time of the call is the guard's to check; that whom it names is below it, each call's.

use hive_proto::ids::AgentId;
use hive_proto::limits::RPC_BYTES;
use hive_proto::v1;
use hive_proto::v1::manager_service_server::{ManagerService, ManagerServiceServer};
use tonic::{Request, Response, Status};

use super::status::status;
use crate::hive::Hive;

/// The service of one agent.
#[derive(Clone)]
pub struct ManagerRpc {
    hive: Hive,
    agent: AgentId,
}

type Reply<T> = Result<Response<T>, Status>;

// === impl ManagerRpc ===

impl ManagerRpc {
    /// What the socket of `agent` serves beside `AgentService`.
    pub(super) fn server(hive: Hive, agent: AgentId) -> ManagerServiceServer<Self> {
        ManagerServiceServer::new(Self { hive, agent })
            .max_decoding_message_size(RPC_BYTES)
            .max_encoding_message_size(RPC_BYTES)
    }
}

#[tonic::async_trait]
impl ManagerService for ManagerRpc {
    async fn list_agents(
        &self,
        _: Request<v1::ListSubtreeRequest>,
    ) -> Reply<v1::ListSubtreeResponse> {
        let below = self.hive.agents.list_below(self.agent).await;
        let agents = below.map_err(status)?.into_iter().map(Into::into);
        Ok(Response::new(v1::ListSubtreeResponse {
            agents: agents.collect(),
        }))
    }
}
