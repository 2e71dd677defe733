//! Serves what is listened on: the operator socket, and each agent's three sockets as they come.

use hive_proto::ids::AgentId;
use tokio::net::UnixListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tracing::debug;

use super::gate::AgentGate;
use super::guard::Guard;
use super::peers::{Allowed, Peers};
use super::server::{self, Served};
use super::{AgentRpc, ManagerRpc, OperatorRpc};
use crate::gateway::{Caller, serve_agent};
use crate::hive::Hive;
use crate::sockets::Door;
use crate::wake_line;

/// Serves the operator socket until the daemon stops.
pub async fn serve_operator(hive: Hive, listener: UnixListener) {
    let stopping = hive.tasks.stopping();
    server::serve(listener, OperatorRpc::served(hive), stopping).await;
}

/// Takes doors and serves each, until the daemon stops.
pub async fn serve_doors(hive: Hive, mut doors: mpsc::UnboundedReceiver<Door>) {
    let stopping = hive.tasks.stopping();
    loop {
        let door = tokio::select! {
            () = stopping.cancelled() => return,
            door = doors.recv() => door,
        };
        match door {
            Some(door) => open(&hive, door),
            None => return,
        }
    }
}

fn open(hive: &Hive, door: Door) {
    debug!(agent.name = %door.name, agent.id = %door.id, "serving its sockets");
    let closed = door.closed;
    let until = either(hive, closed.clone());
    let served = of_agent(hive, door.id, &closed);
    let (broker, rpc_until) = (door.broker, until.clone());
    hive.tasks.spawn("agent.rpc", async move {
        server::serve(broker, served, rpc_until).await;
    });
    let (inbox, id): (_, AgentId) = (hive.inbox.clone(), door.id);
    let mcp = door.mcp;
    hive.tasks.spawn("agent.wake", async move {
        wake_line::serve(inbox, id, mcp, until).await;
    });
    let caller = Caller {
        id: door.id,
        name: door.name,
    };
    let gateway = hive.gateway.clone();
    let listener = door.gateway;
    hive.tasks.spawn("agent.gateway", async move {
        tokio::select! {
            () = serve_agent(gateway, caller, listener) => {}
            () = closed.cancelled() => {}
        }
    });
}

/// Every agent's socket has both services: who is a manager is asked at each call.
fn of_agent(hive: &Hive, id: AgentId, closed: &CancellationToken) -> Served {
    let gate = AgentGate::new(
        hive.clock.clone(),
        hive.config.limits.agent_rpcs_per_sec,
        closed.clone(),
        hive.tasks.stopping(),
    );
    let (authority, audit) = (hive.authority.clone(), hive.audit.clone());
    let agent = AgentRpc::server(hive.clone(), id, closed.clone());
    Served {
        peers: Peers::new(Allowed::Everybody),
        guard: Guard::agent(id, gate, authority, audit, closed.clone()),
        routes: Routes::new(agent).add_service(ManagerRpc::server(hive.clone(), id)),
    }
}

/// Cancelled by the agent's end or the daemon's, whichever is first.
fn either(hive: &Hive, closed: CancellationToken) -> CancellationToken {
    let until = hive.tasks.stopping().child_token();
    let ended = until.clone();
    hive.tasks.spawn("agent.closed", async move {
        tokio::select! {
            () = closed.cancelled() => ended.cancel(),
            () = ended.cancelled() => {}
        }
    });
    until
}
