# The commands of the README are `make demo`, `make quick` and `make test`; each does its own set-up.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: help demo quick test test-slow lint bench clean
help:            ## what can be made
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

demo: $(READY)   ## a shop of five million rows, three views, 0.1 % changed: what a refresh costs
	@$(BIN)/rollview demo

quick: lint      ## lint, types and every test that needs no Spark (about three minutes on 2 cores)
	@$(BIN)/pytest -q -n 2 --dist worksteal -m "not slow and not spark"

test: lint       ## the same, and beside it the tests on Spark, in a process of their own (about 15 minutes on 2 cores)
	@log=$$(mktemp); trap 'kill $$spark 2>/dev/null; rm -f $$log' EXIT; \
	$(BIN)/pytest -q -m "not slow and spark" >$$log 2>&1 & spark=$$!; \
	$(BIN)/pytest -q -m "not slow and not spark"; others=$$?; \
	wait $$spark; on_spark=$$?; cat $$log; exit $$((others || on_spark))

test-slow: $(READY)  ## the slow soaks
	@$(BIN)/pytest -q -m slow

lint: $(READY)   ## ruff and mypy
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(READY)  ## the measurements behind the figures in the documentation
	@$(BIN)/rollview bench no-op

clean:           ## forget the virtual environment
	rm -rf $(VENV)

$(READY): pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.10 or newer is needed: apt install python3 python3-venv"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "Python 3.10 or newer is needed; this is $$($(PYTHON) --version). Try: make PYTHON=python3.12"; exit 1; }
	@echo "setting up $(VENV) (once, about a minute)"
	@$(PYTHON) -m venv $(VENV) || { echo "The venv module is missing: apt install python3-venv"; exit 1; }
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(READY)
