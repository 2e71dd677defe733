//! `AgentService` on one agent's socket. Who calls is the socket; no field of a request says it.
//!
//! A caller that goes away in the middle leaves nothing half done: what a call writes is one
//! transaction, which is committed whether or not somebody waits for it.

use std::time::Duration;

use futures::stream::BoxStream;
use futures::{FutureExt as _, StreamExt as _};
use hive_proto::ids::{AgentId, Epoch, MessageId, TurnId, UnixMs};
use hive_proto::limits::RPC_BYTES;
use hive_proto::v1::agent_service_server::{AgentService, AgentServiceServer};
use hive_proto::v1::{self, HarnessState};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

use super::ask;
use super::send::{self, outgoing};
use super::status::status;
use crate::hive::Hive;
use crate::inbox::{Listing, Mailbox, Recipient, RecvArgs, Sender, Take};
use crate::questions::Decider;
use crate::sessions::{Beaten, Doing, Hello};
use crate::settle::{Onward, Seen};
use crate::turns::{EndTurn, Ending};
use crate::wire;

/// The service of one agent.
#[derive(Clone)]
pub struct AgentRpc {
    hive: Hive,
    agent: AgentId,
    closed: CancellationToken,
}

// === impl AgentRpc ===

impl AgentRpc {
    /// What the socket of `agent` serves until `closed`.
    pub(super) fn server(
        hive: Hive,
        agent: AgentId,
        closed: CancellationToken,
    ) -> AgentServiceServer<Self> {
        AgentServiceServer::new(Self {
            hive,
            agent,
            closed,
        })
        .max_decoding_message_size(RPC_BYTES)
        .max_encoding_message_size(RPC_BYTES)
    }
}

#[tonic::async_trait]
impl AgentService for AgentRpc {
    async fn open_session(
        &self,
        request: Request<v1::OpenSessionRequest>,
    ) -> Result<Response<v1::OpenSessionResponse>, Status> {
        let request = request.into_inner();
        let hello = Hello {
            instance: request.instance,
            version: request.version,
            level: request.level,
        };
        let opened = self.hive.sessions.open(self.agent, hello).await;
        let opened = opened.map_err(status)?;
        let beat = self.hive.sessions.beat_interval();
        Ok(Response::new(wire::opened(&self.hive.config, beat, opened)))
    }

    type AttendStream = BoxStream<'static, Result<v1::Directive, Status>>;

    async fn attend(
        &self,
        request: Request<v1::AttendRequest>,
    ) -> Result<Response<Self::AttendStream>, Status> {
        let epoch = Epoch(request.into_inner().epoch);
        let attended = self.hive.sessions.attend(self.agent, epoch).await;
        let directives = attended.map_err(status)?;
        let closed = self.closed.clone().cancelled_owned();
        let stream = directives
            .map(|directive| Ok(directive.into()))
            .take_until(closed);
        Ok(Response::new(stream.boxed()))
    }

    async fn beat(
        &self,
        request: Request<v1::BeatRequest>,
    ) -> Result<Response<v1::BeatResponse>, Status> {
        let request = request.into_inner();
        let state = match request.state() {
            HarnessState::Unspecified => HarnessState::Idle,
            said => said,
        };
        let doing = Doing {
            state,
            until: (request.until_ms > 0).then_some(UnixMs(request.until_ms)),
            detail: request.detail,
        };
        let epoch = Epoch(request.epoch);
        let beaten = self.hive.sessions.beat(self.agent, epoch, doing).await;
        let paused = match beaten.map_err(status)? {
            Beaten::GoOn => false,
            Beaten::Paused => true,
        };
        Ok(Response::new(v1::BeatResponse { paused }))
    }

    async fn recv(
        &self,
        request: Request<v1::RecvRequest>,
    ) -> Result<Response<v1::RecvResponse>, Status> {
        let request = request.into_inner();
        let take = match request.turn_id {
            0 => Take::Begin,
            turn => Take::Join {
                turn: TurnId(turn),
                held: request.held.into_iter().map(MessageId).collect(),
            },
        };
        let args = RecvArgs {
            epoch: Epoch(request.epoch),
            max: request.max,
            wait: Duration::from_millis(request.wait_ms.into()),
            take,
        };
        let received = self.hive.inbox.recv(self.agent, args).await;
        let received = received.map_err(status)?;
        Ok(Response::new(v1::RecvResponse {
            messages: received.rows.into_iter().map(Into::into).collect(),
            turn_id: received.turn.map_or(0, |turn| turn.0),
            remaining: received.remaining,
        }))
    }

    async fn end_turn(
        &self,
        request: Request<v1::EndTurnRequest>,
    ) -> Result<Response<v1::EndTurnResponse>, Status> {
        let args = end_turn(request.into_inner());
        let ended = self.hive.turns.end(self.agent, args).await;
        let already_ended = match ended.map_err(status)? {
            Ending::Ended => false,
            Ending::AlreadyEnded => true,
        };
        Ok(Response::new(v1::EndTurnResponse { already_ended }))
    }

    async fn send(
        &self,
        request: Request<v1::SendRequest>,
    ) -> Result<Response<v1::SendResponse>, Status> {
        let from = Sender::Agent(self.agent);
        send::one(&self.hive, from, request.into_inner())
            .map(|result| result.map(Response::new))
            .await
    }

    async fn send_batch(
        &self,
        request: Request<v1::SendBatchRequest>,
    ) -> Result<Response<v1::SendBatchResponse>, Status> {
        let from = Sender::Agent(self.agent);
        send::batch(&self.hive, from, request.into_inner())
            .map(|result| result.map(Response::new))
            .await
    }

    async fn wake(
        &self,
        request: Request<v1::WakeRequest>,
    ) -> Result<Response<v1::WakeResponse>, Status> {
        let request = request.into_inner();
        let message = outgoing(request.body, None, request.idempotency_key);
        let sent = self.hive.inbox.wake(self.agent, &request.from, message);
        let receipt = wire::receipt(&sent.await.map_err(status)?, String::new());
        Ok(Response::new(v1::WakeResponse {
            id: receipt.id,
            duplicate: receipt.duplicate,
        }))
    }

    async fn list_inbox(
        &self,
        request: Request<v1::ListInboxRequest>,
    ) -> Result<Response<v1::ListMessagesResponse>, Status> {
        let request = request.into_inner();
        let mailbox = Mailbox::Of(Recipient::Agent(self.agent));
        let listing = match request.unread_only {
            true => Listing::Unfinished,
            false => Listing::Everything,
        };
        let rows = self.hive.inbox.list(mailbox, listing, request.limit).await;
        let messages = rows.map_err(status)?.into_iter().map(Into::into).collect();
        Ok(Response::new(v1::ListMessagesResponse { messages }))
    }

    async fn get_agent_meta(
        &self,
        request: Request<v1::GetAgentMetaRequest>,
    ) -> Result<Response<v1::AgentMeta>, Status> {
        let name = request.into_inner().name;
        let view = match name.as_str() {
            "" => self.hive.agents.own(self.agent).await,
            name => self.hive.agents.get_agent(name).await,
        };
        Ok(Response::new(view.map_err(status)?.into()))
    }

    async fn set_status(
        &self,
        request: Request<v1::SetStatusRequest>,
    ) -> Result<Response<v1::SetStatusResponse>, Status> {
        let text = request.into_inner().text;
        let set = self.hive.agents.set_status(self.agent, &text).await;
        set.map_err(status)?;
        Ok(Response::new(v1::SetStatusResponse {}))
    }

    async fn ask(
        &self,
        request: Request<v1::AskRequest>,
    ) -> Result<Response<v1::AskResponse>, Status> {
        let asked = ask::ask(&self.hive, self.agent, request.into_inner());
        asked.await.map(Response::new)
    }

    async fn wait_answer(
        &self,
        request: Request<v1::WaitAnswerRequest>,
    ) -> Result<Response<v1::WaitAnswerResponse>, Status> {
        let waited = ask::wait(&self.hive, self.agent, request.into_inner());
        waited.await.map(Response::new)
    }

    async fn answer_question(
        &self,
        request: Request<v1::AnswerQuestionRequest>,
    ) -> Result<Response<v1::Question>, Status> {
        let by = Decider::Agent(self.agent);
        let answered = ask::answer(&self.hive, by, request.into_inner());
        answered.await.map(Response::new)
    }

    async fn get_loose_ends(
        &self,
        request: Request<v1::GetLooseEndsRequest>,
    ) -> Result<Response<v1::GetLooseEndsResponse>, Status> {
        let ends = ask::loose_ends(&self.hive, self.agent, request.into_inner());
        ends.await.map(Response::new)
    }

    async fn cancel_loose_end(
        &self,
        request: Request<v1::CancelLooseEndRequest>,
    ) -> Result<Response<v1::CancelLooseEndResponse>, Status> {
        let cancelled = ask::cancel_loose_end(&self.hive, self.agent, request.into_inner());
        cancelled.await.map(Response::new)
    }

    async fn remind(
        &self,
        request: Request<v1::RemindRequest>,
    ) -> Result<Response<v1::RemindResponse>, Status> {
        let set = ask::remind(&self.hive, self.agent, request.into_inner());
        set.await.map(Response::new)
    }
}

fn end_turn(request: v1::EndTurnRequest) -> EndTurn {
    EndTurn {
        epoch: Epoch(request.epoch),
        turn: TurnId(request.turn_id),
        outcome: request.outcome(),
        failure: request.failure(),
        usage: request.usage.unwrap_or_default().into(),
        model: request.model,
        seen: match request.held {
            held if held.is_empty() => Seen::All,
            held => Seen::Only(held.into_iter().map(MessageId).collect()),
        },
        onward: match request.continue_requested {
            true => Onward::Continue,
            false => Onward::Rest,
        },
        detail: request.detail,
    }
}
