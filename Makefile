# Needs Python 3.11 or newer and make; everything else goes into .venv, once.
PYTHON  ?= python3
MINIMUM := 3.11
VENV    := .venv
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.installed
WORKERS ?= auto
PINS    ?=# further requirements, such as versions to test with: make unit PINS="scikit-learn==1.6.1"

.DEFAULT_GOAL := help
.PHONY: help demo test bench docs release-check coverage lint types unit dropin clients campaign faults files soak format clean distclean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' Makefile

demo: $(STAMP)  ## a tour of the command line, on data that is built in
	$(BIN)/resolvent demo

# Sub-makes keep the order, cheapest check first, under -j too.
test: $(STAMP)  ## lint, types, then every test
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory types
	@$(MAKE) --no-print-directory unit

bench: $(STAMP)  ## every benchmark, hours (one table: make bench TABLES="svm --quick")
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/python -m benchmarks $(TABLES)

docs: $(STAMP)  ## the site, its gallery included, into docs/_build/html
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	$(BIN)/python -m sphinx -W -n --keep-going -b html docs docs/_build/html

release-check: $(STAMP)  ## build, check and install what would be released, newest and oldest
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'build>=1.2' 'twine>=5.1'
	$(BIN)/python tools/release_check.py

coverage: $(STAMP)  ## the tests with the lines that they reach (compiled code is not seen)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pytest-cov>=5.0'
	$(BIN)/python -m pytest -n $(WORKERS) --cov --cov-report=term:skip-covered

lint: $(STAMP)  ## ruff: rules and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)  ## mypy on src
	$(BIN)/mypy

unit: $(STAMP)  ## the tests alone (WORKERS=2 for two processes)
	$(BIN)/python -m pytest -n $(WORKERS)

campaign: $(STAMP)  ## search for wrong answers at random (MINUTES=30, SEED=1)
	$(BIN)/python -m tests.campaign --minutes $(or $(MINUTES),30) $(if $(SEED),--seed $(SEED))

faults: $(STAMP)  ## Ctrl-C at random moments, memory measured (MINUTES=10)
	$(BIN)/python -m tests.campaign.faults --minutes $(or $(MINUTES),10)

files: $(STAMP)  ## damaged model files and data files (MINUTES=10, SEED=1)
	$(BIN)/python -m tests.campaign.files --seconds $$((60 * $(or $(MINUTES),10))) $(if $(SEED),--seed $(SEED))

soak: $(STAMP)  ## random fits in one process, whose memory must stay flat (MINUTES=60)
	$(BIN)/python -m tests.campaign.soak --minutes $(or $(MINUTES),60)

dropin: $(STAMP)  ## scikit-learn's own tests of the classes that have its names (also part of unit)
	$(BIN)/python -m pytest tests/dropin -n $(WORKERS)

# In an environment of its own; a package that does not install is left out.
clients:  ## packages that build on scikit-learn's SVMs, plain and patched (GALLERY=.../examples: its scripts too)
	@test -x .venv-clients/bin/python || "$(PYTHON)" -m venv .venv-clients
	.venv-clients/bin/python -m pip install --quiet --disable-pip-version-check -e '.[onnx,plot]' pandas
	@for package in $$(sed '/^#/d' tests/clients/packages.txt); do \
	  .venv-clients/bin/python -m pip install --quiet --disable-pip-version-check $$package || \
	  echo "$$package does not install here"; done
	.venv-clients/bin/python -m tests.clients
	$(if $(GALLERY),.venv-clients/bin/python -m tests.clients.gallery $(GALLERY))

format: $(STAMP)  ## apply ruff's fixes and formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove caches, compiled loops and build output; keep .venv
	rm -rf build dist demo-output .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name $(VENV) -prune -o -type d -name __pycache__ -exec rm -rf {} +

distclean: clean  ## remove .venv as well
	rm -rf $(VENV) .venv-clients

$(STAMP): pyproject.toml
	@command -v "$(PYTHON)" >/dev/null 2>&1 || { \
	  echo "resolvent needs Python $(MINIMUM) or newer, and '$(PYTHON)' was not found; try: make PYTHON=python$(MINIMUM)" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info[:2] < tuple(map(int, "$(MINIMUM)".split("."))))' || { \
	  echo "resolvent needs Python $(MINIMUM) or newer, and '$(PYTHON)' is $$("$(PYTHON)" -V 2>&1); try: make PYTHON=python$(MINIMUM)" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' cannot make virtual environments (no venv or ensurepip module); on Debian and Ubuntu install the package python3-venv" >&2; exit 1; }
	@echo "Installing into $(VENV): once, and again when pyproject.toml changes."
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || "$(PYTHON)" -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]' $(PINS)
	@touch $@
