//! `ManagerService` on an agent's socket: authority over its subtree. That the agent is a manager at
//! the time of the call is the guard's to check; that whom it names is below it, each call's.

use hive_proto::ids::AgentId;
use hive_proto::limits::RPC_BYTES;
use hive_proto::v1;
use hive_proto::v1::manager_service_server::{ManagerService, ManagerServiceServer};
use tonic::{Request, Response, Status};

use super::schedules;
use super::status::status;
use crate::hive::Hive;
use crate::schedules::Actor;

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

    /// Who acts on a schedule: the agent of this socket.
    fn actor(&self) -> Actor {
        Actor::Agent(self.agent)
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

    async fn request_schedule_prompt(
        &self,
        request: Request<v1::CreateScheduleRequest>,
    ) -> Reply<v1::RequestSchedulePromptResponse> {
        let draft = request.into_inner().into();
        let asked = self.hive.schedules.request(self.agent, draft).await;
        Ok(Response::new(asked.map_err(status)?.into()))
    }

    async fn edit_schedule(
        &self,
        request: Request<v1::EditScheduleRequest>,
    ) -> Reply<v1::EditScheduleResponse> {
        schedules::edit(&self.hive, self.actor(), request.into_inner()).await
    }

    async fn cancel_schedule(
        &self,
        request: Request<v1::CancelScheduleRequest>,
    ) -> Reply<v1::Schedule> {
        schedules::cancel(&self.hive, self.actor(), request.into_inner()).await
    }

    async fn fire_schedule_now(
        &self,
        request: Request<v1::FireScheduleRequest>,
    ) -> Reply<v1::FireScheduleResponse> {
        schedules::fire(&self.hive, self.actor(), request.into_inner()).await
    }

    async fn list_schedules(
        &self,
        request: Request<v1::ListSchedulesRequest>,
    ) -> Reply<v1::ListSchedulesResponse> {
        schedules::list(&self.hive, self.actor(), request.into_inner()).await
    }

    async fn get_schedule(
        &self,
        request: Request<v1::GetScheduleRequest>,
    ) -> Reply<v1::ScheduleDetail> {
        schedules::get(&self.hive, self.actor(), request.into_inner()).await
    }
}
