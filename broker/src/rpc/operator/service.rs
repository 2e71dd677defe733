//! The service's methods, each a line: parsing and rendering are the nouns' files.

use hive_proto::limits::RPC_BYTES;
use hive_proto::v1::operator_service_server::{OperatorService, OperatorServiceServer};
use hive_proto::v1::{self, AgentRef};
use tonic::service::Routes;
use tonic::{Request, Response};

use super::{
    Reply, Stream, agents, approvals, ask, messages, notify, schedules, streams, topology,
};
use crate::hive::Hive;
use crate::rpc::gate::{OperatorGate, Operators};
use crate::rpc::guard::Guard;
use crate::rpc::peers::{Allowed, Peers};
use crate::rpc::schedules as shared;
use crate::rpc::server::Served;
use crate::rpc::status::status;
use crate::schedules::Actor;

/// The service.
#[derive(Clone)]
pub struct OperatorRpc {
    hive: Hive,
}

// === impl OperatorRpc ===

impl OperatorRpc {
    /// What the operator socket serves, to operators only.
    pub(in crate::rpc) fn served(hive: Hive) -> Served {
        let operators = Operators::of(&hive);
        let audit = hive.audit.clone();
        let gate = OperatorGate::new(operators.clone(), audit.clone(), hive.tasks.stopping());
        let service = OperatorServiceServer::new(Self { hive })
            .max_decoding_message_size(RPC_BYTES)
            .max_encoding_message_size(RPC_BYTES);
        Served {
            peers: Peers::new(Allowed::Operators(operators, audit.clone())),
            guard: Guard::operator(gate, audit),
            routes: Routes::new(service),
        }
    }
}

#[tonic::async_trait]
impl OperatorService for OperatorRpc {
    async fn get_status(&self, _: Request<v1::GetStatusRequest>) -> Reply<v1::HiveStatus> {
        let report = crate::status::report(&self.hive).await;
        report.map(Response::new).map_err(status)
    }

    async fn list_agents(
        &self,
        _: Request<v1::ListAgentsRequest>,
    ) -> Reply<v1::ListAgentsResponse> {
        agents::list(&self.hive).await
    }

    async fn get_agent(&self, request: Request<AgentRef>) -> Reply<v1::Agent> {
        agents::get(&self.hive, request.into_inner()).await
    }

    async fn create_agent(&self, request: Request<v1::CreateAgentRequest>) -> Reply<v1::Agent> {
        agents::create(&self.hive, request.into_inner()).await
    }

    async fn start_agent(&self, request: Request<AgentRef>) -> Reply<v1::Agent> {
        agents::start(&self.hive, request.into_inner()).await
    }

    async fn stop_agent(&self, request: Request<v1::StopAgentRequest>) -> Reply<v1::Agent> {
        agents::stop(&self.hive, request.into_inner()).await
    }

    async fn restart_agent(&self, request: Request<AgentRef>) -> Reply<v1::Agent> {
        agents::restart(&self.hive, request.into_inner()).await
    }

    async fn pause_agent(&self, request: Request<AgentRef>) -> Reply<v1::Agent> {
        agents::pause(&self.hive, request.into_inner()).await
    }

    async fn resume_agent(&self, request: Request<AgentRef>) -> Reply<v1::Agent> {
        agents::resume(&self.hive, request.into_inner()).await
    }

    async fn cancel_turn(&self, request: Request<AgentRef>) -> Reply<v1::Agent> {
        agents::cancel(&self.hive, request.into_inner()).await
    }

    async fn move_agent(&self, request: Request<v1::MoveAgentRequest>) -> Reply<v1::Agent> {
        topology::move_agent(&self.hive, request.into_inner()).await
    }

    async fn set_agent_rights(
        &self,
        request: Request<v1::SetAgentRightsRequest>,
    ) -> Reply<v1::Agent> {
        topology::set_rights(&self.hive, request.into_inner()).await
    }

    async fn remove_agent(
        &self,
        request: Request<v1::RemoveAgentRequest>,
    ) -> Reply<v1::RemoveAgentResponse> {
        agents::remove(&self.hive, request.into_inner()).await
    }

    type LogsStream = Stream<v1::LogLine>;

    async fn logs(&self, request: Request<v1::LogsRequest>) -> Reply<Self::LogsStream> {
        streams::logs(&self.hive, request.into_inner()).await
    }

    async fn send(&self, request: Request<v1::SendRequest>) -> Reply<v1::SendResponse> {
        messages::send(&self.hive, request.into_inner()).await
    }

    async fn send_batch(
        &self,
        request: Request<v1::SendBatchRequest>,
    ) -> Reply<v1::SendBatchResponse> {
        messages::send_batch(&self.hive, request.into_inner()).await
    }

    async fn list_inbox(
        &self,
        request: Request<v1::ListMailboxRequest>,
    ) -> Reply<v1::ListMessagesResponse> {
        messages::list(&self.hive, request.into_inner()).await
    }

    async fn mark_read(
        &self,
        request: Request<v1::MarkReadRequest>,
    ) -> Reply<v1::MarkReadResponse> {
        messages::mark_read(&self.hive, request.into_inner()).await
    }

    async fn get_message(&self, request: Request<v1::GetMessageRequest>) -> Reply<v1::MessageLife> {
        messages::get(&self.hive, request.into_inner()).await
    }

    async fn wait_message(
        &self,
        request: Request<v1::WaitMessageRequest>,
    ) -> Reply<v1::MessageLife> {
        messages::wait(&self.hive, request.into_inner()).await
    }

    async fn list_dead(&self, _: Request<v1::ListDeadRequest>) -> Reply<v1::ListMessagesResponse> {
        messages::dead(&self.hive).await
    }

    async fn requeue_dead(
        &self,
        request: Request<v1::GetMessageRequest>,
    ) -> Reply<v1::MessageLife> {
        messages::requeue(&self.hive, request.into_inner()).await
    }

    async fn test_notify(
        &self,
        request: Request<v1::TestNotifyRequest>,
    ) -> Reply<v1::TestNotifyResponse> {
        notify::test(&self.hive, request.into_inner()).await
    }

    async fn list_notifications(
        &self,
        request: Request<v1::ListNotificationsRequest>,
    ) -> Reply<v1::ListNotificationsResponse> {
        notify::list(&self.hive, request.into_inner()).await
    }

    async fn retry_notification(
        &self,
        request: Request<v1::RetryNotificationRequest>,
    ) -> Reply<v1::Notification> {
        notify::retry(&self.hive, request.into_inner()).await
    }

    type WatchStream = Stream<v1::Event>;

    async fn watch(&self, request: Request<v1::WatchRequest>) -> Reply<Self::WatchStream> {
        streams::watch(&self.hive, request.into_inner()).await
    }

    type BackupStream = Stream<v1::BackupChunk>;

    async fn backup(&self, _: Request<v1::BackupRequest>) -> Reply<Self::BackupStream> {
        streams::backup(&self.hive).await
    }

    async fn list_approvals(
        &self,
        request: Request<v1::ListApprovalsRequest>,
    ) -> Reply<v1::ListApprovalsResponse> {
        approvals::list(&self.hive, request.into_inner()).await
    }

    async fn get_approval(&self, request: Request<v1::GetApprovalRequest>) -> Reply<v1::Approval> {
        approvals::get(&self.hive, request.into_inner()).await
    }

    async fn decide_approval(
        &self,
        request: Request<v1::DecideApprovalRequest>,
    ) -> Reply<v1::Approval> {
        approvals::decide(&self.hive, request).await
    }

    async fn create_schedule(
        &self,
        request: Request<v1::CreateScheduleRequest>,
    ) -> Reply<v1::Schedule> {
        schedules::create(&self.hive, request.into_inner()).await
    }

    async fn edit_schedule(
        &self,
        request: Request<v1::EditScheduleRequest>,
    ) -> Reply<v1::EditScheduleResponse> {
        shared::edit(&self.hive, Actor::Operator, request.into_inner()).await
    }

    async fn cancel_schedule(
        &self,
        request: Request<v1::CancelScheduleRequest>,
    ) -> Reply<v1::Schedule> {
        shared::cancel(&self.hive, Actor::Operator, request.into_inner()).await
    }

    async fn fire_schedule_now(
        &self,
        request: Request<v1::FireScheduleRequest>,
    ) -> Reply<v1::FireScheduleResponse> {
        shared::fire(&self.hive, Actor::Operator, request.into_inner()).await
    }

    async fn list_schedules(
        &self,
        request: Request<v1::ListSchedulesRequest>,
    ) -> Reply<v1::ListSchedulesResponse> {
        shared::list(&self.hive, Actor::Operator, request.into_inner()).await
    }

    async fn get_schedule(
        &self,
        request: Request<v1::GetScheduleRequest>,
    ) -> Reply<v1::ScheduleDetail> {
        shared::get(&self.hive, Actor::Operator, request.into_inner()).await
    }

    async fn list_questions(
        &self,
        request: Request<v1::ListQuestionsRequest>,
    ) -> Reply<v1::ListQuestionsResponse> {
        ask::list_questions(&self.hive, request.into_inner()).await
    }

    async fn get_question(&self, request: Request<v1::QuestionRef>) -> Reply<v1::Question> {
        ask::get_question(&self.hive, request.into_inner()).await
    }

    async fn answer_question(
        &self,
        request: Request<v1::AnswerQuestionRequest>,
    ) -> Reply<v1::Question> {
        ask::answer_question(&self.hive, request.into_inner()).await
    }

    async fn cancel_question(&self, request: Request<v1::QuestionRef>) -> Reply<v1::Question> {
        ask::cancel_question(&self.hive, request.into_inner()).await
    }

    async fn list_reminders(
        &self,
        request: Request<v1::ListRemindersRequest>,
    ) -> Reply<v1::ListRemindersResponse> {
        ask::list_reminders(&self.hive, request.into_inner()).await
    }

    async fn cancel_reminder(&self, request: Request<v1::ReminderRef>) -> Reply<v1::Reminder> {
        ask::cancel_reminder(&self.hive, request.into_inner()).await
    }

    async fn retry_reminder(&self, request: Request<v1::ReminderRef>) -> Reply<v1::Reminder> {
        ask::retry_reminder(&self.hive, request.into_inner()).await
    }
}
