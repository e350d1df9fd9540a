# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.10 python3; do \
	$$p -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 13))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
READY := .venv/ready

.PHONY: demo test verify lint docs bench chaos lock clean

demo: $(READY)
	$(BIN)/python -m harness.demo
	$(BIN)/python run_campaign.py

test: $(READY)
	$(BIN)/python -m pytest --numprocesses=auto

# Error rates of the analysis by simulation; about 25 minutes of one core. `make test` has small ones.
verify: $(READY)
	$(BIN)/python -m analysis calibrate --campaigns 2000 --methods timing-fair --scenes "nothing matters" --check
	$(BIN)/python -m analysis calibrate --campaigns 2000 --methods timing-fair --scenes "one rate 2 times" \
		--routes 24 --systems 3 --seeds 3 --check
	$(BIN)/python -m analysis calibrate --pages --campaigns 2000 --routes 12 --systems 3 --seeds 2 --check

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The documentation as a site in build/docs; a broken link or anchor fails.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

bench: $(READY)
	$(BIN)/python -m tests.benchmarks

chaos: $(READY)
	$(BIN)/python -m tests.campaign.chaos 300

lock: $(READY)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.10 --extra dev pyproject.toml -o requirements.lock
	sed -i '2d; 1s/.*/# Exact versions for a development checkout; `make lock` writes this file anew./' requirements.lock

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.10, 3.11 or 3.12 is needed (make PYTHON=/path/to/python)"; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $(READY)
