//! The harness put together: `build` binds and opens, `run` begins to serve.

use hive_proto::Refusal;
use hive_proto::v1::{EngineConfig, Role, ToolRule};
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use crate::broker::{AgentCalls, BrokerClient, Cancels, Session, SessionDriver};
use crate::engine::{EngineEnv, Workshop};
use crate::forwarder::Forwarder;
use crate::mcp::McpServer;
use crate::proc::Children;
use crate::rundir::{self, Published};
use crate::settings::Settings;
use crate::shutdown::{End, GRACE, Tasks};
use crate::tools::ToolContext;
use crate::turn::{CurrentTurn, Finish, Identity, Runner};

/// A harness that is ready to run.
#[derive(Debug)]
pub struct App {
    settings: Settings,
    tasks: Tasks,
    session: Session,
    driver: SessionDriver,
    cancels: Cancels,
    tools: ToolContext,
    forwarder: Forwarder,
    mcp: McpServer,
    children: Children,
}

/// Why the harness ended without having been asked to.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    #[error("{0}")]
    Ended(Refusal),
    #[error("the turn loop ended without a word")]
    Lost,
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

// === impl App ===

impl App {
    /// Binds the loopback listeners and writes the run files.
    ///
    /// # Errors
    /// When loopback or the run directory cannot be used.
    pub async fn build(settings: Settings) -> Result<Self, AppError> {
        let calls = AgentCalls::new(BrokerClient::connect(&settings.socket));
        let (session, driver, cancels) = Session::new(calls.clone());
        let tools = ToolContext {
            calls,
            session: session.clone(),
            current: CurrentTurn::default(),
            state: settings.state.clone(),
        };
        let forwarder = Forwarder::bind(settings.gateway_socket.clone()).await?;
        let mcp = McpServer::bind(tools.clone()).await?;
        rundir::publish(
            &settings.run,
            &Published {
                pid: std::process::id(),
                gateway_url: forwarder.url(),
                mcp_url: mcp.url(),
                mcp_token: mcp.token().to_owned(),
            },
        )?;
        Ok(Self {
            settings,
            tasks: Tasks::default(),
            session,
            driver,
            cancels,
            tools,
            forwarder,
            mcp,
            children: Children::default(),
        })
    }

    /// Serves until a signal or until the broker ends the session.
    ///
    /// # Errors
    /// When the session was ended, so that the exit code says so.
    pub async fn run(self) -> Result<(), AppError> {
        let (tasks, released) = (self.tasks.clone(), CancellationToken::new());
        let workshop = Workshop::new(self.engine_env(), self.tools.clone(), self.identity());
        let runner = Runner::new(
            self.session,
            self.cancels,
            self.tools.current.clone(),
            workshop,
            self.settings.login_dir.clone(),
        );
        let forwarding = self.forwarder.run(tasks.clone(), released.clone());
        tasks.spawn("forwarder", forwarding);
        tasks.spawn("mcp", self.mcp.run(released.clone()));
        tasks.spawn("session", self.driver.run(released.clone()));
        tasks.spawn("reaper", self.children.keep_reaping(released.clone()));
        let (finished, finish) = tokio::sync::oneshot::channel();
        let turns = {
            let tasks = tasks.clone();
            async move {
                let finish = runner.run(tasks.stopping()).await;
                released.cancel();
                tasks.stop();
                // Nobody listens only when the process is on its way out already.
                _ = finished.send(finish);
            }
        };
        tasks.spawn("turns", turns);
        let end = tasks.run_to_end(GRACE).await?;
        ending(end, finish.await.ok())
    }

    fn engine_env(&self) -> EngineEnv {
        EngineEnv {
            state: self.settings.state.clone(),
            home: self.settings.home.clone(),
            harness: self.settings.harness.clone(),
            run: self.settings.run.clone(),
            engines: self.settings.engines.clone(),
            gateway_url: self.forwarder.url(),
            mcp_url: self.mcp.url(),
            mcp_token: self.mcp.token().to_owned(),
            system_prompt: String::new(),
            config: EngineConfig::default(),
            children: self.children.clone(),
            tools: ToolRule::default(),
        }
    }

    fn identity(&self) -> Identity {
        Identity {
            name: self.settings.agent.clone(),
            label: self.settings.label.clone(),
            role: Role::Agent,
            parent: String::new(),
            operator_pronouns: self.settings.operator_pronouns.clone(),
            hive_name: self.settings.hive_name.clone(),
            swarm_name: self.settings.swarm_name.clone(),
        }
    }
}

fn ending(end: End, finish: Option<Finish>) -> Result<(), AppError> {
    match (end, finish) {
        (_, Some(Finish::Ended(why))) => {
            error!(%why, "ended by the broker");
            Err(AppError::Ended(why))
        }
        (End::Drained | End::Forced, Some(Finish::Stopped)) => {
            info!("stopped");
            Ok(())
        }
        (End::Forced, None) => {
            info!("stopped by force");
            Ok(())
        }
        (End::Drained | End::Fatal(_), _) => Err(AppError::Lost),
    }
}
