#!/usr/bin/env bash
# What `make test` runs: sets up everything that the tests need, then runs them.
#
#   run.sh [NEXTEST ARGUMENTS]
#
# Real things are needed: a Docker engine, the real claude, strace. What is missing is installed (Debian
# packages need root); a Docker engine is started in a directory of its own when none answers, and
# stopped at the end. Nothing is skipped: without one of them the run fails.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

claude_version=2.1.332
work=$root/target/test-env
mkdir -p "$work"

steps=()
begin=$SECONDS
step() {
    [ -z "${step_name:-}" ] || steps+=("$((SECONDS - step_start)) s	$step_name")
    step_name=${1:-} step_start=$SECONDS
    [ -z "$step_name" ] || printf '\n== %s\n' "$step_name"
}
die() { printf 'error: %s\n' "$1" >&2; [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2; exit 1; }

engine_dir=
finish() {
    local code=$?
    step
    if [ -n "$engine_dir" ]; then
        kill "$(cat "$engine_dir/pid" 2>/dev/null)" 2>/dev/null || true
        for _ in $(seq 100); do [ -e "$engine_dir/pid" ] || break; sleep 0.1; done
        umount "$engine_dir"/data/*/* "$engine_dir"/exec/*/* 2>/dev/null || true
        rm -rf "$engine_dir" || true
    fi
    printf '\nseconds per step:\n'
    printf '  %s\n' "${steps[@]}" "$((SECONDS - begin)) s	total"
    exit "$code"
}
trap finish EXIT

need() { # need COMMAND PACKAGE
    command -v "$1" >/dev/null || packages+=("$2")
}

step "packages"
packages=()
need cc gcc
need docker docker.io
need dockerd docker.io
need containerd containerd
need runc runc
need iptables iptables
need debootstrap debootstrap
need strace strace
need npm npm
need mkfs.ext4 e2fsprogs
[ -e /usr/include/stdio.h ] || packages+=(libc6-dev)
if [ ${#packages[@]} -gt 0 ]; then
    [ "$(id -u)" = 0 ] || die "missing packages: ${packages[*]}" "sudo apt-get install ${packages[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >"$work/apt.log" 2>&1 ||
        { tail -n 5 "$work/apt.log" >&2; die "apt-get install failed"; }
fi
command -v cargo-nextest >/dev/null || cargo install --locked cargo-nextest

step "docker engine"
if ! docker version >/dev/null 2>&1; then
    [ "$(id -u)" = 0 ] || die "no Docker engine answers, and starting one needs root" "start one, or set DOCKER_HOST"
    engine_dir=$(mktemp -d /tmp/hive-docker.XXXXXX)
    dockerd --data-root "$engine_dir/data" --exec-root "$engine_dir/exec" --pidfile "$engine_dir/pid" \
        -H "unix://$engine_dir/docker.sock" >"$work/dockerd.log" 2>&1 &
    export DOCKER_HOST=unix://$engine_dir/docker.sock
    for _ in $(seq 300); do docker version >/dev/null 2>&1 && break; sleep 0.2; done
    docker version >/dev/null 2>&1 || { tail -n 20 "$work/dockerd.log" >&2; die "dockerd did not start"; }
fi

step "agent image"
docker image inspect hive-agent:latest >/dev/null 2>&1 || deploy/image/build.sh

step "claude $claude_version"
claude=$work/claude-$claude_version/claude
if [ ! -x "$claude" ]; then
    case $(uname -m) in
        x86_64) platform=linux-x64 ;;
        aarch64) platform=linux-arm64 ;;
        *) die "no claude for $(uname -m)" ;;
    esac
    (
        mkdir -p "$work/npm" && cd "$work/npm"
        rm -rf package ./*.tgz
        npm pack --silent "@anthropic-ai/claude-code-$platform@$claude_version" >/dev/null
        tar -xzf ./*.tgz package/claude
        mkdir -p "$(dirname "$claude")"
        chmod 0755 package/claude && mv package/claude "$claude"
        rm -rf package ./*.tgz
    )
fi
export HIVE_TEST_CLAUDE=$claude

step "static hive"
host=$(rustc -vV | sed -n 's/^host: //p')
make --no-print-directory static
export HIVE_TEST_STATIC_HIVE=$root/target/$host/debug/hive

step "build"
cargo build --locked --workspace --all-targets
export HIVE_TEST_HIVED=$root/target/debug/hived

step "tests"
cargo nextest run --locked --workspace "$@"
