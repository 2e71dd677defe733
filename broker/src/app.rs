//! The composition root: [`App::build`] takes the lock, opens the store and binds what is listened on;
//! nothing runs until [`App::run`].

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use hive_proto::limits::SCHEDULE_INTERVAL_SECS;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::mpsc;
use tracing::{info, warn};

use crate::agents::{self, Agents};
use crate::approvals::Approvals;
use crate::audit::Audit;
use crate::authority::Authority;
use crate::backup::Backup;
use crate::bind::{Owner, bind};
use crate::clock::Clock;
use crate::config::{Config, LimitsConfig};
use crate::dirs;
use crate::events::Events;
use crate::gateway::{self, Gateway};
use crate::health::Health;
use crate::hive::Hive;
use crate::inbox::{Inbox, Limits};
use crate::lock::Lock;
use crate::loose_ends::LooseEnds;
use crate::notify::Notify;
use crate::questions::{self, Questions};
use crate::reconcile::{
    Containers, Deadlines, Disk, DueReminders, Expiry, Firing, Intents, Leases, Reconciler,
    Reconcilers, Retention, Stalled,
};
use crate::reminders::{self, Reminders};
use crate::schedules::Schedules;
use crate::sessions::Sessions;
use crate::shutdown::{End, GRACE, Tasks};
use crate::sockets::{Door, Sockets};
use crate::startup::StartError;
use crate::store::Store;
use crate::turns::Turns;
use crate::{logging, rpc, runtime, web};

/// A hive with everything bound and nothing running.
pub struct App {
    hive: Hive,
    doors: mpsc::UnboundedReceiver<Door>,
    operator: UnixListener,
    listener: TcpListener,
    /// Held until the process has let go of everything else.
    _lock: Lock,
}

// === impl App ===

impl App {
    /// # Errors
    /// Whatever keeps this hive from working; nothing was changed that a later start would miss.
    pub async fn build(config: Config, tasks: Tasks) -> Result<Self, StartError> {
        Self::build_at(config, Clock::system(), tasks).await
    }

    /// The same by another clock, for tests that move it.
    ///
    /// # Errors
    /// See [`Self::build`].
    pub async fn build_at(config: Config, clock: Clock, tasks: Tasks) -> Result<Self, StartError> {
        // First, so that a second hived on this directory touches nothing.
        private(config.paths.home())?;
        let lock = Lock::take(&config.paths.lock())?;
        make_directories(&config)?;
        // The second of two hives in one process is a test, and logs to the first one's log.
        _ = logging::init(&config.paths.logs());
        let address = config.listen;
        let listener = TcpListener::bind(address)
            .await
            .map_err(|source| StartError::Listen { address, source })?;
        let mode = if config.operators.is_empty() {
            0o660
        } else {
            0o666
        };
        let store = Store::open_by(
            config.limits.retry,
            config.paths.home(),
            clock.clone(),
            tasks.clone(),
        )?;
        let operator = bind(&config.paths.operator_socket(), mode, Owner::Own)?;
        let listen = listener.local_addr().unwrap_or(address);
        let (hive, doors) = compose(config, clock, tasks, store, listen)?;
        Ok(Self {
            hive,
            doors,
            operator,
            listener,
            _lock: lock,
        })
    }

    /// The services, for whoever holds them in the same process.
    #[must_use]
    pub fn hive(&self) -> &Hive {
        &self.hive
    }

    /// Serves until a signal, a fatal fault or [`Tasks::stop`].
    ///
    /// # Errors
    /// When signals cannot be taken.
    pub async fn run(self) -> Result<End, StartError> {
        let Self {
            hive,
            doors,
            operator,
            listener,
            _lock,
        } = self;
        let tasks = hive.tasks.clone();
        tasks.spawn("operator", rpc::serve_operator(hive.clone(), operator));
        tasks.spawn("doors", rpc::serve_doors(hive.clone(), doors));
        let router = web::router(hive.listen, hive.health.clone());
        tasks.spawn("web", web::serve(listener, router, tasks.stopping()));
        hive.agents.start(hive.reconcilers.clone()).await?;
        hive.reconcilers.start(&tasks);
        hive.notify.start().await?;
        announce(hive.listen);
        let end = tasks.run_to_end(GRACE).await.map_err(StartError::Signals)?;
        _ = sd_notify::notify(false, &[sd_notify::NotifyState::Stopping]);
        // Gone before the lock: the next hived finds no socket of this one.
        _ = std::fs::remove_file(hive.config.paths.operator_socket());
        hive.sockets.unlink_all();
        // After a write that did not reach the disk nothing of the log may be moved: the cache that
        // it would come from cannot be trusted any more.
        if !matches!(end, End::Fatal(_))
            && let Err(error) = hive.store.settle_log()
        {
            warn!(%error, "the write-ahead log stays");
        }
        info!(end = ?end, "stopped");
        Ok(end)
    }
}

fn make_directories(config: &Config) -> Result<(), StartError> {
    let paths = &config.paths;
    private(paths.run())?;
    for path in [paths.bin(), paths.backups(), paths.logs(), paths.engines()] {
        private(&path)?;
    }
    // Listed operators must reach their socket; every directory below is private anyway. Engines are
    // mounted into containers of another user.
    if !config.operators.is_empty() {
        open_up(paths.run(), 0o711)?;
    }
    open_up(&paths.engines(), 0o755)
}

fn private(path: &Path) -> Result<(), StartError> {
    dirs::private(path).map_err(|source| StartError::Directory {
        path: path.to_owned(),
        source,
    })
}

fn open_up(path: &Path, mode: u32) -> Result<(), StartError> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).map_err(|source| {
        StartError::Directory {
            path: path.to_owned(),
            source,
        }
    })
}

/// Makes the services of an open store; none of them does anything yet.
fn compose(
    config: Config,
    clock: Clock,
    tasks: Tasks,
    store: Store,
    listen: SocketAddr,
) -> Result<(Hive, mpsc::UnboundedReceiver<Door>), StartError> {
    let hive_id = agents::hive_id(&config.paths)?;
    let settings = agents::Settings::prepare(&config, hive_id.clone())?;
    let sessions =
        Sessions::new(store.clone(), clock.clone(), tasks.clone()).leasing(config.limits.lease);
    let limits = Limits {
        mailbox_rows: config.limits.mailbox_rows,
        body_bytes: config.limits.body_bytes,
    };
    let (sockets, doors) = Sockets::new(config.paths.clone(), config.agent.uid);
    let agents = Agents::new(agents::Parts {
        settings,
        store: store.clone(),
        clock: clock.clone(),
        tasks: tasks.clone(),
        sessions: sessions.clone(),
        sockets: sockets.clone(),
        runtime: runtime::connect(&config.runtime, &config.paths, &hive_id, &tasks)?,
    });
    let approvals = Approvals::new(store.clone());
    let schedules = Schedules::new(
        store.clone(),
        limits,
        SCHEDULE_INTERVAL_SECS,
        approvals.expiry_bell(),
    );
    let questions = Questions::new(
        store.clone(),
        tasks.clone(),
        questions::Limits {
            mailbox_rows: limits.mailbox_rows,
            ..questions::Limits::default()
        },
    );
    let reminders = Reminders::new(
        store.clone(),
        reminders::Limits {
            mailbox_rows: limits.mailbox_rows,
            ..reminders::Limits::default()
        },
    );
    let sink = gateway::recorder(store.clone(), &tasks);
    let settings = config.gateway.settings();
    let mut due: Vec<Arc<dyn Reconciler>> = vec![
        Arc::new(Intents::new(approvals.clone(), schedules.bell())),
        Arc::new(Expiry::new(approvals.clone(), clock.clone())),
        Arc::new(Firing::new(schedules.clone(), clock.clone())),
        Arc::new(Deadlines::new(questions.clone(), clock.clone())),
        Arc::new(DueReminders::new(reminders.clone(), clock.clone())),
    ];
    let (notify, disk) = off_screen(&config, &store, &clock, &tasks)?;
    let room = disk.room();
    due.push(Arc::new(disk));
    let hive = Hive {
        started: clock.monotonic(),
        listen,
        inbox: Inbox::new(store.clone(), clock.clone(), tasks.clone(), limits),
        turns: Turns::new(store.clone(), sessions.clone()),
        events: Events::new(store.clone(), tasks.clone()),
        gateway: Gateway::new(settings, clock.clone(), tasks.clone(), sink)?,
        reconcilers: reconcilers(&config.limits, &store, &clock, &sessions, &agents, due),
        approvals,
        schedules,
        questions,
        reminders,
        loose_ends: LooseEnds::new(store.clone()),
        notify,
        disk: room,
        audit: Audit::new(store.clone(), clock.clone(), tasks.clone()),
        authority: Authority::new(store.clone()),
        backup: Backup::new(store.clone(), &config.paths),
        health: Health::new(store.clone(), tasks.clone()),
        config: Arc::new(config),
        clock,
        tasks,
        store,
        sessions,
        agents,
        sockets,
    };
    Ok((hive, doors))
}

/// What tells the operator off-screen, and what looks after the room on the disk.
fn off_screen(
    config: &Config,
    store: &Store,
    clock: &Clock,
    tasks: &Tasks,
) -> Result<(Notify, Disk), StartError> {
    let channels = config.notify.clone();
    let notify = Notify::new(channels, store.clone(), clock.clone(), tasks.clone())
        .map_err(StartError::Notify)?;
    let home = config.paths.home().to_owned();
    let disk = Disk::new(
        store.clone(),
        clock.clone(),
        notify.clone(),
        home,
        config.disk,
    );
    Ok((notify, disk))
}

fn reconcilers(
    limits: &LimitsConfig,
    store: &Store,
    clock: &Clock,
    sessions: &Sessions,
    agents: &Agents,
    due: Vec<Arc<dyn Reconciler>>,
) -> Reconcilers {
    let mut all: Vec<Arc<dyn Reconciler>> = vec![
        Arc::new(Containers::new(agents.clone())),
        Arc::new(Leases::new(sessions.clone(), clock.clone())),
        Arc::new(Stalled::new(store.clone(), clock.clone()).after(limits.stalled)),
        Arc::new(Retention::new(store.clone(), clock.clone()).keeping(limits.keep)),
    ];
    all.extend(due);
    Reconcilers::new(all, clock.clone())
}

/// Tells whoever started it: a line on stdout and the service manager.
fn announce(address: SocketAddr) {
    let mut stdout = std::io::stdout().lock();
    // A closed stdout is not a reason to stop.
    _ = writeln!(stdout, "hived ready on {address}");
    _ = stdout.flush();
    if let Err(error) = sd_notify::notify(false, &[sd_notify::NotifyState::Ready]) {
        warn!(%error, "the service manager was not told");
    }
    info!(%address, "ready");
}
