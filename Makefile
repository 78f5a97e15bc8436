# Every target does its own set-up: virtual environments under the checkout, packages by name, versions from the
# constraint files. Needed on the machine: Python 3.11 or newer with its venv module, git and make.

# PYTHON=python3.12 chooses the one that a new environment is made of; otherwise the first that is 3.11, 3.12 or 3.13, then a newer one.
PYTHON ?=
# More words for pytest: make test ARGS='-x -k drs'
ARGS ?=

# The workers take one module after the other from the left: the long ones are first, so that they end together. Three on
# two cores, since the stories wait.
TESTS := $(wildcard tests/engine tests/accuracy tests/explorer tests/reliability tests/functional tests/property tests/unit)
# Rules, laws and adapters: no socket, no process.
QUICK := $(wildcard tests/property tests/unit)
WORKERS ?= 3
PARALLEL = -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# What holds in the oldest engine, too: the decisions, the adapters, and the plugin on Senlin's objects.
OLD_WORLD := tests/compat $(addprefix tests/unit/,model nova planner constraints policy preflight groups cloud) \
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
# What a soak writes; a part of one should be written elsewhere.
PAGE ?= doc/source/trust/reliability-results.rst
.PHONY: help demo quick cover test test-services package accuracy nightly soak mutants compat releases newest lint format docs \
    bench recordings pictures sample clean elsewhere
.DEFAULT_GOAL := help

help:
	@echo 'make demo        a real Nova, Placement and Senlin on this machine, and what the policy does there'
	@echo 'make quick       the rules, the laws and the adapters, in one or two minutes: no socket, no process'
	@echo 'make cover       make quick, and the lines of the package that it does not run'
	@echo 'make test        the tests: rules, properties, and the real services'
	@echo 'make test-services  what is long and random, with the real services: after make test'
	@echo 'make package     the sdist and the wheel, in dist; installed as users do, into a clean environment'
	@echo 'make cluster     a distributed OpenStack of Debian 12 on this machine, as root; make cluster-down removes it'
	@echo 'make test-cluster  the policy there: roles, faults, upgrades, many clusters'
	@echo 'make lint        style, types, layers, release notes, the sample file'
	@echo 'make accuracy    random clouds of every kind: what the preflight says, and what the scheduler does'
	@echo 'make nightly     all that is long, with new random input'
	@echo 'make soak        faults, kills and races in full, up to an hour; writes its page of the manual'
	@echo 'make mutants     small mistakes in the code that no test notices, with their diffs'
	@echo 'make compat      the plugin in the oldest engine that is supported'
	@echo 'make releases    the plugins for Nova with the oldest Nova, one in between, and the newest'
	@echo 'make newest      make quick with the newest Python and the newest libraries'
	@echo 'make docs        the manual, in doc/build/html'
	@echo 'make bench       figures beside their goals'
	@echo 'make recordings  records the answers of the real services, and the plans, again'
	@echo 'make pictures    draws the picture of the README, and writes its text into the manual'
	@echo 'make sample      writes $(SAMPLE) again'
	@echo 'make format      what ruff can mend by itself'
	@echo 'make clean       removes the environments and everything else that was made'

demo: .venv/.made
	@.venv/bin/python -m senlin_affinity.cli.main sandbox demo $(ARGS)

quick: .venv/.made
	@.venv/bin/python -m pytest $(PARALLEL) -p tests.support.alone -m 'not long' $(QUICK) $(ARGS)

cover: .venv/.made-mutants
	@.venv/bin/python -m coverage run --source senlin_affinity -m pytest -q -p tests.support.alone -m 'not long' $(QUICK) $(ARGS)
	@.venv/bin/python -m coverage report --skip-covered --show-missing

test: .venv/.made
	@.venv/bin/python -m pytest $(PARALLEL) -m 'not long' $(TESTS) $(ARGS)

test-services: .venv/.made-mutants
	@PYTHONHASHSEED=0 PYTHONPATH=. .venv/bin/python -m tests.mutants.requirements check
	@.venv/bin/python -m pytest -n $(WORKERS) --dist loadfile -m long $(TESTS) $(ARGS)

package: .venv/.made
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

cluster: suitable .venv/.made
	@.venv/bin/python -m tests.cluster.stack up

cluster-down: suitable .venv/.made
	@.venv/bin/python -m tests.cluster.stack down

test-cluster: suitable .venv/.made
	@.venv/bin/python -m pytest $(or $(PHASES),tests/cluster) $(ARGS)

accuracy: .venv/.made
	@.venv/bin/python -m tests.accuracy.run --write doc/source/trust/accuracy-table.rst $(ARGS)

nightly: .venv/.made
	@.venv/bin/python -m tests.nightly.run --workers $(WORKERS) $(ARGS)

soak: .venv/.made
	@PYTHONPATH=. .venv/bin/python -m tests.explorer.explore_all
	@PYTHONPATH=. .venv/bin/python -W ignore -m tests.engine.group_replay 2000
	@PYTHONPATH=. .venv/bin/python -W ignore -m tests.reliability.soak --write $(PAGE) $(ARGS)

mutants: .venv/.made-mutants
	@PYTHONHASHSEED=0 PYTHONPATH=. .venv/bin/python -m tests.mutants.run $(ARGS)

compat: .venv-compat/.made
	@.venv-compat/bin/python -m pytest $(PARALLEL) $(OLD_WORLD) $(ARGS)

releases: .venv/.made .venv-nova-24/.made .venv-nova-29/.made
	@.venv/bin/python -m tests.releases.run $(ARGS)

newest: .venv-newest/.made
	@.venv-newest/bin/python -m pytest $(PARALLEL) -p tests.support.alone -m 'not long' $(QUICK) $(ARGS)

bench: .venv/.made
	@.venv/bin/python -m benchmarks.run $(ARGS)

recordings: .venv/.made
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
	@diff $(SAMPLE) .venv/sample.conf || { echo 'the sample is not what the options say: run "make sample"'; exit 1; }
	@echo 'lint: all good'

format: .venv/.made-lint
	@.venv/bin/python -m ruff check --fix $(LINTED)
	@.venv/bin/python -m ruff format $(LINTED)

pictures: .venv/.made
	@.venv/bin/python -m tests.pictures.draw

sample: .venv/.made
	@.venv/bin/python -m oslo_config.generator --config-file etc/senlin-affinity/config-generator.conf --output-file $(SAMPLE)

docs: .venv/.made-docs
	@.venv/bin/python -m sphinx -W --keep-going -q -b html doc/source doc/build/html
	@.venv/bin/python doc/ext/check_links.py doc/build/html
	@.venv/bin/python -m pytest -q tests/unit/docs/test_commands.py
	@echo 'doc/build/html/index.html'

clean:
	rm -rf .venv .venv.lock .venv-* *.egg-info build dist doc/build .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find senlin_affinity tests -name __pycache__ -prune -exec rm -rf {} +

# --- environments -----------------------------------------------------------------------------------------------------
#
# .venv runs everything; lint and docs add their tools to it. .venv-compat is made of old libraries. A stamp (.made...)
# in the environment is newer than what it was made from; a lock lets several makes run at the same time.

# $(call find_python,LOWEST,BEYOND,CANDIDATES): the first of them that is LOWEST <= version < BEYOND and can make a venv.
find_python = for python in $(3); do \
    $$python -c 'import sys, venv, ensurepip; sys.exit(not ($(1)) <= sys.version_info[:2] < ($(2)))' \
        >/dev/null 2>&1 && { echo $$python; break; }; done

# $(call locked,FOLDER): wait for the other makes, and end here if one of them has done this work meanwhile.
locked = exec 9>$(1).lock; ! command -v flock >/dev/null || flock 9; \
    if [ -e $@ ] && [ -z "$$(find $(filter-out elsewhere,$^) -newer $@)" ] \
        && [ -x $(1)/bin/python ] && [ "$$(cat $(1)/.checkout 2>/dev/null)" = "$(CURDIR)" ]; then exit 0; fi

# $(call make_venv,FOLDER,PYTHON): an environment that works; one that was copied or outlived its Python is made anew.
make_venv = if ! $(1)/bin/python -c 'import pip' 2>/dev/null || [ "$$(cat $(1)/.checkout 2>/dev/null)" != "$(CURDIR)" ]; \
    then rm -rf $(1) && $(2) -m venv $(1) && echo "$(CURDIR)" >$(1)/.checkout || exit 1; fi

# $(call install,FOLDER,CONSTRAINTS,EXTRAS): this checkout, editable, with the build backend out of the same constraints. The
# metadata that an earlier build left in the checkout would be found before those that are installed.
install = { rm -rf ./*.egg-info && $(1)/bin/python -m pip install -c $(2) setuptools wheel \
    && $(1)/bin/python -m pip install -c $(2) --no-build-isolation -e '.[$(strip $(3))]'; } >$(1)/pip.log 2>&1 \
    || { tail -n 20 $(1)/pip.log; echo 'make: the packages could not be installed; see $(1)/pip.log'; exit 1; } >&2

# elsewhere: the environment belongs to another folder (the checkout was copied or moved), or its Python is gone.
elsewhere = $(if $(findstring |$(CURDIR)|,|$(shell test -x $(1)/bin/python && cat $(1)/.checkout 2>/dev/null)|),,elsewhere)

TESTED = $(or $(PYTHON),python3.11 python3.12 python3.13 python3)
NEWER = $(or $(PYTHON),python3 python3.14 python3.15)
# $(call of_pyenv,VERSION): what pyenv has of it, also where it is not the chosen one.
of_pyenv = $(wildcard $(shell pyenv root 2>/dev/null)/versions/$(1).*/bin/python)
OLD = $(or $(PYTHON),python3.10 $(call of_pyenv,3.10))
NEWEST = $(or $(PYTHON),python3.13 $(call of_pyenv,3.13))
comma := ,

.venv/.made: $(FRAME) constraints.txt $(call elsewhere,.venv)
	@$(call locked,.venv); \
	python=$$($(call find_python,(3$(comma) 11),(3$(comma) 14),$(TESTED))); \
	if [ -z "$$python" ]; then \
	    python=$$($(call find_python,(3$(comma) 14),(4$(comma) 0),$(NEWER))); \
	    [ -z "$$python" ] || echo "make: $$python is newer than what the project is tested with (3.11 to 3.13)" >&2; \
	fi; \
	if [ -z "$$python" ]; then \
	    echo 'make: no Python 3.11 or newer with its venv module (python3-venv); name one with PYTHON=...' >&2; exit 1; \
	fi; \
	if [ -e $@ ]; then echo 'bringing .venv up to date'; else echo "setting up .venv with $$python (one or two minutes, once; .venv/pip.log shows the progress)"; fi; \
	$(call make_venv,.venv,$$python); \
	$(call install,.venv,constraints.txt,sandbox$(comma)test$(comma)docs); \
	touch $@

.venv/.made-lint .venv/.made-docs .venv/.made-mutants: .venv/.made-%: .venv/.made
	@$(call locked,.venv); \
	echo 'adding what "make $*" needs to .venv (a few seconds, once)'; \
	$(call install,.venv,constraints.txt,$*); \
	touch $@

# $(call make_fresh,FOLDER,LOWEST,BEYOND,CANDIDATES,CONSTRAINTS,EXTRAS,NAME): made anew each time, with this Python and no other.
make_fresh = python=$$($(call find_python,$(2),$(3),$(4))); \
	if [ -z "$$python" ]; then \
	    echo 'make: no $(7) with its venv module (python3-venv, or pyenv); name one with PYTHON=...' >&2; exit 1; \
	fi; \
	echo "setting up $(1) with $$python (one or two minutes, once)"; \
	rm -rf $(1); \
	$(call make_venv,$(1),$$python); \
	$(call install,$(1),$(5),$(6)); \
	touch $@

# The oldest that is promised. setuptools does not run beside the old "packaging" that this venv ends with.
.venv-compat/.made: $(FRAME) constraints-compat.txt $(call elsewhere,.venv-compat)
	@$(call locked,.venv-compat); \
	$(call make_fresh,.venv-compat,(3$(comma) 10),(3$(comma) 11),$(OLD),constraints-compat.txt,compat$(comma)test,Python 3.10)

# Older releases of Nova; tests/releases/run.py names them.
.venv-nova-24/.made .venv-nova-29/.made: .venv-nova-%/.made: $(FRAME) tests/releases/constraints-%.txt
	@$(call locked,.venv-nova-$*); \
	$(call make_fresh,.venv-nova-$*,(3$(comma) 10),(3$(comma) 11),$(OLD),tests/releases/constraints-$*.txt,test,Python 3.10); \
	.venv-nova-$*/bin/python -m pip install -c tests/releases/constraints-$*.txt nova >>.venv-nova-$*/pip.log 2>&1

# The newest that is promised, with whatever the libraries are today.
.venv-newest/.made: $(FRAME) $(call elsewhere,.venv-newest)
	@$(call locked,.venv-newest); \
	$(call make_fresh,.venv-newest,(3$(comma) 13),(3$(comma) 14),$(NEWEST),/dev/null,sandbox$(comma)test$(comma)docs,Python 3.13)
