//! Everything that the edges (gRPC, sockets, web) may ask: the services of one hive.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::agents::Agents;
use crate::approvals::Approvals;
use crate::audit::Audit;
use crate::authority::Authority;
use crate::backup::Backup;
use crate::clock::Clock;
use crate::config::Config;
use crate::events::Events;
use crate::gateway::Gateway;
use crate::health::Health;
use crate::inbox::Inbox;
use crate::loose_ends::LooseEnds;
use crate::notify::Notify;
use crate::questions::Questions;
use crate::reconcile::{DiskRoom, Reconcilers};
use crate::reminders::Reminders;
use crate::schedules::Schedules;
use crate::sessions::Sessions;
use crate::shutdown::Tasks;
use crate::sockets::Sockets;
use crate::store::Store;
use crate::turns::Turns;

/// The services; cheap to clone.
#[derive(Clone)]
pub struct Hive {
    pub config: Arc<Config>,
    pub clock: Clock,
    pub tasks: Tasks,
    pub store: Store,
    pub inbox: Inbox,
    pub questions: Questions,
    pub reminders: Reminders,
    pub loose_ends: LooseEnds,
    pub sessions: Sessions,
    pub turns: Turns,
    pub events: Events,
    pub approvals: Approvals,
    pub schedules: Schedules,
    pub agents: Agents,
    pub gateway: Gateway,
    pub sockets: Sockets,
    pub reconcilers: Reconcilers,
    pub notify: Notify,
    pub disk: DiskRoom,
    pub audit: Audit,
    pub authority: Authority,
    pub backup: Backup,
    pub health: Health,
    /// Where the web is served: the port is known only once it is bound.
    pub listen: SocketAddr,
    /// When it began, by the monotonic clock.
    pub started: Duration,
}
