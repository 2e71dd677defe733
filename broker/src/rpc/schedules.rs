//! Schedules, the same for a manager and for the operator: who acts comes from the socket.

use hive_proto::ids::ScheduleId;
use hive_proto::v1;
use tonic::{Response, Status};

use super::status::status;
use crate::hive::Hive;
use crate::schedules::{Actor, Listing};
use crate::wire;

type Reply<T> = Result<Response<T>, Status>;

pub(super) async fn edit(
    hive: &Hive,
    actor: Actor,
    request: v1::EditScheduleRequest,
) -> Reply<v1::EditScheduleResponse> {
    let id = ScheduleId(request.id);
    let edited = hive.schedules.edit(actor, id, request.into()).await;
    let (edited, view) = edited.map_err(status)?;
    Ok(Response::new(wire::edited(edited, view)))
}

pub(super) async fn cancel(
    hive: &Hive,
    actor: Actor,
    request: v1::CancelScheduleRequest,
) -> Reply<v1::Schedule> {
    let id = ScheduleId(request.id);
    let view = hive.schedules.cancel(actor, id, request.targets).await;
    Ok(Response::new(view.map_err(status)?.into()))
}

pub(super) async fn fire(
    hive: &Hive,
    actor: Actor,
    request: v1::FireScheduleRequest,
) -> Reply<v1::FireScheduleResponse> {
    let id = ScheduleId(request.id);
    let key = Some(request.idempotency_key).filter(|key| !key.is_empty());
    let fired = hive.schedules.fire_now(actor, id, key).await;
    Ok(Response::new(fired.map_err(status)?.into()))
}

pub(super) async fn list(
    hive: &Hive,
    actor: Actor,
    request: v1::ListSchedulesRequest,
) -> Reply<v1::ListSchedulesResponse> {
    let listing = match request.all {
        true => Listing::All,
        false => Listing::Active,
    };
    let views = hive.schedules.list(actor, listing).await.map_err(status)?;
    Ok(Response::new(wire::schedules(views)))
}

pub(super) async fn get(
    hive: &Hive,
    actor: Actor,
    request: v1::GetScheduleRequest,
) -> Reply<v1::ScheduleDetail> {
    let id = ScheduleId(request.id);
    let detail = hive.schedules.detail(actor, id, request.limit).await;
    Ok(Response::new(detail.map_err(status)?.into()))
}
