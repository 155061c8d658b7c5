# make setup | demo | test | check | bench: each makes .venv first, from the pinned set in constraints.txt
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: setup demo test check format bench clean

setup: $(VENV)/.dev

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Sfumato needs Python 3.11 or newer; say which as: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "making $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "installing sfumato ..."
	@$(PIP) install --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	@echo "installing what tests and checks need ..."
	@$(PIP) install --constraint constraints.txt --editable '.[dev,spark]'
	@touch $@

demo: $(VENV)/.run
	@$(BIN)/sfumato demo --out demo

test: $(VENV)/.dev
	$(BIN)/pytest -n 2 --dist loadgroup --cov --cov-report=term

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks.collect

clean:
	rm -rf $(VENV) demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
