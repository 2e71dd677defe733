# Sourced by run.sh and bench.sh: what both need is installed, started and ended here.
#
# Real things are needed: a Docker engine, the real claude. What is missing is installed (Debian
# packages need root); a Docker engine is started in a directory of its own when none answers, and
# stopped at the end.
# shellcheck shell=bash

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

packages=()
need() { # need COMMAND PACKAGE
    command -v "$1" >/dev/null || packages+=("$2")
}

need_engine() {
    need docker docker.io
    need dockerd docker.io
    need containerd containerd
    need runc runc
    need iptables iptables
    need debootstrap debootstrap
    need npm npm
}

# Installs what `need` has collected; says whether everything is there now.
install_packages() {
    [ ${#packages[@]} -gt 0 ] || return 0
    [ "$(id -u)" = 0 ] || { printf 'missing packages: %s\n' "${packages[*]}" >&2; return 1; }
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >"$work/apt.log" 2>&1 ||
        { tail -n 5 "$work/apt.log" >&2; return 1; }
}

# A Docker engine that answers: the one that is there, or one of our own.
start_engine() {
    ! docker version >/dev/null 2>&1 || return 0
    [ "$(id -u)" = 0 ] || { printf 'no Docker engine answers, and starting one needs root\n' >&2; return 1; }
    engine_dir=$(mktemp -d /tmp/hive-docker.XXXXXX)
    dockerd --data-root "$engine_dir/data" --exec-root "$engine_dir/exec" --pidfile "$engine_dir/pid" \
        -H "unix://$engine_dir/docker.sock" >"$work/dockerd.log" 2>&1 &
    export DOCKER_HOST=unix://$engine_dir/docker.sock
    for _ in $(seq 300); do docker version >/dev/null 2>&1 && break; sleep 0.2; done
    docker version >/dev/null 2>&1 || { tail -n 20 "$work/dockerd.log" >&2; return 1; }
}

agent_image() {
    docker image inspect hive-agent:latest >/dev/null 2>&1 || deploy/image/build.sh
}

# The real claude; HIVE_TEST_CLAUDE names it afterwards.
fetch_claude() {
    local claude=$work/claude-$claude_version/claude platform
    if [ ! -x "$claude" ]; then
        case $(uname -m) in
            x86_64) platform=linux-x64 ;;
            aarch64) platform=linux-arm64 ;;
            *) printf 'no claude for %s\n' "$(uname -m)" >&2; return 1 ;;
        esac
        (
            set -e
            mkdir -p "$work/npm" && cd "$work/npm"
            rm -rf package ./*.tgz
            npm pack --silent "@anthropic-ai/claude-code-$platform@$claude_version" >/dev/null
            tar -xzf ./*.tgz package/claude
            mkdir -p "$(dirname "$claude")"
            chmod 0755 package/claude && mv package/claude "$claude"
            rm -rf package ./*.tgz
        ) || return 1
    fi
    export HIVE_TEST_CLAUDE=$claude
}

host() { rustc -vV | sed -n 's/^host: //p'; }
