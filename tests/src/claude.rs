//! The real claude on a bench: a scripted model behind it, hive's own tools beside it, no broker.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use hive::broker::{AgentCalls, BrokerClient, Session};
use hive::engine::claude::Claude;
use hive::engine::{Engine as _, EngineEnv, EngineEvent, EventSink, TurnEnd, TurnInput};
use hive::mcp::McpServer;
use hive::tools::ToolContext;
use hive::turn::{Body, CurrentTurn, NextTurn, Wake, wake};
use hive_proto::ids::{MessageId, TurnId};
use hive_proto::script::Script;
use hive_proto::v1::{EngineConfig, ToolRule};
use hived::gateway::scripted::{Scripted, serve_standalone};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{programs, wait};

/// One agent's claude; everything ends when it is dropped.
pub struct ClaudeBench {
    pub engine: Claude,
    /// What the engine is configured with; see [`ClaudeBench::configure`].
    pub env: EngineEnv,
    dir: TempDir,
    current: CurrentTurn,
    events: Arc<Mutex<Vec<EngineEvent>>>,
    messages: i64,
    _servers: JoinSet<()>,
}

// === impl ClaudeBench ===

impl ClaudeBench {
    /// A bench whose model plays `script`.
    pub async fn start(script: &str) -> Self {
        hive::proc::become_subreaper().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let mut servers = JoinSet::new();
        let until = CancellationToken::new();
        let model = Arc::new(Scripted::new(Script::parse(script).unwrap()));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let gateway_url = format!("http://{}", listener.local_addr().unwrap());
        servers.spawn(serve_standalone(model, listener, until.clone()));
        let current = CurrentTurn::default();
        let tools = McpServer::bind(tools(dir.path(), &current)).await.unwrap();
        let mut env = env(dir.path());
        env.gateway_url = gateway_url;
        env.mcp_url = tools.url();
        tools.token().clone_into(&mut env.mcp_token);
        servers.spawn(tools.run(until));
        Self {
            engine: Claude::new(env.clone()),
            env,
            dir,
            current,
            events: Arc::default(),
            messages: 0,
            _servers: servers,
        }
    }

    /// Changes the configuration; the engine hears of it.
    pub fn configure(&mut self, change: impl FnOnce(&mut EngineEnv)) {
        change(&mut self.env);
        self.engine.configure(self.env.clone());
    }

    /// Another engine object on the same directories: the harness was restarted.
    pub async fn restart(&mut self) {
        self.engine.stop().await;
        self.engine = Claude::new(self.env.clone());
    }

    /// One turn for a new message from the operator.
    pub async fn turn(&mut self, body: &str) -> TurnEnd {
        self.turn_until(body, CancellationToken::new()).await
    }

    /// One turn that `cancel` interrupts.
    pub async fn turn_until(&mut self, body: &str, cancel: CancellationToken) -> TurnEnd {
        self.messages += 1;
        let message = MessageId(self.messages);
        self.current.begin(TurnId(self.messages), message);
        let prompt = wake(&Wake {
            id: self.messages,
            from: "operator",
            in_reply_to: None,
            redelivered: false,
            unread: 0,
            body: Body::Inline(body),
        });
        let input = TurnInput {
            turn: TurnId(self.messages),
            message,
            from: "operator".to_owned(),
            in_reply_to: None,
            body: body.to_owned(),
            redelivered: false,
            prompt,
        };
        let sink = self.sink();
        self.engine.turn(input, sink, cancel).await
    }

    /// Compacts the conversation.
    pub async fn compact(&mut self) -> TurnEnd {
        let sink = self.sink();
        self.engine.compact(sink, CancellationToken::new()).await
    }

    /// Whether the last turn called `request_next_turn`.
    #[must_use]
    pub fn asked_for_another_turn(&self) -> bool {
        let open = self.current.get();
        open.is_some_and(|open| open.next_turn == NextTurn::AtOnce)
    }

    /// What the engine has said since this was last called.
    #[must_use]
    pub fn take_events(&self) -> Vec<EngineEvent> {
        std::mem::take(&mut self.events.lock().unwrap())
    }

    /// Shared with the running turn.
    #[must_use]
    pub fn events(&self) -> Arc<Mutex<Vec<EngineEvent>>> {
        Arc::clone(&self.events)
    }

    /// The agent's working directory.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.env.state.clone()
    }

    /// The transcripts that claude has written.
    #[must_use]
    pub fn transcripts(&self) -> Vec<PathBuf> {
        let projects = self.env.home.join(".claude/projects");
        let folders = std::fs::read_dir(projects).into_iter().flatten().flatten();
        let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).unwrap().flatten());
        let paths = files.map(|file| file.path());
        paths
            .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
            .collect()
    }

    /// The root of everything, for tests that look into it.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    fn sink(&self) -> EventSink {
        let events = Arc::clone(&self.events);
        Arc::new(move |event| events.lock().unwrap().push(event))
    }
}

/// Waits until a shared event list holds what `wanted` finds.
pub async fn seen(
    events: &Mutex<Vec<EngineEvent>>,
    what: &str,
    wanted: impl Fn(&EngineEvent) -> bool,
) {
    wait::until(what, wait::SOON, || async {
        events.lock().unwrap().iter().any(&wanted).then_some(())
    })
    .await;
}

/// Processes whose command line contains `word`, of this process's descendants or not.
#[must_use]
pub fn processes_with(word: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line)
            .replace('\0', " ")
            .contains(word)
    })
    .collect()
}

fn tools(root: &Path, current: &CurrentTurn) -> ToolContext {
    let calls = AgentCalls::new(BrokerClient::connect(&root.join("no-broker.sock")));
    let (session, _, _) = Session::new(calls.clone());
    ToolContext {
        calls,
        session,
        current: current.clone(),
        state: root.join("state"),
    }
}

fn env(root: &Path) -> EngineEnv {
    let dir = |name: &str| {
        let dir = root.join(name);
        std::fs::create_dir_all(&dir).unwrap();
        dir
    };
    let engines = dir("engines/claude/2.1.332");
    std::os::unix::fs::symlink(programs::claude(), engines.join("claude")).unwrap();
    EngineEnv {
        state: dir("state"),
        home: dir("home"),
        harness: dir("harness"),
        run: dir("run"),
        engines: dir("engines"),
        gateway_url: String::new(),
        mcp_url: String::new(),
        mcp_token: String::new(),
        system_prompt: "You are alpha, an agent of a hive.".to_owned(),
        config: EngineConfig {
            engine: "claude".to_owned(),
            model: "haiku".to_owned(),
            engine_idle_secs: 60,
            turn_silence_secs: 60,
            turn_wall_secs: 120,
            ..EngineConfig::default()
        },
        children: hive::proc::Children::default(),
        tools: ToolRule::default(),
    }
}
