# Everything one does with a checkout. `make` alone lists it.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
bin := .venv/bin
workers ?= 2

.PHONY: help demo check lint format test test-fast test-slurm test-frameworks test-data test-fire test-versions docs assets bench clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## train a small network on this machine in three linked jobs (about a minute after installation)
	@tools/demo.sh

check: ## the gate before a commit: form, types, imports, spelling and the fast tests (under a minute)
	@$(MAKE) lint
	$(MAKE) test-fast

lint: ## form, types, imports, Python 3.6 in the job package, spelling
	@tools/venv.sh test check
	tools/lint.sh

format: ## rewrite the code in the one form that `make lint` accepts
	@tools/venv.sh test check
	$(bin)/ruff check -q --fix-only .
	$(bin)/ruff format -q .
	$(bin)/python tools/make_reference.py

test-fast: ## the tests that need neither Slurm nor patience
	@tools/venv.sh test check
	$(bin)/python -m pytest -q -n $(workers) -m "not slurm and not slow and not frameworks and not peers"

test: ## everything, with a real Slurm where one can be had (root on Debian or Ubuntu): under 30 minutes
	@$(MAKE) lint
	tools/test.sh

test-slurm: ## only the tests with the real Slurm
	@tools/venv.sh test check
	$(bin)/python -m pytest -q -m "slurm and not frameworks"

test-frameworks: ## every launcher with its real framework (5 GB and ten minutes the first time, then ten more)
	@tools/venv.sh test check
	tools/frameworks.sh
	$(bin)/python -m pytest -q -m frameworks

test-data: ## packed data beside the libraries of other formats (3 GB and three minutes the first time)
	@tools/peers.sh
	.venv-peers/bin/python -m pytest -q -m "peers and not slurm"

test-fire: ## a long training struck fifty times, on pocket and on the real Slurm; a farm of 10,000 tasks (forty minutes)
	@tools/venv.sh test check
	WINDLASS_BLOWS=50 $(bin)/python -m pytest -q -s tests/fire
	WINDLASS_FARM_TASKS=10000 $(bin)/python -m pytest -q -s tests/farming/test_under_fire.py

test-versions: ## the contracts with newer versions of Slurm, 24.11 and 26.05
	@tools/venv.sh test check
	for suite in trixie sid; do
	  PYTHON=$(bin)/python tests/cluster/versions.sh $$suite \
	    python3 -m pytest -q -p no:cacheprovider -m slurm tests/contracts tests/schedulers
	done

docs: ## the manual, as a web site in site/
	@tools/venv.sh docs
	$(bin)/python tools/make_reference.py
	NO_MKDOCS_2_WARNING=1 $(bin)/mkdocs build --strict --quiet
	echo "docs: site/index.html"

assets: ## what the dashboard's pages need to move: htmx and uPlot, by npm (a few seconds)
	@tools/venv.sh
	tools/assets.sh

bench: ## measure Windlass beside its peers
	@tools/venv.sh bench
	$(bin)/python -m benchmarks

clean: ## remove what was built here; .venv and .demo too
	@rm -rf .venv .demo .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist site
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
