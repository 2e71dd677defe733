//! `Claude`: one conversation, at most one process, one turn at a time.

use std::time::{Duration, Instant};

use hive_proto::v1::{FailureClass, Usage};
use tokio_util::sync::CancellationToken;

use super::drive::{drive, unix_ms};
use super::facts::{Kind, Stop};
use super::launch::{Launch, LaunchError};
use super::outcome::{Verdict, judge};
use super::permission::Rule;
use super::process::Process;
use super::prune::prune;
use super::session::{Session, SessionFile};
use super::turn::{Job, Turn};
use super::usage::settle;
use crate::engine::{Caps, Engine, EngineEnv, EventSink, TurnEnd, TurnInput};

/// When the configuration gives no limit.
const DEFAULT_SILENCE: Duration = Duration::from_secs(600);
const DEFAULT_WALL: Duration = Duration::from_secs(7200);

/// Runs turns with the real Claude Code.
#[derive(Debug)]
pub struct Claude {
    env: EngineEnv,
    kept: Option<Kept>,
}

/// A process that waits for the next turn.
#[derive(Debug)]
struct Kept {
    process: Process,
    launch: Launch,
    session: Session,
    idle_since: Instant,
}

// === impl Claude ===

impl Claude {
    /// Starts nothing: the first turn does.
    #[must_use]
    pub fn new(env: EngineEnv) -> Self {
        Self { env, kept: None }
    }

    async fn run(&mut self, job: Job, events: &EventSink, cancel: &CancellationToken) -> TurnEnd {
        let rule = Rule::new(&self.env.config.allowed_bash_patterns);
        // A process that was kept may have died unseen: then the turn begins again with a new one.
        // A prompt is never sent twice.
        for _ in 0..2 {
            let (mut kept, fresh) = match self.take_process(&rule).await {
                Ok(taken) => taken,
                Err(error) => return self.failure(error.class(), &error.to_string()),
            };
            let mut turn = Turn::begin(job.clone(), &rule, events, Instant::now());
            drive(&mut turn, &mut kept.process, cancel).await;
            if turn.facts.death.is_some() && !turn.prompted && !fresh {
                continue;
            }
            return self.finish(turn, kept).await;
        }
        self.failure(FailureClass::Config, "claude does not start")
    }

    /// The kept process where it fits what is wanted now, else a new one. The flag tells a new one.
    async fn take_process(&mut self, rule: &Rule) -> Result<(Kept, bool), LaunchError> {
        let launch = Launch::new(&self.env, rule, std::env::vars_os())?;
        let file = SessionFile::in_dir(&self.env.harness);
        let session = file.load()?;
        if let Some(mut kept) = self.kept.take() {
            if kept.launch == launch && kept.session.id == session.id && kept.process.is_alive() {
                kept.session = session;
                return Ok((kept, false));
            }
            self.let_go(kept).await;
        }
        launch.prepare()?;
        let process = Process::spawn(&self.env.children, &launch, &session)?;
        tracing::debug!(claude.pid = process.pid(), "claude started");
        let kept = Kept {
            process,
            launch,
            session,
            idle_since: Instant::now(),
        };
        Ok((kept, true))
    }

    /// Settles a turn and keeps the process, where it can be kept.
    async fn finish(&mut self, turn: Turn<'_>, mut kept: Kept) -> TurnEnd {
        let verdict = judge(&turn.facts, unix_ms());
        let result = turn.facts.result.as_ref();
        let (usage, total) = settle(result, turn.counted, kept.session.cost_total_usd);
        let model = turn.model.clone();
        self.store(&mut kept.session, &turn.session, total);
        let dead = turn.facts.death.is_some();
        let suspect = matches!(
            turn.facts.stop,
            Some(Stop::Silent(_) | Stop::Wall(_) | Stop::ToolsLost(_) | Stop::NotReady(_))
        ) || verdict.failure == FailureClass::BadSession;
        kept.idle_since = Instant::now();
        if dead || suspect || self.idle_limit().is_zero() {
            self.let_go(kept).await;
        } else {
            self.kept = Some(kept);
        }
        end(verdict, usage, model)
    }

    fn store(&self, session: &mut Session, said: &str, total: f64) {
        let before = session.clone();
        session.cost_total_usd = total;
        // The program may have gone on under another id.
        if let Ok(id) = said.parse() {
            session.id = id;
        }
        if *session == before {
            return;
        }
        if let Err(error) = SessionFile::in_dir(&self.env.harness).save(session) {
            tracing::warn!(%error, "cannot store the session");
        }
    }

    /// Ends a process and clears up after it.
    async fn let_go(&mut self, mut kept: Kept) {
        kept.process.close().await;
        let current = kept.session.id.to_string();
        let (tmp, home, config) = (
            kept.launch.tmp,
            self.env.home.clone(),
            kept.launch.config_dir,
        );
        let pruned =
            tokio::task::spawn_blocking(move || prune(&tmp, &home, &config, &current)).await;
        if pruned.is_err() {
            tracing::warn!("clearing up after claude failed");
        }
    }

    fn idle_limit(&self) -> Duration {
        Duration::from_secs(self.env.config.engine_idle_secs.into())
    }

    fn job(&self, kind: Kind, prompt: String) -> Job {
        let or_default = |secs: u32, default| match secs {
            0 => default,
            secs => Duration::from_secs(secs.into()),
        };
        Job {
            kind,
            prompt,
            silence: or_default(self.env.config.turn_silence_secs, DEFAULT_SILENCE),
            wall: or_default(self.env.config.turn_wall_secs, DEFAULT_WALL),
        }
    }

    fn failure(&self, class: FailureClass, why: &str) -> TurnEnd {
        let verdict = Verdict::failed(class, why);
        end(verdict, Usage::default(), self.env.config.model.clone())
    }
}

#[async_trait::async_trait]
impl Engine for Claude {
    fn caps(&self) -> Caps {
        Caps {
            long_lived: true,
            compact: true,
            model_calls: true,
        }
    }

    async fn turn(
        &mut self,
        input: TurnInput,
        events: EventSink,
        cancel: CancellationToken,
    ) -> TurnEnd {
        let job = self.job(Kind::Prompt, input.prompt);
        self.run(job, &events, &cancel).await
    }

    async fn compact(&mut self, events: EventSink, cancel: CancellationToken) -> TurnEnd {
        let job = self.job(Kind::Compact, "/compact".to_owned());
        self.run(job, &events, &cancel).await
    }

    async fn idle(&mut self) -> Option<Duration> {
        let kept = self.kept.as_ref()?;
        let left = self.idle_limit().saturating_sub(kept.idle_since.elapsed());
        if !left.is_zero() {
            return Some(left);
        }
        if let Some(kept) = self.kept.take() {
            self.let_go(kept).await;
        }
        None
    }

    fn configure(&mut self, env: EngineEnv) {
        self.env = env;
    }

    async fn new_session(&mut self) {
        if let Some(kept) = self.kept.take() {
            self.let_go(kept).await;
        }
        if let Err(error) = SessionFile::in_dir(&self.env.harness).begin() {
            tracing::warn!(%error, "cannot begin a new session");
        }
    }

    fn kept(&self) -> Option<u32> {
        self.kept.as_ref().map(|kept| kept.process.pid())
    }

    async fn stop(&mut self) {
        if let Some(kept) = self.kept.take() {
            self.let_go(kept).await;
        }
    }
}

fn end(verdict: Verdict, usage: Usage, model: String) -> TurnEnd {
    TurnEnd {
        outcome: verdict.outcome,
        failure: verdict.failure,
        detail: verdict.detail,
        until_ms: verdict.until_ms,
        usage,
        model,
    }
}
