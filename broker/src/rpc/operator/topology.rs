//! The operator's acts on the tree of agents and on what each may do.

use hive_proto::v1::{self, Agent};
use tonic::Response;

use super::Reply;
use super::agents::parent;
use crate::hive::Hive;
use crate::rpc::status::status;
use crate::wire;

pub(super) async fn move_agent(hive: &Hive, request: v1::MoveAgentRequest) -> Reply<Agent> {
    let parent = parent(&request.parent)?;
    let moved = hive.agents.move_agent(&request.name, parent).await;
    Ok(Response::new(moved.map_err(status)?.into()))
}

pub(super) async fn set_rights(hive: &Hive, request: v1::SetAgentRightsRequest) -> Reply<Agent> {
    let asked = wire::rights::asked(request.rights)?;
    let set = hive.agents.set_rights(&request.name, asked).await;
    Ok(Response::new(set.map_err(status)?.into()))
}
