//! The operator's own schedules, which need no approval.

use hive_proto::v1;
use tonic::Response;

use super::Reply;
use crate::hive::Hive;
use crate::rpc::status::status;

pub(super) async fn create(hive: &Hive, request: v1::CreateScheduleRequest) -> Reply<v1::Schedule> {
    let view = hive.schedules.create(request.into()).await;
    Ok(Response::new(view.map_err(status)?.into()))
}
