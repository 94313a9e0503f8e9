# Everything starts here: each target does the set-up it needs on a machine that has
# Python >= 3.11, git and make, and nothing else.
PYTHON ?= python3
VENV := .venv
ORACLE := .venv-oracle
RIVALS := .venv-rivals
BROWSER := .venv-ui
BIN := $(VENV)/bin
LOCK := --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --quiet
COMPILE := $(BIN)/uv pip compile pyproject.toml --all-extras $(LOCK)

# Where it is set, each process of each test would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup environments page demo demo-cluster test test-ui test-oracle test-agents prefetch soak soak-clones format bench compare lock clean
.PHONY: check check-ruff check-mypy check-basedpyright check-structure check-ui

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

environments: setup $(ORACLE)/ready $(BROWSER)/ready ## setup, and what test-oracle and test-ui install

setup: $(VENV)/ready page ## a .venv with all that is needed, and the page of weft ui; nothing to do when they are there
	@echo "ready: $(BIN)/weft"

# Without node and npm, or without a network, all but `weft ui` and the HTML files works.
page: $(VENV)/ready
	@if $(BIN)/python ui/bundle.py --needs-node; then \
		$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/node.lock || true; \
	fi
	@$(BIN)/python ui/bundle.py --optional

demo: $(VENV)/ready page ## two agents and a plan, from YAML to what landed on main; no key, no network
	@$(BIN)/python examples/demo/demo.py

demo-cluster: $(VENV)/ready ## the plan of the demo on three machines, which are network namespaces: over ssh and over Dask
	@$(BIN)/python examples/cluster/demo.py

test: $(VENV)/ready page ## all tests that need no other tool, with coverage
	@$(BIN)/pytest -n auto --dist worksteal --cov --cov-report=term

test-oracle: $(ORACLE)/ready ## our verdicts against those of pm4py, SNAKES and SimPy
	@$(ORACLE)/bin/python -m pytest -c tests/oracle/pytest.ini tests/oracle

test-agents: $(VENV)/ready ## real coding agents, installed first, with a scripted model; AGENTS="codex goose" for some
	@$(BIN)/python tests/real_agents/installing.py $(AGENTS)
	@WEFT_AGENTS="$(AGENTS)" $(BIN)/pytest -c tests/real_agents/pytest.ini -n 2 --dist loadgroup tests/real_agents

test-ui: $(VENV)/ready $(BROWSER)/ready page ## the page of weft ui in a real Chromium, against real runs
	@$(BIN)/python ui/bundle.py --develop --optional
	@$(BROWSER)/bin/python -m pytest -c tests/ui/pytest.ini tests/ui

prefetch: $(VENV)/ready $(ORACLE)/ready ## all that test-oracle and test-agents install
	@$(BIN)/python tests/real_agents/installing.py $(AGENTS)

soak: $(VENV)/ready ## campaigns of kills, faults, attacks and fuzzing; CAMPAIGNS="kill fuzz", MINUTES=10, SEEDS="1 2"
	@PYTHONPATH=tests:. $(BIN)/python -m soak $(CAMPAIGNS) --seeds "$(SEEDS)" --slices $(or $(SLICES),40) --minutes $(or $(MINUTES),10)

soak-clones: $(VENV)/ready ## clones that are killed at every call of git, and the machine of workspaces over them
	@WEFT_CLONES=all WEFT_MACHINES=20 $(BIN)/pytest -q -n auto --timeout 3600 -k clone tests/workspaces/test_worktrees_crashes.py \
		tests/workspaces/test_clones_crashes.py tests/workspaces/test_worktrees_machine.py

check: $(VENV)/ready ## format, lint, types, layers, dependencies, dead code
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target check-basedpyright check-mypy check-ruff check-structure check-ui

check-ruff: $(VENV)/ready
	@$(BIN)/ruff format --check --quiet || { echo "run: make format"; exit 1; }
	@$(BIN)/ruff check --quiet

check-mypy: $(VENV)/ready
	@$(BIN)/mypy

check-basedpyright: $(VENV)/ready
	@$(BIN)/basedpyright

check-structure: $(VENV)/ready
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/deptry src
	@$(BIN)/vulture

check-ui: $(VENV)/ready page
	@$(BIN)/python ui/bundle.py --check --optional

format: $(VENV)/ready ## put the code in its standard form, and the generated files
	@PYTHONPATH=tests $(BIN)/python -m agents.agent_table
	@PYTHONPATH=tests $(BIN)/python -m web.api_types
	@$(BIN)/ruff format --quiet
	@$(BIN)/ruff check --fix --quiet || true
	@$(BIN)/python ui/bundle.py --format --optional

bench: $(VENV)/ready ## the asv suites, on this interpreter
	@cd benchmarks && ../$(BIN)/asv machine --yes >/dev/null && ../$(BIN)/asv run --python=same --quick --show-stderr

compare: $(ORACLE)/ready $(RIVALS)/ready ## ours beside other tools, in one run, as ratios
	@RIVALS=$(RIVALS) $(ORACLE)/bin/python -m benchmarks.compare

lock: $(VENV)/ready ## newest versions into requirements/*.lock
	@$(COMPILE) --upgrade --group dev -o requirements/dev.lock
	@$(COMPILE) --upgrade --group oracle -o requirements/oracle.lock
	@$(BIN)/uv pip compile --group rivals $(LOCK) --upgrade -o requirements/rivals.lock
	@$(BIN)/uv pip compile --group ui $(LOCK) --upgrade -o requirements/ui.lock
	@$(BIN)/uv pip compile --group node $(LOCK) --upgrade -o requirements/node.lock

clean: ## remove what the targets above made
	rm -rf $(VENV) $(ORACLE) $(RIVALS) $(BROWSER) ui/node_modules src/weft/web/static .coverage* .mypy_cache .pytest_cache .ruff_cache .hypothesis htmlcov

# A stamp, so that a second `make setup` costs nothing. The package is editable and its own build
# tools are locked too, so nothing is fetched that has no hash. A lock file names everything, so pip has nothing to
# resolve: left to itself it looks at newer versions of what only an extra asks for, and fails the day that one is out.
# Most of what the other environments hold is never imported, so it is compiled only when it is.
$(ORACLE)/ready $(RIVALS)/ready $(BROWSER)/ready: PIP_FLAGS := --no-compile
$(VENV)/ready: requirements/dev.lock pyproject.toml
$(ORACLE)/ready: requirements/oracle.lock pyproject.toml
$(VENV)/ready $(ORACLE)/ready:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Weft needs Python 3.11 or later; name one: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	@echo "setting up $(@D) from $< ..."
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/pip install --quiet --disable-pip-version-check $(PIP_FLAGS) --require-hashes --no-deps -r $<
	@$(@D)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(@D)/bin/pip check >$(@D)/missing || { cat $(@D)/missing; exit 1; }
	@touch $@

# These know nothing of the package.
$(RIVALS)/ready: requirements/rivals.lock
$(BROWSER)/ready: requirements/ui.lock
$(RIVALS)/ready $(BROWSER)/ready:
	@echo "setting up $(@D) from $< ..."
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/pip install --quiet --disable-pip-version-check $(PIP_FLAGS) --require-hashes --no-deps -r $<
	@$(@D)/bin/pip check >$(@D)/missing || { cat $(@D)/missing; exit 1; }
	@touch $@
