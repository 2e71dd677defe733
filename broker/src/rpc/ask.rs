//! Questions, reminders and loose ends on an agent's socket.

use std::time::Duration;

use hive_proto::ids::{AgentId, Epoch, MessageId, QuestionId, TurnId};
use hive_proto::v1;
use tonic::Status;

use super::status::status;
use super::{guard, send};
use crate::hive::Hive;
use crate::inbox::Novelty;
use crate::loose_ends::Kind;
use crate::questions::{Asking, Choice, Decider, WaitArgs};
use crate::reconcile::{DEADLINES, REMINDERS};
use crate::reminders::Setting;

/// The call that is there to end schedules.
const CANCEL_SCHEDULE: &str = "/hive.v1.ManagerService/CancelSchedule";

pub(super) async fn ask(
    hive: &Hive,
    asker: AgentId,
    request: v1::AskRequest,
) -> Result<v1::AskResponse, Status> {
    let asking = Asking {
        question: request.question,
        options: request.options,
        choice: match request.multi {
            true => Choice::Many,
            false => Choice::One,
        },
        ttl: (request.ttl_secs > 0).then(|| Duration::from_secs(request.ttl_secs)),
        to: request.to,
        key: some(request.idempotency_key),
    };
    let asked = hive.questions.ask(asker, asking).await.map_err(status)?;
    if asked.deadline_at.is_some() {
        hive.reconcilers.nudge(DEADLINES);
    }
    Ok(v1::AskResponse {
        id: asked.id.0,
        duplicate: duplicate(asked.novelty),
        target: asked.target_name,
        target_state: send::state(hive, asked.target),
        deadline_at_ms: asked.deadline_at.map_or(0, |at| at.0),
    })
}

pub(super) async fn wait(
    hive: &Hive,
    asker: AgentId,
    request: v1::WaitAnswerRequest,
) -> Result<v1::WaitAnswerResponse, Status> {
    let args = WaitArgs {
        epoch: Epoch(request.epoch),
        turn: TurnId(request.turn_id),
        held: request.held.into_iter().map(MessageId).collect(),
        id: QuestionId(request.id),
        wait: Duration::from_millis(request.wait_ms.into()),
    };
    let waited = hive.questions.wait(asker, args).await;
    waited.map(Into::into).map_err(status)
}

pub(super) async fn answer(
    hive: &Hive,
    by: Decider,
    request: v1::AnswerQuestionRequest,
) -> Result<v1::Question, Status> {
    let id = QuestionId(request.id);
    let answered = hive.questions.answer(by, id, request.answer).await;
    answered.map(Into::into).map_err(status)
}

pub(super) async fn loose_ends(
    hive: &Hive,
    agent: AgentId,
    request: v1::GetLooseEndsRequest,
) -> Result<v1::GetLooseEndsResponse, Status> {
    let ends = hive.loose_ends.list(agent, request.agent).await;
    let loose_ends = ends.map_err(status)?.into_iter().map(Into::into).collect();
    Ok(v1::GetLooseEndsResponse { loose_ends })
}

pub(super) async fn cancel_loose_end(
    hive: &Hive,
    agent: AgentId,
    request: v1::CancelLooseEndRequest,
) -> Result<v1::CancelLooseEndResponse, Status> {
    let kind = Kind::parse(&request.kind).map_err(status)?;
    match kind {
        Kind::Question | Kind::Reminder | Kind::Approval => {}
        // The same act by another call: it takes the same right.
        Kind::Schedule => guard::admit_as(CANCEL_SCHEDULE, agent, &hive.authority).await?,
    }
    let cancelled = hive.loose_ends.cancel(agent, kind, request.id).await;
    cancelled.map_err(status)?;
    Ok(v1::CancelLooseEndResponse {})
}

pub(super) async fn remind(
    hive: &Hive,
    agent: AgentId,
    request: v1::RemindRequest,
) -> Result<v1::RemindResponse, Status> {
    let setting = Setting {
        body: request.message,
        due: request.due,
        key: some(request.idempotency_key),
    };
    let set = hive.reminders.set(agent, setting).await.map_err(status)?;
    hive.reconcilers.nudge(REMINDERS);
    Ok(v1::RemindResponse {
        id: set.id.0,
        duplicate: duplicate(set.novelty),
        due_at_ms: set.due_at.0,
    })
}

fn some(key: String) -> Option<String> {
    Some(key).filter(|key| !key.is_empty())
}

fn duplicate(novelty: Novelty) -> bool {
    match novelty {
        Novelty::New => false,
        Novelty::Duplicate => true,
    }
}
