#!/usr/bin/env bash
# What `make test` runs: sets up everything that the tests need, then runs them.
#
#   run.sh [NEXTEST ARGUMENTS]
#
# Nothing is skipped: without one of the real things (env.sh) the run fails.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
# shellcheck source=tests/env.sh
. tests/env.sh

step "packages"
need cc gcc
need strace strace
need mkfs.ext4 e2fsprogs
need_engine
[ -e /usr/include/stdio.h ] || packages+=(libc6-dev)
install_packages || die "these packages are needed: ${packages[*]}" "sudo apt-get install ${packages[*]}"
command -v cargo-nextest >/dev/null || cargo install --locked cargo-nextest

step "docker engine"
start_engine || die "no Docker engine" "start one, or set DOCKER_HOST"

step "agent image"
agent_image

step "claude $claude_version"
fetch_claude || die "no claude $claude_version"

step "static hive"
make --no-print-directory static
HIVE_TEST_STATIC_HIVE=$root/target/$(host)/debug/hive
export HIVE_TEST_STATIC_HIVE

step "build"
cargo build --locked --workspace --all-targets
export HIVE_TEST_HIVED=$root/target/debug/hived

step "tests"
cargo nextest run --locked --workspace "$@"
