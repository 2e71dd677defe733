//! The calls of `ManagerService` that tools make. Each is the same call when it is made again: by its
//! key, or because what it asks for is a state.

use hive_proto::Refusal;
use hive_proto::v1::{
    CancelScheduleRequest, CreateScheduleRequest, EditScheduleRequest, EditScheduleResponse,
    FireScheduleRequest, FireScheduleResponse, ListSchedulesRequest, RequestSchedulePromptResponse,
    Schedule,
};

use super::calls::{AgentCalls, DEADLINE, Patience, once, retry};

impl AgentCalls {
    /// # Errors
    /// The broker's refusal, or `unavailable` after 60 s without it.
    pub async fn request_schedule(
        &self,
        request: CreateScheduleRequest,
    ) -> Result<RequestSchedulePromptResponse, Refusal> {
        retry(Patience::Tool, || {
            let (mut manager, request) = (self.client().manager(), request.clone());
            async move { once(DEADLINE, manager.request_schedule_prompt(request)).await }
        })
        .await
    }

    /// # Errors
    /// The broker's refusal, or `unavailable` after 60 s without it.
    pub async fn edit_schedule(
        &self,
        request: EditScheduleRequest,
    ) -> Result<EditScheduleResponse, Refusal> {
        retry(Patience::Tool, || {
            let (mut manager, request) = (self.client().manager(), request.clone());
            async move { once(DEADLINE, manager.edit_schedule(request)).await }
        })
        .await
    }

    /// # Errors
    /// The broker's refusal, or `unavailable` after 60 s without it.
    pub async fn cancel_schedule(
        &self,
        request: CancelScheduleRequest,
    ) -> Result<Schedule, Refusal> {
        retry(Patience::Tool, || {
            let (mut manager, request) = (self.client().manager(), request.clone());
            async move { once(DEADLINE, manager.cancel_schedule(request)).await }
        })
        .await
    }

    /// # Errors
    /// The broker's refusal, or `unavailable` after 60 s without it.
    pub async fn fire_schedule(
        &self,
        request: FireScheduleRequest,
    ) -> Result<FireScheduleResponse, Refusal> {
        retry(Patience::Tool, || {
            let (mut manager, request) = (self.client().manager(), request.clone());
            async move { once(DEADLINE, manager.fire_schedule_now(request)).await }
        })
        .await
    }

    /// # Errors
    /// The broker's refusal, or `unavailable` after 60 s without it.
    pub async fn schedules(&self, request: ListSchedulesRequest) -> Result<Vec<Schedule>, Refusal> {
        retry(Patience::Tool, || {
            let mut manager = self.client().manager();
            async move { once(DEADLINE, manager.list_schedules(request)).await }
        })
        .await
        .map(|answer| answer.schedules)
    }
}
