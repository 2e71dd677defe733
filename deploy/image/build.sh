#!/usr/bin/env bash
# Builds the agent image `hive-agent:latest`.
#
#   build.sh [BASE]
#
# BASE is any glibc image with a shell that the engine has or can pull. Without one: debian:bookworm-slim
# if it is there or can be pulled, else a base made by debootstrap (needs root).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
name=${HIVE_IMAGE:-hive-agent:latest}
debian_base=hive-base:bookworm

say() { printf '%s\n' "image: $*" >&2; }
die() { say "$1"; [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2; exit 1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null; then sudo -n "$@"
    else die "\`$1\` needs root" "run this as root, or name a base: make image BASE=..."
    fi
}

docker version >/dev/null 2>&1 || die "no Docker engine answers" "install and start one, or set DOCKER_HOST"

have() { docker image inspect "$1" >/dev/null 2>&1; }

bootstrap() {
    say "making a Debian base by debootstrap (about half a minute)"
    command -v debootstrap >/dev/null || as_root apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
    local dir
    dir=$(mktemp -d)
    as_root debootstrap --variant=minbase --include=git,ripgrep,ca-certificates bookworm "$dir/root" >"$dir/log" 2>&1 ||
        { tail -n 5 "$dir/log" >&2; die "debootstrap failed"; }
    # Package lists, manuals and translations are never read inside an agent.
    as_root sh -c "cd '$dir/root' && rm -rf var/lib/apt/lists/* var/cache/apt/* usr/share/doc/* usr/share/man/* usr/share/locale/* usr/share/info/*"
    as_root tar -C "$dir/root" -c . | docker import - "$debian_base" >/dev/null
    as_root rm -rf "$dir"
}

base=${1:-}
if [ -z "$base" ]; then
    if have debian:bookworm-slim; then base=debian:bookworm-slim
    elif have "$debian_base"; then base=$debian_base
    elif timeout 60 docker pull -q debian:bookworm-slim >/dev/null 2>&1; then base=debian:bookworm-slim
    else bootstrap; base=$debian_base
    fi
fi
say "building $name from $base"
# The classic builder: it needs no plugin and exists in every engine that hive supports.
DOCKER_BUILDKIT=0 docker build -q --build-arg "BASE=$base" -t "$name" -f "$here/Containerfile" "$here" >/dev/null 2>&1 ||
    DOCKER_BUILDKIT=0 docker build --build-arg "BASE=$base" -t "$name" -f "$here/Containerfile" "$here"
say "$name is ready"
