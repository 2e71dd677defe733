//! The operator decides. Who decided is what the kernel says of the peer, never what a request says.

use hive_proto::Refusal;
use hive_proto::ids::ApprovalId;
use hive_proto::v1::{self, Reason};
use tonic::transport::server::UdsConnectInfo;
use tonic::{Request, Response};

use super::Reply;
use crate::approvals::{By, Decision, Listing};
use crate::hive::Hive;
use crate::rpc::status::status;

pub(super) async fn list(
    hive: &Hive,
    request: v1::ListApprovalsRequest,
) -> Reply<v1::ListApprovalsResponse> {
    let listing = match request.all {
        true => Listing::All,
        false => Listing::Pending,
    };
    let rows = hive.approvals.list(listing).await.map_err(status)?;
    let approvals = rows.into_iter().map(Into::into).collect();
    Ok(Response::new(v1::ListApprovalsResponse { approvals }))
}

pub(super) async fn get(hive: &Hive, request: v1::GetApprovalRequest) -> Reply<v1::Approval> {
    let row = hive.approvals.get(ApprovalId(request.id)).await;
    Ok(Response::new(row.map_err(status)?.into()))
}

pub(super) async fn decide(
    hive: &Hive,
    request: Request<v1::DecideApprovalRequest>,
) -> Reply<v1::Approval> {
    let info = request.extensions().get::<UdsConnectInfo>();
    let uid = info.and_then(|info| info.peer_cred).map(|peer| peer.uid());
    let Some(uid) = uid else {
        return Err(
            Refusal::new(Reason::NotPermitted, "a peer without a uid decides nothing").into(),
        );
    };
    let request = request.into_inner();
    let decision = match request.decision() {
        v1::Decision::Approve => Decision::Approve,
        v1::Decision::Deny => Decision::Deny,
        v1::Decision::Unspecified => {
            return Err(Refusal::new(Reason::InvalidArgument, "neither yes nor no is said").into());
        }
    };
    let by = By {
        who: format!("uid {uid}"),
        digest: request.digest,
        note: request.note,
    };
    let id = ApprovalId(request.id);
    let decided = hive.approvals.decide(id, decision, by).await;
    decided.map_err(status)?;
    // So that the answer tells what came of it. What is cut off here is carried out all the same.
    hive.reconcilers.run_now("intents").await;
    get(hive, v1::GetApprovalRequest { id: id.0 }).await
}
