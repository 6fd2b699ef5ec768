# Everything a developer or a build server runs. `make help` lists it.
# A fresh machine needs Python 3.11 or newer and make, nothing else.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CACHE := .cache
UV_VERSION := 0.13.9
# Every process would compile all sources anew.
unexport PYTHONDONTWRITEBYTECODE
SOURCES := agent bench hub roadstead shared tests

# What the caller may pass on.
DEMO_ARGS ?=
TEST_ARGS ?=
COVERAGE ?=
BENCH ?= dispatch
BENCH_ARGS ?=
SEEDS ?=
SIMULATE_ARGS ?=
# Seeds of `make simulations`: of the model, of whole hubs, and of three owners.
MODELLED ?= 1,20000
HUBS ?= 1,1000
OWNERS ?= 1,1000
CHAOS_ARGS ?=
PLANTED ?=
MODULE ?= hub/domain/quota/ledger.py
MUTATE_ARGS ?=
RELEASE_ARGS ?=
EXAMPLES ?= 100

.DEFAULT_GOAL := help
.PHONY: help setup demo simulate simulations test test-domain coverage test-api test-slow test-postgres test-browser test-real chaos soak planted mutate check check-format check-lint check-types check-imports \
	check-yaml format bench helm lock manifests realkube release clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## Make .venv with everything that is locked

# Dependencies come from the lock file alone, each checked against its hash; the project itself is
# installed editable, built with the locked build backend.
$(READY): requirements/lock.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Roadstead needs Python 3.11 or newer: make PYTHON=/path/to/python3" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing what is locked into $(VENV): once, a minute or two"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/lock.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY)  ## Start hub, three simulated clusters and agents; run the guide (DEMO_ARGS=--exit ends it)
	$(BIN)/roadstead demo $(DEMO_ARGS)

# Tests mostly wait: more workers than cores. `WORKERS=0` runs one after the other.
WORKERS ?= 4

test: $(READY)  ## Run the tests that need nothing installed (TEST_ARGS="-k name")
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow and not soak" $(if $(COVERAGE),--cov --cov-report=) $(TEST_ARGS)
	$(if $(COVERAGE),$(BIN)/python -m tests.coverage_floors)

coverage: COVERAGE := 1
coverage: test  ## The same, measured: what is covered of domain, services, bridge and agent

# Every change measures the domain alone: its tests need no database, and measuring costs them little.
test-domain: COVERAGE := 1
test-domain: $(READY)  ## Run the tests of the domain, measured: lines and branches have floors
	$(BIN)/python -m pytest $(PLAIN) -n $(WORKERS) $(if $(COVERAGE),--cov=hub/domain --cov-report=) tests/domain tests/offline $(TEST_ARGS)
	$(if $(COVERAGE),$(BIN)/python -m tests.coverage_floors --own)

# Half a CPU second for each worker: the plugin that only tests/openapi needs.
PLAIN := -p no:schemathesis

# A worker imports every file that it is given: only those that have such tests, unless TEST_ARGS names some.
NAMED = $(filter tests/%,$(TEST_ARGS))
SLOW = $(filter-out tests/web/%,$(shell grep -rl --include='test_*.py' 'mark\.slow' tests))
# Files whose properties Hypothesis tries.
PROPERTIES = $(shell grep -rlE --include='test_*.py' 'hypothesis|tests.examples' tests)
# Files with tests that wait for `make soak`.
SOAKING = $(shell grep -rl --include='test_*.py' 'soak' tests)
ON_ANY_KUBE = tests/kubesim $(shell grep -rlE --include='test_*.py' 'mark\.realkube|any_cluster|cluster_kubeconfig' tests)

test-slow: $(READY)  ## Run the tests of whole processes: kill -9, restarts, fleets
	$(BIN)/python -m pytest $(PLAIN) -n $(WORKERS) --dist loadgroup -m "slow and not browser and not soak" $(if $(NAMED),,$(SLOW)) $(TEST_ARGS)

test-api: $(READY)  ## Ask each operation of the API what its description allows and what not: EXAMPLES=100
	API_EXAMPLES=$(EXAMPLES) $(BIN)/python -m pytest tests/openapi/test_any_request.py $(TEST_ARGS)

simulate: $(READY)  ## Play seeds of the deterministic simulation: SEEDS=first,count
	@$(BIN)/python -m tests.simulation --seeds $(or $(SEEDS),$(MODELLED)) $(SIMULATE_ARGS)

simulations: $(READY)  ## Play every level of the simulation before a release (MODELLED=1,20000 HUBS=1,1000 OWNERS=1,1000)
	@$(BIN)/python -m tests.simulation --seeds $(MODELLED) \
		$(foreach level,services replicas restores,--also $(level)=$(HUBS)) --also owners=$(OWNERS)

# POSTGRES=few: what every change is held to (tests/on_postgres.txt says why these).
POSTGRES ?=
ON_POSTGRES := tests/services/members tests/services/scheduling tests/services/works tests/services/jobs tests/attack
FEW_ON_POSTGRES = $(shell sed 's/ *\#.*//' tests/on_postgres.txt)

test-postgres: $(READY)  ## Run the tests of hubs on PostgreSQL (needs its server; POSTGRES=few: those of every change)
	$(BIN)/python -m pytest $(PLAIN) -n $(WORKERS) --store=postgres -m "not slow$(if $(POSTGRES), and not soak)" \
		$(if $(POSTGRES),$(FEW_ON_POSTGRES),$(ON_POSTGRES)) $(TEST_ARGS)

test-browser: $(READY)  ## Run the tests of the live page in a real browser (needs chromium on PATH)
	$(BIN)/python -m pytest $(PLAIN) -m browser tests/web $(TEST_ARGS)

# Each worker has a control plane of its own.
PLANES ?= 3
# LONG=1: those too that wait for `make soak`.
LONG ?=
# An older Kubernetes than the newest that is supported: KUBE=1.30.
KUBE ?=
test-real realkube: export REALKUBE_VERSION := $(KUBE)

test-real: $(READY) realkube helm  ## Run what Kubernetes must agree with on a real control plane (needs Go; KUBE=1.30)
	$(BIN)/python -m pytest $(PLAIN) -n $(PLANES) --dist loadgroup --kube=real -m "(realkube or anykube)$(if $(LONG),, and not soak)" $(if $(NAMED),,$(ON_ANY_KUBE)) $(TEST_ARGS)

# A comma in a default would end an argument of $(or).
FEW := 1,2
MANY := 1,100

chaos: $(READY)  ## Play random fault schedules on real processes: SEEDS=first,count (1,2)
	@$(BIN)/python -m tests.chaos --seeds=$(or $(SEEDS),$(FEW)) $(CHAOS_ARGS)

soak: $(READY)  ## What is too long for every change, for hours: campaigns, every kill, the oldest Kubernetes (SEEDS=1,100)
	@$(MAKE) simulations
	@$(MAKE) test-api
	@$(MAKE) test-postgres
	CI=1 PROPERTY_TIMES=10 $(BIN)/python -m pytest -n $(WORKERS) --timeout=3000 -m "not slow" $(PROPERTIES)
	@$(BIN)/python -m tests.chaos --seeds=$(or $(SEEDS),$(MANY)) $(CHAOS_ARGS)
	@$(BIN)/python -m tests.chaos --replicas=2 --seeds=$(or $(SEEDS),$(MANY)) $(CHAOS_ARGS)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m "soak and not realkube" $(if $(NAMED),,$(SOAKING)) $(TEST_ARGS)
	@$(MAKE) test-real LONG=1
	@$(MAKE) test-real LONG=1 KUBE=1.30

planted: $(READY)  ## Plant defects one at a time; each must be found (PLANTED="name …")
	@$(BIN)/python -m tests.planted $(PLANTED)

mutate: $(READY)  ## Mutate one module; what no test notices is printed (MODULE=hub/domain/quota/ledger.py)
	@$(BIN)/python -m tests.mutate $(MODULE) $(MUTATE_ARGS)

check: check-format check-lint check-types check-imports check-yaml  ## Format, lint, types and import contracts

check-format: $(READY)
	$(BIN)/ruff format --check $(SOURCES)

check-lint: $(READY)
	$(BIN)/ruff check $(SOURCES)

check-types: $(READY)
	$(BIN)/mypy

check-imports: $(READY)
	$(BIN)/lint-imports --no-cache

check-yaml: $(READY)
	$(BIN)/yamllint --strict .

format: $(READY)  ## Rewrite the sources in the house format
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

bench: $(READY)  ## Run a benchmark: BENCH=dispatch BENCH_ARGS="--json --jobs 20000 --members 10"
	@$(BIN)/python -m bench.$(BENCH) $(BENCH_ARGS)

helm: $(READY)  ## Build what reads charts and compose files (a minute or two once; needs Go)
	$(BIN)/python -m tests.charts.programs

manifests: $(READY)  ## Render the plain manifests below deploy/ from the charts (needs Go)
	$(BIN)/python -m tests.charts.manifests

release: $(READY)  ## Make a release in dist/ and publish nothing (needs Go; RELEASE_ARGS=--final)
	$(BIN)/python -m tests.release $(RELEASE_ARGS)

realkube: $(READY)  ## Build the real control plane, and Kueue for it (minutes once, then nothing)
	$(BIN)/python -m tests.realkube.build
	$(if $(KUBE),,$(BIN)/python -m tests.realkube.kueue.building)

# A lock without index addresses: the same file serves every mirror (docs/adr/0003-lock-file.md).
COMPILE := $(CACHE)/lock/bin/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header

lock: $(CACHE)/lock/bin/uv  ## Resolve the dependencies anew (LOCK_ARGS=--upgrade takes newer ones)
	$(COMPILE) $(LOCK_ARGS) --all-extras --group dev pyproject.toml -o requirements/lock.txt
	for extra in hub agent sim; do \
		$(COMPILE) --extra $$extra pyproject.toml -c requirements/lock.txt -o requirements/$$extra.txt || exit 1; done
	$(COMPILE) --group build -c requirements/lock.txt -o requirements/build.txt

$(CACHE)/lock/bin/uv:
	$(PYTHON) -m venv $(CACHE)/lock
	$(CACHE)/lock/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

clean:  ## Remove the environment and every cache inside the repository
	rm -rf $(VENV) $(CACHE) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find $(SOURCES) -name __pycache__ -prune -exec rm -rf {} +
