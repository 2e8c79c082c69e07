# `make demo` and `make test` need nothing but make and a Python of 3.11 or newer: everything else goes into .venv.

PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
BIN := .venv/bin
READY := .venv/ready
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-build-isolation

.DEFAULT_GOAL := help
.PHONY: help demo test lint format bench fuzz docs requirements clean

help:
	@echo 'make demo          build the example recipe for its cluster, every target'
	@echo 'make test          run every test (those that need a missing program skip and name it)'
	@echo 'make lint          style, types and generated pages'
	@echo 'make format        put the code into the house style'
	@echo 'make bench         how long rcc takes, as ratios within one run; how fast a node stages'
	@echo 'make fuzz          the property tests again, with many more examples'
	@echo 'make docs          write the generated pages'
	@echo 'make requirements  pin the newest releases that pyproject.toml allows'
	@echo 'make clean         remove .venv and caches'

demo: $(READY)
	@$(BIN)/rcc build recipes/dsv41-flash-wrapper -o build/demo

test: $(READY)
	@$(BIN)/python -m pytest -q -n auto --dist loadgroup $(ARGS)

lint: $(READY)
	@$(BIN)/ruff check -q
	@$(BIN)/ruff format -q --check
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/python -m tools.docs --check

format: $(READY)
	@$(BIN)/ruff check -q --fix
	@$(BIN)/ruff format -q

bench: $(READY)
	@$(BIN)/python -m tools.bench

fuzz: $(READY)
	@$(BIN)/python -m pytest -q -m fuzz --hypothesis-profile=fuzz $(ARGS)
	@$(BIN)/python -m tools.fuzz_lint

docs: $(READY)
	@$(BIN)/python -m tools.docs

# pip compiles what it copies, but not what it only points to; where PYTHONDONTWRITEBYTECODE is set, nobody else would.
$(READY): pyproject.toml .venv/requirements
	@$(PIP) --no-deps -e .
	@$(BIN)/python -m compileall -q compiler schema targets
	@touch $@

# The builders come first: one of the requirements is built from its source.
.venv/requirements: requirements/build.txt requirements/dev.txt
	@test -n '$(PYTHON)' || { echo 'no Python of 3.11 or newer on PATH; name one: make PYTHON=/path/to/python3'; exit 1; }
	@echo 'making .venv from the pinned requirements (a minute or two)'
	@$(PYTHON) -m venv --clear .venv
	@$(PIP) --require-hashes -r requirements/build.txt
	@$(PIP) --require-hashes -r requirements/dev.txt
	@touch $@

requirements: $(READY)
	@$(BIN)/python -m venv build/pip-tools
	@build/pip-tools/bin/python -m pip install -qq pip-tools
	@for name in build dev; do \
		test $$name = build && from=requirements/build.in || from='--extra lock --extra dev pyproject.toml'; \
		CUSTOM_COMPILE_COMMAND='make requirements' build/pip-tools/bin/pip-compile -q --upgrade --generate-hashes \
			--strip-extras --no-annotate --no-emit-index-url --no-emit-find-links \
			--no-emit-trusted-host --output-file requirements/$$name.txt $$from || exit 1; done

clean:
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
