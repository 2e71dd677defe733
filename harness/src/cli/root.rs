//! The list of commands and the dispatch.

use clap::{Parser, Subcommand};

use super::{
    CliError, Ctx, agent, answer, approval, approve, backup, completions, dead, deny, detach,
    doctor, down, engine, inbox, logs, mcp, message, notify, question, reminder, restore, schedule,
    send, serve, status, up, wake, watch,
};

/// A hive of AI agents that can be left running.
#[derive(Debug, Parser)]
#[command(
    name = "hive",
    version,
    propagate_version = true,
    after_help = "Example:\n  hive send manager \"plan a picnic\" --wait"
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// One variant a command.
#[derive(Debug, Subcommand)]
pub enum Command {
    Up(up::Args),
    Down(down::Args),
    Doctor(doctor::Args),
    Status(status::Args),
    Agent(agent::Args),
    Send(send::Args),
    Inbox(inbox::Args),
    Message(message::Args),
    Dead(dead::Args),
    Approval(approval::Args),
    Approve(approve::Args),
    Deny(deny::Args),
    Schedule(schedule::Args),
    Question(question::Args),
    Answer(answer::Args),
    Reminder(reminder::Args),
    Notify(notify::Args),
    Logs(logs::Args),
    Watch(watch::Args),
    Wake(wake::Args),
    Backup(backup::Args),
    Engine(engine::Args),
    Restore(restore::Args),
    Completions(completions::Args),
    Serve(serve::Args),
    Mcp(mcp::Args),
    Detach(detach::Args),
}

// === impl Cli ===

impl Cli {
    /// Runs the command.
    ///
    /// # Errors
    /// What the command failed with.
    pub async fn run(self) -> Result<(), CliError> {
        let ctx = Ctx::find(|name| std::env::var(name).ok());
        match self.command {
            Command::Up(args) => up::run(args, ctx).await,
            Command::Down(args) => down::run(args, ctx).await,
            Command::Doctor(args) => doctor::run(args, ctx).await,
            Command::Status(args) => status::run(args, ctx).await,
            Command::Agent(args) => agent::run(args, ctx).await,
            Command::Send(args) => send::run(args, ctx).await,
            Command::Inbox(args) => inbox::run(args, ctx).await,
            Command::Message(args) => message::run(args, ctx).await,
            Command::Dead(args) => dead::run(args, ctx).await,
            Command::Approval(args) => approval::run(args, ctx).await,
            Command::Approve(args) => approve::run(args, ctx).await,
            Command::Deny(args) => deny::run(args, ctx).await,
            Command::Schedule(args) => schedule::run(args, ctx).await,
            Command::Question(args) => question::run(args, ctx).await,
            Command::Answer(args) => answer::run(args, ctx).await,
            Command::Reminder(args) => reminder::run(args, ctx).await,
            Command::Notify(args) => notify::run(args, ctx).await,
            Command::Logs(args) => logs::run(args, ctx).await,
            Command::Watch(args) => watch::run(args, ctx).await,
            Command::Wake(args) => wake::run(args, ctx).await,
            Command::Backup(args) => backup::run(args, ctx).await,
            Command::Engine(args) => engine::run(args, ctx).await,
            Command::Restore(args) => restore::run(&args, &ctx),
            Command::Completions(args) => completions::run(&args),
            Command::Serve(args) => serve::run(args, ctx).await,
            Command::Mcp(args) => mcp::run(args, ctx).await,
            Command::Detach(args) => detach::run(&args),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::Cli;

    /// Every command below and including `command`, with its full name.
    fn walk(command: &clap::Command, name: &str, all: &mut Vec<(String, clap::Command)>) {
        all.push((name.to_owned(), command.clone()));
        for sub in command.get_subcommands().filter(|c| c.get_name() != "help") {
            walk(sub, &format!("{name} {}", sub.get_name()), all);
        }
    }

    fn all() -> Vec<(String, clap::Command)> {
        let mut all = Vec::new();
        walk(&Cli::command(), "hive", &mut all);
        all
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_help_says_what_it_does_and_ends_with_an_example() {
        for (name, mut command) in all() {
            let help = command.render_long_help().to_string();
            let about = command
                .get_about()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(!about.is_empty(), "{name} does not say what it does");
            let Some((_, example)) = help.rsplit_once("Example:\n") else {
                panic!("no example at the end of `{name} --help`:\n{help}");
            };
            assert!(example.trim().contains("hive"), "{name}: {example}");
            assert!(help.trim_end().ends_with(example.trim()), "{name}");
        }
    }

    #[test]
    fn every_argument_is_explained() {
        for (name, command) in all() {
            for argument in command.get_arguments().filter(|a| !a.is_hide_set()) {
                assert!(
                    argument.get_help().is_some(),
                    "{name}: {}",
                    argument.get_id()
                );
            }
        }
    }

    #[test]
    fn the_commands_are_those_of_the_reference() {
        let page = include_str!("../../../docs/cli.md");
        for (name, command) in all()
            .iter()
            .filter(|(_, c)| !c.has_subcommands() && !c.is_hide_set())
        {
            assert!(
                page.contains(&format!("`{name}")),
                "docs/cli.md lacks `{name}` ({command})"
            );
        }
    }
}
