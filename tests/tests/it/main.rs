//! The one binary of the tests that need whole programs; each file is one feature.

mod authority;
mod claude_faults;
mod claude_process;
mod claude_turns;
mod cli_agents;
mod cli_backup;
mod cli_mail;
mod cli_refusals;
mod cli_up;
mod conformance;
mod crash;
mod crash_fsync;
mod damage;
mod docker_claude;
mod docker_inside;
mod docker_life;
mod engine_install;
mod first_message;
mod harness_turns;
mod kills;
mod mail;
mod operator_socket;
mod purge;
mod sessions;
mod soak;
mod tidy;
