# Everything a newcomer and CI run. `make help` lists it.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
BIN := .venv/bin
SUPPLY_CHAIN := tools/uv run --no-project --quiet --python '>=3.11' --no-python-downloads --with pip-audit==2.10.1 \
  --with cyclonedx-bom==7.5.0 python
LOCK := tools/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url \
  --no-emit-find-links
TOOLS := .venv/.built .venv/.tools
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)

.PHONY: help review test test-rust test-python test-full test-vm lint lowest audit sbom format wheel bench docs gallery screenshots lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

review: .venv/.built ## Set up, then review this machine's disk beside four virtual drives
	@$(BIN)/fathom review

test: test-rust test-python ## Every test: Rust, then Python (in a real browser where there is one)

test-rust:
	cargo test --workspace --exclude bindings --quiet

# Python in two halves at once, with fuzzing in what they leave of the processors.
# Tests start `fathom` several hundred times: its compiled modules are kept, whatever the environment says.
FIRST_HALF := $(addprefix tests/,analysis catalog exports imports power report results statistics targets traces \
  validation)
KEPT_BYTECODE := unset PYTHONDONTWRITEBYTECODE; export PYTHONPYCACHEPREFIX='$(CURDIR)/target/pycache'
test-python: $(TOOLS)
	@$(KEPT_BYTECODE); $(BIN)/python tools/side_by_side.py \
	  fuzz 'nice -n 5 $(BIN)/pytest tests/fuzz' \
	  first-half '$(BIN)/pytest $(FIRST_HALF)' \
	  second-half '$(BIN)/pytest tests --ignore=tests/fuzz $(addprefix --ignore=,$(FIRST_HALF))'

test-full: test ## Also the long tests: ten minutes of fuzzing per parser, hundreds of kills, hours of soak
	FATHOM_FUZZ_SECONDS=600 FATHOM_FUZZ_SEED=$$(date +%s) cargo test -p trace --test fuzz -- --nocapture
	FATHOM_FUZZ_SECONDS=600 FATHOM_FUZZ_SEED=$$(date +%s) $(BIN)/pytest tests/fuzz
	$(KEPT_BYTECODE); $(BIN)/pytest -m long

test-vm: $(TOOLS) ## Drivers and power cuts of the kernel in throw-away guests; as root on Debian (a quarter of an hour)
	@tests/vm/run $(ARGS)

lint: $(TOOLS) ## Formatting, lints and types, Rust and Python; plain English in pages, docstrings and messages
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright --warnings
	$(BIN)/python tools/prose.py
	$(BIN)/python tools/stubs.py

lowest: .venv/.built ## The lowest Rust, Python and packages that are promised, as far as they can be fetched
	@$(BIN)/python tools/lowest.py

audit: ## Licences and sources of what is built in, and known faults, as far as their databases can be asked
	@if $(SUPPLY_CHAIN) -c ''; then $(SUPPLY_CHAIN) tools/supply_chain.py audit; else echo "audit: NOT done: its tools cannot be fetched here"; fi

sbom: ## Lists of what is built in, as CycloneDX, into target/sbom/
	@if $(SUPPLY_CHAIN) -c ''; then $(SUPPLY_CHAIN) tools/supply_chain.py sbom; else echo "sbom: NOT written: its tools cannot be fetched here"; fi

format: .venv/.tools ## Rewrite all sources in the house format
	cargo fmt --all
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

wheel: $(TOOLS) ## A wheel that installs without cargo, into target/wheels/
	@PATH="$(abspath .tools/bin):$$PATH" $(BIN)/maturin build --release --out target/wheels

bench: $(TOOLS) ## Speed, side by side with fio, as tables
	@PYTHON=$(BIN)/python benches/run.sh

docs: $(TOOLS) ## Build the documentation site into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

screenshots: $(TOOLS) ## Pictures of every kind of page, wide and narrow, light and dark, into target/screenshots/; part of test-full
	@$(KEPT_BYTECODE); $(BIN)/pytest -m long tests/long/test_screenshots.py
	@echo "target/screenshots"

gallery: $(TOOLS) ## A report of every method, on twins, into target/gallery/
	@$(BIN)/python tools/gallery.py target/gallery

lock: ## Choose the newest versions of every Python dependency again
	$(LOCK) --all-extras --group dev --upgrade pyproject.toml -o requirements.lock
	$(LOCK) --group build --constraints requirements.lock pyproject.toml -o requirements-run.lock

clean: ## Remove everything that was built here
	rm -rf target .venv .tools site python/fathom/_core*.so

# What running needs: made again when its lock changes.
.venv/.ready: requirements-run.lock tools/uv
	@tools/uv venv --quiet --allow-existing --python '>=3.11' --no-python-downloads .venv
	@tools/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements-run.lock
	@touch $@

# What developing needs beside it: test runners, linters, the fleet, data frames.
.venv/.tools: requirements.lock .venv/.ready
	@tools/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	@touch $@

# The extension and the package: rebuilt when Rust sources or the package's own description change.
# Without a named group maturin would fetch the tools of developers too, and without their hashes.
.venv/.built: .venv/.ready pyproject.toml $(RUST_SOURCES)
	@echo "building the release extension (once; a few minutes on two cores)" >&2
	@VIRTUAL_ENV="$(abspath .venv)" PATH="$(abspath .tools/bin):$$PATH" $(BIN)/maturin develop --release --uv --group build
	@touch $@
