//! The operator's calls about approvals.

use hive_proto::Refusal;
use hive_proto::v1::{Approval, DecideApprovalRequest, GetApprovalRequest, ListApprovalsRequest};

use super::CommandCalls;

impl CommandCalls {
    /// # Errors
    /// See [`Self::status`].
    pub async fn approvals(&self, all: bool) -> Result<Vec<Approval>, Refusal> {
        let mut operator = self.client.operator();
        let answer = self.once(operator.list_approvals(ListApprovalsRequest { all }));
        Ok(answer.await?.approvals)
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn approval(&self, id: i64) -> Result<Approval, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.get_approval(GetApprovalRequest { id }))
            .await
    }

    /// # Errors
    /// See [`Self::status`].
    pub async fn decide(&self, request: DecideApprovalRequest) -> Result<Approval, Refusal> {
        let mut operator = self.client.operator();
        self.once(operator.decide_approval(request)).await
    }
}
