//! The operator's acts on agents. Each runs to its end even when its caller goes away.

use std::future::Future;

use hive_proto::Refusal;
use hive_proto::name::{AgentName, NameError};
use hive_proto::v1::{self, Agent, AgentRef, Reason};
use tonic::{Response, Status};

use super::Reply;
use crate::agents::{AgentView, AgentsError, CreateAgent, Haste, Parent, Removal};
use crate::hive::Hive;
use crate::refusals::Refuse as _;
use crate::rpc::status::status;
use crate::wire;

pub(super) async fn list(hive: &Hive) -> Reply<v1::ListAgentsResponse> {
    let views = hive.agents.list_agents().await.map_err(status)?;
    let agents = views.into_iter().map(Into::into).collect();
    Ok(Response::new(v1::ListAgentsResponse { agents }))
}

pub(super) async fn get(hive: &Hive, request: AgentRef) -> Reply<Agent> {
    shown(hive.agents.get_agent(&request.name).await)
}

pub(super) async fn create(hive: &Hive, request: v1::CreateAgentRequest) -> Reply<Agent> {
    let role = request.role();
    let new = CreateAgent {
        name: name(&request.name)?,
        role,
        parent: parent(&request.parent)?,
        rights: wire::rights::asked(request.rights)?,
        engine: request.engine,
        model: request.model,
        image: request.image,
        role_prompt: request.role_prompt,
        script: request.script,
    };
    let agents = hive.agents.clone();
    shown(to_its_end(hive, async move { agents.create_agent(new).await }).await?)
}

pub(super) async fn start(hive: &Hive, request: AgentRef) -> Reply<Agent> {
    let agents = hive.agents.clone();
    let act = async move { agents.start_agent(&request.name).await };
    shown(to_its_end(hive, act).await?)
}

pub(super) async fn stop(hive: &Hive, request: v1::StopAgentRequest) -> Reply<Agent> {
    let haste = match request.now {
        true => Haste::Now,
        false => Haste::Grace,
    };
    let agents = hive.agents.clone();
    let act = async move { agents.stop_agent(&request.name, haste).await };
    shown(to_its_end(hive, act).await?)
}

pub(super) async fn restart(hive: &Hive, request: AgentRef) -> Reply<Agent> {
    let agents = hive.agents.clone();
    let act = async move { agents.restart_agent(&request.name).await };
    shown(to_its_end(hive, act).await?)
}

pub(super) async fn pause(hive: &Hive, request: AgentRef) -> Reply<Agent> {
    let agents = hive.agents.clone();
    let act = async move { agents.pause_agent(&request.name).await };
    shown(to_its_end(hive, act).await?)
}

pub(super) async fn resume(hive: &Hive, request: AgentRef) -> Reply<Agent> {
    let agents = hive.agents.clone();
    let act = async move { agents.resume_agent(&request.name).await };
    shown(to_its_end(hive, act).await?)
}

pub(super) async fn cancel(hive: &Hive, request: AgentRef) -> Reply<Agent> {
    let view = hive.agents.get_agent(&request.name).await.map_err(status)?;
    hive.turns.cancel(view.row.id).await.map_err(status)?;
    get(hive, request).await
}

pub(super) async fn remove(
    hive: &Hive,
    request: v1::RemoveAgentRequest,
) -> Reply<v1::RemoveAgentResponse> {
    let removal = match request.purge {
        true => Removal::Purged,
        false => Removal::Kept,
    };
    let agents = hive.agents.clone();
    let act = async move { agents.remove_agent(&request.name, removal).await };
    to_its_end(hive, act).await?.map_err(status)?;
    Ok(Response::new(v1::RemoveAgentResponse {}))
}

/// Runs an act of several steps apart from the call, so that a caller who goes away does not stop it
/// half way.
async fn to_its_end<T: Send + 'static>(
    hive: &Hive,
    act: impl Future<Output = T> + Send + 'static,
) -> Result<T, Status> {
    let (done, result) = tokio::sync::oneshot::channel();
    hive.tasks.spawn("operator.act", async move {
        // Nobody may be waiting any more.
        let _ = done.send(act.await);
    });
    result
        .await
        .map_err(|_| Refusal::new(Reason::Unavailable, "hived is stopping").into())
}

fn shown(view: Result<AgentView, AgentsError>) -> Reply<Agent> {
    Ok(Response::new(view.map_err(status)?.into()))
}

/// Whose child an agent is to be; empty: the default.
pub(super) fn parent(text: &str) -> Result<Parent, Status> {
    match text {
        "" => Ok(Parent::Default),
        "operator" => Ok(Parent::Root),
        parent => name(parent).map(Parent::Agent),
    }
}

fn name(text: &str) -> Result<AgentName, Status> {
    let parsed: Result<AgentName, NameError> = text.parse();
    parsed.map_err(|error| error.refusal().into())
}
