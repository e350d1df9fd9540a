# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.10 python3; do \
	$$p -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 13))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
SETUP := .venv/ready-run
READY := .venv/ready
# Pytest keeps what it makes of test files only where bytecode is written.
unexport PYTHONDONTWRITEBYTECODE
# Python's own compiler: our files, and what campaigns and reports import of the others. Compiling all
# that is installed takes 95 s of a processor instead of 10. It is kept even where
# PYTHONDONTWRITEBYTECODE is set: every process of a campaign starts faster.
COMPILE := $(BIN)/python -m compileall -qq -j 0 agents analysis crucible harness studies; $(BIN)/python -c \
	"import carla, hydra, numba, pandas, PIL.Image, pyarrow.parquet, rich.console, scipy.stats, statsmodels.api"

.PHONY: demo setup test test-all test-rest verify lint docs bench estimates chaos planners camera-weights wheel lock clean

demo: $(SETUP)
	$(BIN)/crucible run executor.workers=2

# What campaigns and their reports need, without networks, Ray and the tools of development.
setup: $(SETUP)

# A verdict in minutes: every test that is not marked `thorough`. It ends with how many were left.
test: $(READY)
	$(BIN)/python -m pytest --numprocesses=auto

# Every test, and Hypothesis with four times as many examples.
test-all: $(READY)
	$(BIN)/python -m pytest --numprocesses=auto -m '' --hypothesis-profile=many

# What `make test` has left out, with as few examples as there.
test-rest: $(READY)
	$(BIN)/python -m pytest --numprocesses=auto -m thorough

# Error rates of the analysis by simulation, and ten minutes of traffic in each of the development
# towns and for jams in ours; about an hour of one core. The tests have small ones.
verify: $(READY)
	$(BIN)/crucible calibrate --campaigns 2000 --methods timing-fair --scenarios "nothing matters" --check
	$(BIN)/crucible calibrate --campaigns 2000 --methods timing-fair --scenarios "one rate 2 times" \
		--routes 24 --systems 3 --seeds 3 --check
	$(BIN)/crucible calibrate --pages --campaigns 2000 --routes 12 --systems 3 --seeds 2 --check
	$(BIN)/crucible calibrate --effects --campaigns 2000 --routes 55 --systems 3 --seeds 1 --check
	$(BIN)/crucible maps generate --seed 1 --count 6 --out build/towns
	for seed in 1 2 3 4 5 6; do \
		$(BIN)/crucible maps check Seeded_$$seed --maps build/towns || exit 1; done
	$(BIN)/python -m tests.carlite.jams --most 3

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/mypy

# The documentation as a site in build/docs; a broken link or anchor fails.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

bench: $(READY)
	$(BIN)/python -m tests.benchmarks

# Errors of the estimates of the time that is left, in ten commands; a quarter of an hour.
estimates: $(READY)
	$(BIN)/python -m tests.benchmarks bench_estimates

chaos: $(READY)
	$(BIN)/python -m tests.campaign.chaos 300

# PDM-Lite on routes of Bench2Drive; hours. Its checkout and its Python are not made here, for example
# make planners PLANNERS="--garage ../carla_garage --python ../venv/bin/python --agents DIR --maps DIR".
planners: $(READY)
	$(BIN)/python -m tools.planners --out runs/planners $(PLANNERS)

# Networks with cameras: pictures, the camera branch, fusion of unlike agents, and their precision;
# about two hours of one quiet core. The same command resumes.
CAMERAS := build/cameras
WEIGHTS ?= $(CAMERAS)/weights
SEEN := --data $(CAMERAS)/train --held-out $(CAMERAS)/validate
camera-weights: $(READY)
	$(BIN)/crucible collect --rig v2xverse_cameras --out $(CAMERAS)/train --scenarios 150 --seed 61
	$(BIN)/crucible collect --rig v2xverse_cameras --out $(CAMERAS)/validate --scenarios 12 --seed 62
	$(BIN)/crucible collect --rig v2xverse_cameras --out $(CAMERAS)/test --scenarios 20 --seed 63 --for-testing
	$(BIN)/crucible train --scheme single --senses camera $(SEEN) --out $(CAMERAS)/run --weights $(CAMERAS)/stem \
		--epochs 7 --trial 60
	for scheme in single fcooper v2xvit attfuse disconet; do \
		$(BIN)/crucible train --scheme $$scheme --senses mixed $(SEEN) --out $(CAMERAS)/run-$$scheme \
			--weights $(WEIGHTS) --start $(CAMERAS)/stem/lite_single.safetensors --epochs 1 --most 400 --trial 40 \
			|| exit 1; done
	$(BIN)/crucible senses --data $(CAMERAS)/test --weights $(WEIGHTS) --most 200 --out $(CAMERAS)/senses.json

# The wheels of Crucible and of carlite, in build/wheels and installed where nothing of this checkout
# is; about three minutes.
wheel: $(READY)
	.ci/wheel

lock: $(READY)
	$(PIP) install uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.10 --extra dev pyproject.toml -o requirements.lock
	sed -i '2d; 1s/.*/# Exact versions for a development checkout; `make lock` writes this file./' requirements.lock

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@"$(PYTHON)" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 13))' 2>/dev/null || \
		{ echo "Python 3.10, 3.11 or 3.12 is needed: make PYTHON=/path/to/python3.11"; exit 2; }
	"$(PYTHON)" -m venv .venv

# carlite compiles with the base packages while the rest is installed.
$(SETUP): requirements.lock pyproject.toml | $(BIN)/python
	$(PIP) install --no-compile --constraint requirements.lock --editable '.[carlite]'
	@$(BIN)/python -m harness.carlite.precompile & compiling=$$!; \
	$(PIP) install --no-compile --constraint requirements.lock --editable '.[run,analysis]' || exit 1; \
	wait $$compiling; $(COMPILE) || true
	touch $(SETUP)

$(READY): requirements.lock pyproject.toml | $(BIN)/python
	$(PIP) install --no-compile --constraint requirements.lock --editable '.[carlite]'
	@$(BIN)/python -m harness.carlite.precompile & compiling=$$!; \
	$(PIP) install --no-compile --requirement requirements.lock || exit 1; \
	wait $$compiling; $(COMPILE) || true
	touch $(SETUP) $(READY)
