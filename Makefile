# Every target creates the virtual environment that it needs, below the checkout, with the versions of the constraint
# files. Requirements: git, make, and Python 3.11 or newer with its venv module.

# The Python of new environments; by default, the first of 3.11, 3.12 and 3.13 that is installed, else a newer one.
PYTHON ?=
# Further arguments, of pytest in most targets: make test ARGS='-x -k drs'
ARGS ?=

# In the order in which the workers take the modules: the slow ones first. Three workers on two cores, because many tests
# wait for services.
TESTS := $(wildcard tests/engine tests/accuracy tests/explorer tests/reliability tests/functional tests/property tests/unit)
# Tests that use no socket and start no process.
QUICK := $(wildcard tests/property tests/unit)
WORKERS ?= 3
# Without the slow tests.
SHORT := -m 'not long and not nightly'
PARALLEL = -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# Tests that also run with the oldest supported libraries.
OLD_WORLD := tests/compat $(addprefix tests/unit/,model nova engine constraints policy preflight answers groups cloud) \
    $(wildcard tests/engine/test_plugin_*.py)
LINTED := setup.py senlin_affinity tests $(wildcard benchmarks) doc/source/conf.py doc/ext
FRAME := setup.cfg setup.py requirements.txt
SAMPLE := etc/senlin-affinity/senlin-affinity.conf.sample

SHELL := /bin/bash
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
export PIP_ROOT_USER_ACTION := ignore
export CLUSTER ?= /var/tmp/senlin-affinity-cluster

.DELETE_ON_ERROR:
# The page that "make soak" writes. Name another file for a part of the soak.
PAGE ?= doc/source/trust/reliability-results.rst
.PHONY: help venv demo quick cover test test-services package accuracy nightly soak mutants compat releases newest lint format docs \
    bench recordings pictures sample clean elsewhere
.DEFAULT_GOAL := help

help:
	@echo 'make demo          run the demo on a real Nova, Placement and Senlin on this machine'
	@echo 'make venv          create .venv with everything that the sandbox and the tests need'
	@echo 'make quick         run the unit and property tests, without Nova, Placement and Senlin'
	@echo 'make cover         run the quick tests, and list the lines that they do not execute'
	@echo 'make test          run all but the slow tests, also those with real services (five minutes)'
	@echo 'make test-services run the slow tests with real services'
	@echo 'make package       build the sdist and the wheel in dist, and test them in a clean environment'
	@echo 'make cluster       start a distributed OpenStack on this machine (Debian 12, as root)'
	@echo 'make cluster-down  remove that OpenStack'
	@echo 'make test-cluster  run the tests of the distributed OpenStack'
	@echo 'make lint          check style, types, layers, spelling, release notes and the sample configuration'
	@echo 'make accuracy      compare the preflight with the scheduler on random clouds'
	@echo 'make nightly       run all long tests with new random input'
	@echo 'make soak          run all faults, kills and races (up to two hours), and write the results into the manual'
	@echo 'make mutants       change the code in small ways, and list the changes that no test detects'
	@echo 'make compat        run the tests of the policy with the oldest supported libraries'
	@echo 'make releases      run the tests of the Nova plugins with three releases of Nova'
	@echo 'make newest        run the quick tests with Python 3.13 and the newest libraries'
	@echo 'make docs          build the manual in doc/build/html'
	@echo 'make bench         measure requests, bytes and CPU time, and compare them with the goals'
	@echo 'make recordings    record the responses of the real services, and the plans for these'
	@echo 'make pictures      draw the pictures of the README and the manual'
	@echo 'make sample        write $(SAMPLE)'
	@echo 'make format        format the code, and fix what ruff can fix'
	@echo 'make clean         remove the environments and all other generated files'

# Everything that the sandbox and the tests need.
venv: .venv/.made-services

demo: .venv/.made-services
	@.venv/bin/python -m senlin_affinity.cli.main sandbox demo $(ARGS)

quick: .venv/.made
	@.venv/bin/python -m pytest $(PARALLEL) -p tests.support.alone $(SHORT) $(QUICK) $(ARGS)

cover: .venv/.made-mutants
	@.venv/bin/python -m coverage run --source senlin_affinity -m pytest -q -p tests.support.alone $(SHORT) $(QUICK) $(ARGS)
	@.venv/bin/python -m coverage report --skip-covered --show-missing

test: .venv/.made-services
	@.venv/bin/python -m pytest $(PARALLEL) $(SHORT) $(TESTS) $(ARGS)

test-services: .venv/.made-services .venv/.made-mutants
	@PYTHONHASHSEED=0 PYTHONPATH=. .venv/bin/python -m tests.mutants.requirements check
	@.venv/bin/python -m pytest -n $(WORKERS) --dist loadfile -m 'long and not nightly' $(TESTS) $(ARGS)

package: .venv/.made-services
	@rm -rf dist
	@.venv/bin/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	@.venv/bin/python -W ignore -c 'from setuptools import build_meta; build_meta.build_sdist("dist")' >.venv/sdist.log 2>&1
	@rm -rf ./*.egg-info
	@.venv/bin/python -m pytest tests/package $(ARGS)
	@ls dist/*

.PHONY: suitable cluster cluster-down test-cluster
suitable:
	@grep -qs '^VERSION_CODENAME=bookworm$$' /etc/os-release || { echo 'make: the cluster needs Debian 12' >&2; exit 1; }
	@[ "$$(id -u)" -eq 0 ] || { echo 'make: the cluster needs root' >&2; exit 1; }

cluster: suitable .venv/.made-services
	@.venv/bin/python -m tests.cluster.stack up

cluster-down: suitable .venv/.made
	@.venv/bin/python -m tests.cluster.stack down

test-cluster: suitable .venv/.made-services
	@.venv/bin/python -m pytest $(or $(PHASES),tests/cluster) $(ARGS)

accuracy: .venv/.made-services
	@.venv/bin/python -m tests.accuracy.run --write doc/source/trust/accuracy-table.rst $(ARGS)

nightly: .venv/.made-services
	@.venv/bin/python -m tests.nightly.run --workers $(WORKERS) $(ARGS)

soak: .venv/.made-services
	@PYTHONPATH=. .venv/bin/python -m tests.explorer.explore_all
	@PYTHONPATH=. .venv/bin/python -W ignore -m tests.engine.group_replay 2000
	@PYTHONPATH=. .venv/bin/python -W ignore -m tests.reliability.soak --write $(PAGE) $(ARGS)

mutants: .venv/.made-services .venv/.made-mutants
	@PYTHONHASHSEED=0 PYTHONPATH=. .venv/bin/python -m tests.mutants.run $(ARGS)

compat: .venv-compat/.made
	@HYPOTHESIS_PROFILE=brief .venv-compat/bin/python -m pytest $(PARALLEL) $(OLD_WORLD) $(ARGS)

releases: .venv/.made-services .venv-nova-24/.made .venv-nova-29/.made
	@.venv/bin/python -m tests.releases.run $(ARGS)

newest: .venv-newest/.made
	@HYPOTHESIS_PROFILE=brief .venv-newest/bin/python -m pytest $(PARALLEL) -p tests.support.alone $(SHORT) $(QUICK) $(ARGS)

bench: .venv/.made-services
	@.venv/bin/python -m benchmarks.run $(ARGS)

recordings: .venv/.made-services
	@.venv/bin/python -m tests.recordings.record $(ARGS)
	@.venv/bin/python -m tests.recordings.plans

lint: .venv/.made-lint
	@echo '== ruff'
	@.venv/bin/python -m ruff check --quiet --output-format concise $(LINTED)
	@.venv/bin/python -m ruff format --check --quiet $(LINTED) || { echo 'not formatted: run "make format"'; exit 1; }
	@echo '== codespell'
	@.venv/bin/python -m codespell_lib $(LINTED) etc doc/source releasenotes Makefile *.rst *.cfg *.toml
	@echo '== mypy'
	@.venv/bin/python -m mypy --no-error-summary
	@.venv/bin/python -m mypy --no-error-summary --warn-unused-ignores tests/support/mixed_up_clients.py
	@echo '== import-linter'
	@.venv/bin/python -c 'from importlinter.cli import lint_imports_command; lint_imports_command()' >.venv/layers.log \
	    || { cat .venv/layers.log; exit 1; }
	@echo '== reno'
	@! git rev-parse --quiet --verify HEAD >/dev/null 2>&1 || .venv/bin/python -m reno.main --quiet lint
	@echo '== $(SAMPLE)'
	@.venv/bin/python -m oslo_config.generator --config-file etc/senlin-affinity/config-generator.conf \
	    --output-file .venv/sample.conf
	@diff $(SAMPLE) .venv/sample.conf || { echo '$(SAMPLE) differs from the options: run "make sample"'; exit 1; }
	@echo 'lint: all good'

format: .venv/.made-lint
	@.venv/bin/python -m ruff check --fix $(LINTED)
	@.venv/bin/python -m ruff format $(LINTED)

pictures: .venv/.made-services
	@.venv/bin/python -m tests.pictures.draw
	@.venv/bin/python -m tests.pictures.draw_graph

sample: .venv/.made
	@.venv/bin/python -m oslo_config.generator --config-file etc/senlin-affinity/config-generator.conf --output-file $(SAMPLE)

docs: .venv/.made-services
	@.venv/bin/python -m sphinx -W --keep-going -q -b html doc/source doc/build/html
	@.venv/bin/python doc/ext/check_links.py doc/build/html
	@.venv/bin/python -m pytest -q tests/unit/docs/test_commands.py
	@echo 'doc/build/html/index.html'

clean:
	rm -rf .venv .venv.lock .venv-* *.egg-info build dist doc/build .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find senlin_affinity tests -name __pycache__ -prune -exec rm -rf {} +

# --- environments -----------------------------------------------------------------------------------------------------
#
# Most targets use .venv. It has no Nova, Placement and Senlin until a target needs them; "make lint" adds its tools. A
# stamp file (.made...) in an environment is newer than the files that it depends on. A lock allows several makes at the
# same time.

# $(call find_python,LOWEST,BEYOND,CANDIDATES): the first candidate with LOWEST <= version < BEYOND and a venv module.
find_python = for python in $(3); do \
    $$python -c 'import sys, venv, ensurepip; sys.exit(not ($(1)) <= sys.version_info[:2] < ($(2)))' \
        >/dev/null 2>&1 && { echo $$python; break; }; done

# $(call locked,FOLDER): wait for the lock, and exit if another make has built the target in the meantime.
locked = exec 9>$(1).lock; ! command -v flock >/dev/null || flock 9; \
    if [ -e $@ ] && [ -z "$$(find $(filter-out elsewhere,$^) -newer $@)" ] \
        && [ -x $(1)/bin/python ] && [ "$$(cat $(1)/.checkout 2>/dev/null)" = "$(CURDIR)" ]; then exit 0; fi

# $(call make_venv,FOLDER,PYTHON): create the environment, also if it was copied or its Python no longer exists.
make_venv = if ! $(1)/bin/python -c 'import pip' 2>/dev/null || [ "$$(cat $(1)/.checkout 2>/dev/null)" != "$(CURDIR)" ]; \
    then rm -rf $(1) && $(2) -m venv $(1) && echo "$(CURDIR)" >$(1)/.checkout || exit 1; fi

# $(call install,FOLDER,CONSTRAINTS,EXTRAS): install this checkout in editable mode, after the build backend. Metadata of an
# earlier build in the checkout would take precedence over the installed ones.
install = { rm -rf ./*.egg-info && $(1)/bin/python -m pip install -c $(2) setuptools wheel \
    && $(1)/bin/python -m pip install -c $(2) --no-build-isolation -e '.[$(strip $(3))]'; } >$(1)/pip.log 2>&1 \
    || { tail -n 20 $(1)/pip.log; echo 'make: the packages could not be installed; see $(1)/pip.log'; exit 1; } >&2

# elsewhere: the environment belongs to another folder (the checkout was copied or moved), or its Python does not exist.
elsewhere = $(if $(findstring |$(CURDIR)|,|$(shell test -x $(1)/bin/python && cat $(1)/.checkout 2>/dev/null)|),,elsewhere)

TESTED = $(or $(PYTHON),python3.11 python3.12 python3.13 python3)
NEWER = $(or $(PYTHON),python3 python3.14 python3.15)
# $(call of_pyenv,VERSION): the Pythons of this version in pyenv, also if pyenv has another one selected.
of_pyenv = $(wildcard $(shell pyenv root 2>/dev/null)/versions/$(1).*/bin/python)
OLD = $(or $(PYTHON),python3.10 $(call of_pyenv,3.10))
NEWEST = $(or $(PYTHON),python3.13 $(call of_pyenv,3.13))
comma := ,

.venv/.made: $(FRAME) constraints.txt $(call elsewhere,.venv)
	@$(call locked,.venv); \
	python=$$($(call find_python,(3$(comma) 11),(3$(comma) 14),$(TESTED))); \
	if [ -z "$$python" ]; then \
	    python=$$($(call find_python,(3$(comma) 14),(4$(comma) 0),$(NEWER))); \
	    [ -z "$$python" ] || echo "make: $$python is newer than the tested versions (3.11 to 3.13)" >&2; \
	fi; \
	if [ -z "$$python" ]; then \
	    echo 'make: no Python 3.11 or newer with its venv module (python3-venv); name one with PYTHON=...' >&2; exit 1; \
	fi; \
	if [ -e $@ ]; then echo 'bringing .venv up to date'; else echo "setting up .venv with $$python (half a minute, once; .venv/pip.log shows the progress)"; fi; \
	$(call make_venv,.venv,$$python); \
	$(call install,.venv,constraints.txt,test); \
	touch $@

ADDED_lint := the tools of "make lint"
ADDED_mutants := coverage.py
ADDED_services := Nova, Placement, Senlin and Sphinx
TAKES_lint := a few seconds
TAKES_mutants := a few seconds
TAKES_services := one or two minutes
EXTRAS_lint := lint
EXTRAS_mutants := mutants
EXTRAS_services := sandbox,docs
.venv/.made-lint .venv/.made-mutants .venv/.made-services: .venv/.made-%: .venv/.made
	@$(call locked,.venv); \
	echo 'adding $(ADDED_$*) to .venv ($(TAKES_$*), once)'; \
	$(call install,.venv,constraints.txt,$(EXTRAS_$*)); \
	touch $@

# $(call make_fresh,FOLDER,LOWEST,BEYOND,CANDIDATES,CONSTRAINTS,EXTRAS,NAME): create the environment, even if it exists.
make_fresh = python=$$($(call find_python,$(2),$(3),$(4))); \
	if [ -z "$$python" ]; then \
	    echo 'make: no $(7) with its venv module (python3-venv, or pyenv); name one with PYTHON=...' >&2; exit 1; \
	fi; \
	echo "setting up $(1) with $$python (one or two minutes, once)"; \
	rm -rf $(1); \
	$(call make_venv,$(1),$$python); \
	$(call install,$(1),$(5),$(6)); \
	touch $@

# The oldest supported libraries.
.venv-compat/.made: $(FRAME) constraints-compat.txt $(call elsewhere,.venv-compat)
	@$(call locked,.venv-compat); \
	$(call make_fresh,.venv-compat,(3$(comma) 10),(3$(comma) 11),$(OLD),constraints-compat.txt,compat$(comma)test,Python 3.10)

# Older releases of Nova (see tests/releases/run.py).
.venv-nova-24/.made .venv-nova-29/.made: .venv-nova-%/.made: $(FRAME) tests/releases/constraints-%.txt
	@$(call locked,.venv-nova-$*); \
	$(call make_fresh,.venv-nova-$*,(3$(comma) 10),(3$(comma) 11),$(OLD),tests/releases/constraints-$*.txt,test,Python 3.10); \
	.venv-nova-$*/bin/python -m pip install -c tests/releases/constraints-$*.txt nova >>.venv-nova-$*/pip.log 2>&1

# The newest supported Python, with the newest libraries.
.venv-newest/.made: $(FRAME) $(call elsewhere,.venv-newest)
	@$(call locked,.venv-newest); \
	$(call make_fresh,.venv-newest,(3$(comma) 13),(3$(comma) 14),$(NEWEST),/dev/null,test,Python 3.13)
