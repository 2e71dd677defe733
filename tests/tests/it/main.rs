//! The one binary of the tests that need whole programs; each file is one feature.

mod claude_faults;
mod claude_process;
mod claude_turns;
mod cli_agents;
mod cli_backup;
mod cli_mail;
mod cli_refusals;
mod cli_up;
mod conformance;
mod engine_install;
mod harness_turns;
mod tidy;
