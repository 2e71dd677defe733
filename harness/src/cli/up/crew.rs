//! The agents of a fresh hive: a manager, and two more for the story that the scripted engine plays.

use std::path::Path;
use std::time::{Duration, Instant};

use hive_proto::v1::{Agent, CreateAgentRequest, Reason, Role};

use super::super::output::{self, Progress};
use super::super::{CliError, Ctx, down};
use super::EngineArg;
use crate::broker::CommandCalls;

/// The manager's name; the word `manager` itself is reserved for "whoever manages".
const MANAGER: &str = "lead";
/// The other two of the story.
const STORY: [&str; 2] = ["cook", "scout"];
/// The story: rules for all three.
const SCRIPT: &str = include_str!("../../../../deploy/demo.toml");
/// A first container start on a slow, busy machine.
const THERE: Duration = Duration::from_secs(120);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(200);

/// What was created now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crew {
    /// A manager and two agents that play the story.
    Story,
    Manager,
    AsBefore,
}

// === impl Crew ===

impl Crew {
    pub(super) fn is_new(self) -> bool {
        match self {
            Self::Story | Self::Manager => true,
            Self::AsBefore => false,
        }
    }
}

/// Creates who is missing and starts whom `hive down --agents` stopped.
pub(super) async fn muster(
    ctx: &Ctx,
    asked: Option<EngineArg>,
    engine: EngineArg,
) -> Result<Crew, CliError> {
    let calls = ctx.host_calls();
    start_again(&calls, &down::stopped_list(&ctx.home)).await?;
    let agents = calls.agents().await?;
    if let Some(manager) = agents.iter().find(|agent| agent.role() == Role::Manager) {
        keeps_its_engine(manager, asked)?;
        return Ok(Crew::AsBefore);
    }
    create(&calls, MANAGER, Role::Manager, "operator", engine).await?;
    match engine {
        EngineArg::Claude => Ok(Crew::Manager),
        EngineArg::Scripted => {
            for name in STORY {
                if !agents.iter().any(|agent| agent.name == name) {
                    create(&calls, name, Role::Agent, MANAGER, engine).await?;
                }
            }
            Ok(Crew::Story)
        }
    }
}

/// What was asked for by name is done or refused, never passed over.
fn keeps_its_engine(manager: &Agent, asked: Option<EngineArg>) -> Result<(), CliError> {
    match asked {
        Some(engine) if engine.word() != manager.engine => Err(CliError::refused(
            Reason::WrongState,
            format!(
                "the manager {} is there already, with the engine {}",
                manager.name, manager.engine
            ),
        )
        .with_hint(format!(
            "`hive agent rm {}` and `hive up --engine {}` make it anew; its state is kept",
            manager.name,
            engine.word()
        ))),
        _ => Ok(()),
    }
}

async fn create(
    calls: &CommandCalls,
    name: &str,
    role: Role,
    parent: &str,
    engine: EngineArg,
) -> Result<(), CliError> {
    let script = match engine {
        EngineArg::Scripted => SCRIPT.to_owned(),
        EngineArg::Claude => String::new(),
    };
    let request = CreateAgentRequest {
        name: name.to_owned(),
        role: role.into(),
        parent: parent.to_owned(),
        engine: engine.word().to_owned(),
        script,
        ..CreateAgentRequest::default()
    };
    calls.create_agent(request).await?;
    Ok(())
}

/// The names in the list that `hive down --agents` keeps.
pub(in super::super) fn stopped_before(list: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(list).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The list goes only after every start was accepted; starting one twice changes nothing.
async fn start_again(calls: &CommandCalls, list: &Path) -> Result<(), CliError> {
    for name in stopped_before(list) {
        match calls.start_agent(&name).await {
            Ok(_) => {}
            // Removed meanwhile, or started by hand.
            Err(refusal) if matches!(refusal.reason, Reason::UnknownAgent | Reason::WrongState) => {
            }
            Err(refusal) => return Err(refusal.into()),
        }
    }
    match std::fs::remove_file(list) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(CliError::failed(format!(
            "cannot remove {}: {error}",
            list.display()
        ))),
    }
}

/// Waits until no agent is on its way up; says so when one failed or takes too long.
pub(super) async fn until_there(calls: &CommandCalls) -> Result<(), CliError> {
    let begun = Instant::now();
    let mut progress = Progress::new();
    loop {
        let agents = calls.agents().await?;
        let (waiting, failed) = stand(&agents);
        if waiting.is_empty() || begun.elapsed() > THERE {
            progress.clear();
            return judge(&waiting, &failed);
        }
        progress.set(&format!(
            "waiting for {}, {} s",
            waiting.join(", "),
            begun.elapsed().as_secs()
        ));
        tokio::time::sleep(LOOK).await;
    }
}

/// Who is on the way, and who failed.
fn stand(agents: &[Agent]) -> (Vec<&str>, Vec<&str>) {
    let wanted = || agents.iter().filter(|agent| agent.desired != "stopped");
    let in_state = |states: &[&str]| {
        wanted()
            .filter(|agent| states.contains(&agent.state.as_str()))
            .map(|agent| agent.name.as_str())
            .collect::<Vec<_>>()
    };
    // `unknown`: the runtime was not looked at yet, or does not answer.
    let waiting = in_state(&["starting", "stopped", "stopping", "unknown"]);
    (waiting, in_state(&["failed"]))
}

fn judge(waiting: &[&str], failed: &[&str]) -> Result<(), CliError> {
    if let Some(name) = failed.first() {
        return Err(
            CliError::failed(format!("could not start: {}", failed.join(", "))).with_hint(format!(
                "`hive agent show {name}` and `hive logs {name}` say why"
            )),
        );
    }
    if !waiting.is_empty() {
        let text = format!("not there yet: {}", waiting.join(", "));
        output::complain("warning", &text);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use hive_proto::v1::Agent;

    use super::{judge, stand};

    fn agent(name: &str, desired: &str, state: &str) -> Agent {
        Agent {
            name: name.to_owned(),
            desired: desired.to_owned(),
            state: state.to_owned(),
            ..Agent::default()
        }
    }

    #[test]
    fn only_who_should_run_is_waited_for() {
        let agents = [
            agent("a", "running", "idle"),
            agent("b", "running", "starting"),
            agent("c", "stopped", "stopped"),
            agent("d", "running", "failed"),
        ];
        let (waiting, failed) = stand(&agents);
        assert_eq!((waiting, failed.clone()), (vec!["b"], vec!["d"]));
        assert_eq!(judge(&[], &failed).unwrap_err().code(), 1);
        assert!(judge(&["b"], &[]).is_ok());
    }
}
