//! Questions and reminders as the operator sees and decides them.

use hive_proto::ids::{QuestionId, ReminderId};
use hive_proto::limits::RECV_BYTES;
use hive_proto::v1;
use tonic::Response;

use super::Reply;
use crate::hive::Hive;
use crate::questions::{self, Decider, QuestionRow};
use crate::reconcile::REMINDERS;
use crate::reminders::{self, ReminderRow};
use crate::rpc::status::status;

pub(super) async fn list_questions(
    hive: &Hive,
    request: v1::ListQuestionsRequest,
) -> Reply<v1::ListQuestionsResponse> {
    let listing = match request.all {
        true => questions::Listing::Everything,
        false => questions::Listing::Open,
    };
    let rows = hive.questions.list(listing, request.limit).await;
    let rows = rows.map_err(status)?.into_iter().map(listed_question);
    let questions = fitting(rows, listing == questions::Listing::Open, |one| {
        let options: usize = one.options.iter().map(String::len).sum();
        one.question.len() + one.answer.len() + options
    });
    Ok(Response::new(v1::ListQuestionsResponse { questions }))
}

pub(super) async fn get_question(hive: &Hive, request: v1::QuestionRef) -> Reply<v1::Question> {
    let row = hive.questions.get(QuestionId(request.id)).await;
    Ok(Response::new(row.map_err(status)?.into()))
}

pub(super) async fn answer_question(
    hive: &Hive,
    request: v1::AnswerQuestionRequest,
) -> Reply<v1::Question> {
    let answered = crate::rpc::ask::answer(hive, Decider::Operator, request).await;
    answered.map(Response::new)
}

pub(super) async fn cancel_question(hive: &Hive, request: v1::QuestionRef) -> Reply<v1::Question> {
    let id = QuestionId(request.id);
    let cancelled = hive.questions.cancel(Decider::Operator, id).await;
    Ok(Response::new(cancelled.map_err(status)?.into()))
}

pub(super) async fn list_reminders(
    hive: &Hive,
    request: v1::ListRemindersRequest,
) -> Reply<v1::ListRemindersResponse> {
    let listing = match request.all {
        true => reminders::Listing::Everything,
        false => reminders::Listing::Unfinished,
    };
    let rows = hive
        .reminders
        .list(request.agent, listing, request.limit)
        .await;
    let rows = rows.map_err(status)?.into_iter().map(listed_reminder);
    let oldest = listing == reminders::Listing::Unfinished;
    let reminders = fitting(rows, oldest, |one| one.body.len());
    Ok(Response::new(v1::ListRemindersResponse { reminders }))
}

pub(super) async fn cancel_reminder(hive: &Hive, request: v1::ReminderRef) -> Reply<v1::Reminder> {
    let id = ReminderId(request.id);
    let cancelled = hive.reminders.cancel(Decider::Operator, id).await;
    Ok(Response::new(cancelled.map_err(status)?.into()))
}

pub(super) async fn retry_reminder(hive: &Hive, request: v1::ReminderRef) -> Reply<v1::Reminder> {
    let row = hive.reminders.retry(ReminderId(request.id)).await;
    let row = row.map_err(status)?;
    hive.reconcilers.nudge(REMINDERS);
    Ok(Response::new(row.into()))
}

/// Characters of a text in a list; the whole of it is shown alone.
const TEXT: usize = 1000;

fn listed_question(row: QuestionRow) -> v1::Question {
    let mut one = v1::Question::from(row);
    cut(&mut one.question);
    cut(&mut one.answer);
    one
}

fn listed_reminder(row: ReminderRow) -> v1::Reminder {
    let mut one = v1::Reminder::from(row);
    cut(&mut one.body);
    one
}

fn cut(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(TEXT) {
        text.truncate(end);
        text.push('…');
    }
}

/// As many as one reply carries: the oldest ones, or the newest ones.
fn fitting<T>(
    rows: impl DoubleEndedIterator<Item = T>,
    oldest: bool,
    bytes: impl Fn(&T) -> usize,
) -> Vec<T> {
    /// What a row has beside its texts, generously.
    const ROW: usize = 200;
    let mut left = RECV_BYTES;
    let fits = |one: &T| {
        let size = bytes(one) + ROW;
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    };
    if oldest {
        return rows.take_while(fits).collect();
    }
    let mut newest: Vec<_> = rows.rev().take_while(fits).collect();
    newest.reverse();
    newest
}
