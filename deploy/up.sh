#!/usr/bin/env bash
# What `make up` runs: build, install, agent image if a Docker engine answers, start the hive.
#
#   up.sh PREFIX
set -euo pipefail
cd "$(dirname "$0")/.."
prefix=$1

step() { printf '\n== %s\n' "$*"; }
die() { printf 'error: %s\n' "$1" >&2; [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2; exit 1; }

install_packages() {
    if [ "$(id -u)" = 0 ]; then apt=(apt-get); else apt=(sudo apt-get); fi
    "${apt[@]}" update -qq
    "${apt[@]}" install -y -qq --no-install-recommends "$@" >/dev/null
}

command -v cargo >/dev/null || die "no cargo" "install a Rust toolchain (rustup), then run make up again"
if ! command -v cc >/dev/null || ! cc -xc -static -o /dev/null - <<<'int main(void){return 0;}' 2>/dev/null; then
    step "installing a C compiler and the C library (SQLite and the static hive need them)"
    install_packages gcc libc6-dev
fi

step "building hived and hive (a few minutes the first time)"
make --no-print-directory install "PREFIX=$prefix"

if docker version >/dev/null 2>&1; then
    step "preparing the agent image"
    deploy/image/build.sh
else
    printf '\nNo Docker engine answers: the hive will run its agents as plain processes, without isolation.\n'
fi

hive=$prefix/bin/hive
if [ -n "${ANTHROPIC_API_KEY:-}" ]; then
    step "fetching Claude Code, since there is a model key"
    # npm alone is needed, to fetch: Claude Code runs without node, whatever node there is.
    if ! command -v npm >/dev/null; then
        printf 'installing npm, which fetches it\n'
        install_packages npm || printf 'note: npm cannot be installed here\n'
    fi
    "$hive" engine install claude ||
        printf 'note: without Claude Code the hive plays a story; `hive engine install claude` tries again\n'
fi

step "starting the hive"
"$hive" up
case ":$PATH:" in
    *":$prefix/bin:"*) ;;
    *) printf '\nAdd hive to your PATH:  export PATH="%s/bin:$PATH"\n' "$prefix" ;;
esac
