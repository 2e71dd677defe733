//! The operator's calls about schedules.

use hive_proto::Refusal;
use hive_proto::v1::{
    CancelScheduleRequest, CreateScheduleRequest, EditScheduleRequest, EditScheduleResponse,
    FireScheduleRequest, FireScheduleResponse, GetScheduleRequest, ListSchedulesRequest, Schedule,
    ScheduleDetail,
};

use super::CommandCalls;

impl CommandCalls {
    /// # Errors
    /// See [`Self::status`].
    pub async fn schedules(&self, all: bool) -> Result<Vec<Schedule>, Refusal> {
        let mut operator = self.client.operator();
        let answer = self.once(operator.list_schedules(ListSchedulesRequest { all }));
        Ok(answer.await?.schedules)
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn schedule(&self, request: GetScheduleRequest) -> Result<ScheduleDetail, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.get_schedule(request)).await
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn create_schedule(
        &self,
        request: CreateScheduleRequest,
    ) -> Result<Schedule, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.create_schedule(request)).await
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn edit_schedule(
        &self,
        request: EditScheduleRequest,
    ) -> Result<EditScheduleResponse, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.edit_schedule(request)).await
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn cancel_schedule(
        &self,
        request: CancelScheduleRequest,
    ) -> Result<Schedule, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.cancel_schedule(request)).await
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn fire_schedule(
        &self,
        request: FireScheduleRequest,
    ) -> Result<FireScheduleResponse, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.fire_schedule_now(request)).await
    }
}
