//! `hive agent create`: the operator's own act, no approval.

use std::path::{Path, PathBuf};

use hive_proto::v1::{CreateAgentRequest, Role};

use super::super::output::{self, Format};
use super::super::{CliError, Ctx, shapes};
use super::rights::RightsArgs;

/// Create an agent and start it.
///
/// Without --parent it belongs to the manager, if there is exactly one; --parent operator makes it
/// a root. What is not given comes from hive.toml. --from takes the agent's texts from a directory:
/// `role.md` (added to its system prompt) and `script.toml` (rules of the scripted engine).
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  hive agent create scout --engine claude --model claude-sonnet-4-5 --from ./scout"
)]
pub(super) struct Args {
    /// a-z, 0-9 and '-', beginning with a letter, at most 31 characters.
    name: String,
    /// What it may do.
    #[arg(long, value_enum, default_value_t = RoleArg::Agent)]
    role: RoleArg,
    /// The manager that it belongs to, or `operator`.
    #[arg(long)]
    parent: Option<String>,
    /// What runs its turns: `claude` or `scripted`.
    #[arg(long)]
    engine: Option<String>,
    /// The engine's model.
    #[arg(long)]
    model: Option<String>,
    /// The container's image.
    #[arg(long)]
    image: Option<String>,
    /// Directory with `role.md` and `script.toml`, either or both.
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    #[command(flatten)]
    rights: RightsArgs,
    #[command(flatten)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum RoleArg {
    Agent,
    Manager,
}

/// What a directory says of an agent.
#[derive(Debug, Default, PartialEq, Eq)]
struct Texts {
    role_prompt: String,
    script: String,
}

pub(super) async fn run(args: Args, ctx: Ctx) -> Result<(), CliError> {
    let texts = match &args.from {
        Some(dir) => read_texts(dir)?,
        None => Texts::default(),
    };
    let role = match args.role {
        RoleArg::Agent => Role::Agent,
        RoleArg::Manager => Role::Manager,
    };
    let request = CreateAgentRequest {
        name: args.name,
        role: role.into(),
        parent: args.parent.unwrap_or_default(),
        engine: args.engine.unwrap_or_default(),
        model: args.model.unwrap_or_default(),
        image: args.image.unwrap_or_default(),
        role_prompt: texts.role_prompt,
        script: texts.script,
        rights: Some(args.rights.asked()?),
    };
    let agent = ctx.calls().create_agent(request).await?;
    if args.format.json {
        return output::json(&shapes::Agent::from(&agent));
    }
    output::line(&format!("{}: {}", agent.name, agent.state))
}

fn read_texts(dir: &Path) -> Result<Texts, CliError> {
    let texts = Texts {
        role_prompt: read(&dir.join("role.md"))?,
        script: read(&dir.join("script.toml"))?,
    };
    if texts == Texts::default() {
        return Err(CliError::usage(format!(
            "{} holds neither role.md nor script.toml",
            dir.display()
        )));
    }
    Ok(texts)
}

/// The file's text; empty when there is no such file.
fn read(path: &Path) -> Result<String, CliError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(CliError::failed(format!(
            "cannot read {}: {error}",
            path.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::read_texts;

    #[test]
    fn either_file_is_enough_and_none_is_a_fault() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read_texts(dir.path()).unwrap_err().code(), 2);
        std::fs::write(dir.path().join("role.md"), "You look around.").unwrap();
        let texts = read_texts(dir.path()).unwrap();
        assert_eq!(texts.role_prompt, "You look around.");
        assert_eq!(texts.script, "");
    }
}
