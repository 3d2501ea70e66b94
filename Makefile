# `make demo` explains a crash, `make test` checks everything; both set up what they need, in .venv and target.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

export PATH := $(PATH):$(HOME)/.cargo/bin
# One interpreter for every cargo run, so that none rebuilds what another has built; and no run links libpython.
export PYO3_PYTHON := $(CURDIR)/.venv/bin/python
export PYO3_BUILD_EXTENSION_MODULE := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --constraint constraints.txt
RUST := Cargo.toml Cargo.lock $(wildcard crates/*/Cargo.toml) $(shell find crates/*/src -name '*.rs')
PACKAGING := setup.cfg pyproject.toml constraints.txt

# Stamps: what each says is done, and need not be done again.
PYTHON_READY := .venv/.python
COMMAND_READY := .venv/.command
TOOLS_READY := .venv/.tools

.PHONY: help demo test lint format bench throughput lab lab-smoke clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(COMMAND_READY)  ## set up .venv/bin/scapscope and explain why a container crashed
	@$(BIN)/scapscope explain traces/none-docker-redis.scap
	@echo
	@echo "The redis:2.8.22 in this capture is a look-alike: traces/README.md says what it is."
	@echo "For a capture of your own: $(BIN)/scapscope explain FILE.scap"

test: $(TOOLS_READY)  ## run every test, Rust's and Python's
	@tools/debian-packages sysdig tmux
	cargo test --workspace --locked
	$(BIN)/pytest

lint: $(TOOLS_READY)  ## check style and types: ruff, mypy, yamllint, luacheck, rules, rustfmt, clippy
	@tools/check-requirements rust-lint
	@tools/debian-packages lua-check
	@if command -v luacheck; then luacheck --quiet --config chisels/.luacheckrc chisels tests/lua; fi
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/yamllint --strict .
	$(BIN)/scapscope rules lint
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- --deny warnings

format: $(TOOLS_READY)  ## lay out the code as lint wants it
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	cargo fmt --all

bench: $(TOOLS_READY)  ## measure speed and memory against sysdig on large captures
	@tools/debian-packages sysdig pigz isal
	$(BIN)/python -m benchmarks

LAB_PACKAGES := mmdebstrap genext2fs debian-archive-keyring qemu-system-x86 dietlibc-dev gcc libc6-dev

throughput: $(TOOLS_READY)  ## measure in the lab how often a program gets the time, by which way
	@tools/debian-packages $(LAB_PACKAGES)
	$(BIN)/python -m benchmarks.throughput

lab: $(TOOLS_READY)  ## record the captures again in a virtual machine: all, or SCENARIO=name; KEEP=yes puts them into traces/
	@tools/debian-packages $(LAB_PACKAGES)
	$(BIN)/python -m traces.lab $(if $(KEEP),--keep) $(SCENARIO)

lab-smoke: $(TOOLS_READY)  ## record one crash and one healthy program
	@tools/debian-packages $(LAB_PACKAGES)
	$(BIN)/python -m traces.lab --smoke

clean:  ## remove everything that make made, the lab's guest too
	rm -rf .venv target build dist benchmarks/.cache analyzer/*.egg-info analyzer/scapscope/_native*.so
	rm -rf .mypy_cache .pytest_cache .ruff_cache
	find analyzer tests benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

$(PYTHON_READY): pyproject.toml constraints.txt tools/check-requirements
	@tools/check-requirements build
	@echo "Setting up .venv ..."
	@$$(tools/check-requirements python) -m venv .venv
	@$(PIP) $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])')
	@touch $@

$(COMMAND_READY): $(PYTHON_READY) $(PACKAGING) $(RUST)
	@echo "Building scapscope (about two minutes the first time) ..."
	@$(PIP) --no-build-isolation --editable .
	@touch $@

$(TOOLS_READY): $(PACKAGING) | $(COMMAND_READY)
	@echo "Installing what the tests and linters need ..."
	@$(PIP) --no-build-isolation --editable '.[dev]'
	@touch $@
