#!/usr/bin/env bash
# What `make bench` runs: release builds of hive, what it is measured beside, then the measurements.
#
#   bench.sh [--quick] [--only GROUP,…] [--bless]
#
# What cannot be had (a broker's package, a Docker engine, claude, valgrind) is named in the table as
# skipped; everything else is measured all the same. Brokers run on loopback or Unix sockets, in
# temporary directories, and only while the program runs.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
# shellcheck source=tests/env.sh
. tests/env.sh

# One by one: a package that does not exist must not keep the others away.
optional() { # optional COMMAND-OR-FILE PACKAGE
    command -v "$1" >/dev/null || [ -e "$1" ] && return 0
    packages=("$2")
    install_packages || printf 'note: %s cannot be installed; its figures are skipped\n' "$2"
}

step "packages"
need_engine
install_packages || printf 'note: no Docker engine without these packages\n'
# The packages' own services are not wanted: nothing must listen beside what is measured.
if [ "$(id -u)" = 0 ] && [ ! -e /usr/sbin/policy-rc.d ]; then
    printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
    chmod 0755 /usr/sbin/policy-rc.d
    mine=1
fi
optional nats-server nats-server
optional redis-server redis-server
optional /usr/lib/postgresql postgresql
optional valgrind valgrind
[ -z "${mine:-}" ] || rm -f /usr/sbin/policy-rc.d

step "docker engine and agent image"
if start_engine; then agent_image || printf 'note: no agent image\n'; else printf 'note: no Docker engine\n'; fi

step "claude $claude_version"
fetch_claude || printf 'note: no claude %s; its figures are skipped\n' "$claude_version"

step "release builds"
make --no-print-directory build
HIVE_TEST_HIVED=$root/target/release/hived
HIVE_TEST_HIVE=$root/target/$(host)/release/hive
HIVE_TEST_STATIC_HIVE=$HIVE_TEST_HIVE
export HIVE_TEST_HIVED HIVE_TEST_HIVE HIVE_TEST_STATIC_HIVE
cargo build --locked --release -p hive-bench --features peers

step "measurements"
ulimit -n "$(ulimit -Hn)"
target/release/hive-bench --out target/bench "$@"
