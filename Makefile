# hive: the two commands that matter are `make up` and `make test`; each does all its own set-up.
SHELL := /bin/bash
HOST  := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
# Where `make install` puts hived and hive.
PREFIX ?= $(if $(filter 0,$(shell id -u)),/usr/local,$(HOME)/.local)
BASE  ?=

.PHONY: help up down install build static image test lint deny crash soak bench

help: ## What can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

up: ## Build, prepare an agent image if a Docker engine answers, start a hive with a manager
	@deploy/up.sh "$(PREFIX)"

down: ## Stop hived; agents in containers keep running
	@"$(PREFIX)/bin/hive" down

install: build ## Install hived and hive into $(PREFIX)/bin
	@install -d "$(PREFIX)/bin"
	@install -m 0755 target/release/hived "$(PREFIX)/bin/hived"
	@install -m 0755 target/$(HOST)/release/hive "$(PREFIX)/bin/hive"

build: ## Release builds: hived, and hive as one static file
	cargo build --locked --release -p hived
	RUSTFLAGS="-C target-feature=+crt-static" cargo build --locked --release --target $(HOST) -p hive

# --target keeps crt-static away from proc macros, which must be dynamic.
static: ## The static hive that the tests mount into containers
	RUSTFLAGS="-C target-feature=+crt-static" cargo build --locked --target $(HOST) -p hive

image: ## Build the agent image, from BASE=image if given
	@deploy/image/build.sh $(BASE)

test: ## Everything that the tests need, then all of them
	@tests/run.sh

crash: ## The crash suite at every kill point (half an hour)
	@HIVE_CRASH=all tests/run.sh --profile long -E 'test(/crash/)' --no-capture

soak: ## Hours of load, kills and idling: HIVE_SOAK_MINUTES=120
	@HIVE_SOAK_MINUTES=$${HIVE_SOAK_MINUTES:-120} tests/run.sh --profile long -E 'test(/soak/)' --run-ignored all --no-capture

bench: ## What hive costs, beside what one would take instead: table, JSON and plots in target/bench
	@tests/bench.sh $(BENCH)

lint: ## Format and clippy, warnings denied
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo clippy --locked -p hive-bench --features peers -- -D warnings

deny: ## Licences, bans, sources and advisories of the dependencies
	@tests/deny.sh
