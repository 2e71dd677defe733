//! Questions and reminders as the operator sees and decides them.

use hive_proto::Refusal;
use hive_proto::v1::{
    AnswerQuestionRequest, ListQuestionsRequest, ListRemindersRequest, Question, QuestionRef,
    Reminder, ReminderRef,
};

use super::CommandCalls;

impl CommandCalls {
    /// # Errors
    /// See [`Self::status`].
    pub async fn questions(&self, request: ListQuestionsRequest) -> Result<Vec<Question>, Refusal> {
        let mut operator = self.client.operator();
        let answer = self.once(operator.list_questions(request));
        Ok(answer.await?.questions)
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn question(&self, id: i64) -> Result<Question, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.get_question(QuestionRef { id })).await
    }

    /// Answers as the operator; refused when somebody was first.
    ///
    /// # Errors
    /// See [`Self::status`].
    pub async fn answer_question(&self, id: i64, answer: String) -> Result<Question, Refusal> {
        let mut operator = self.client.operator();
        let request = AnswerQuestionRequest { id, answer };
        self.once(operator.answer_question(request)).await
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn cancel_question(&self, id: i64) -> Result<Question, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.cancel_question(QuestionRef { id }))
            .await
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn reminders(&self, request: ListRemindersRequest) -> Result<Vec<Reminder>, Refusal> {
        let mut operator = self.client.operator();
        let answer = self.once(operator.list_reminders(request));
        Ok(answer.await?.reminders)
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn cancel_reminder(&self, id: i64) -> Result<Reminder, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.cancel_reminder(ReminderRef { id }))
            .await
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn retry_reminder(&self, id: i64) -> Result<Reminder, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.retry_reminder(ReminderRef { id })).await
    }
}
