# Needs python3 (3.11 or newer, with venv) and make. Everything else is installed into .venv.
#   PYTHON=python3.12 make test     another interpreter
#   PIP_ARGS="..." make test        further arguments for pip, such as --index-url

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
comma := ,

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test check coverage bench audits reproduce-quick mutants docs site clean

help:
	@echo "make demo    the whole job on real digits: protect, attack, audit, report"
	@echo "make check   linters, types, import layers and the fast tests: three minutes on two cores"
	@echo "make test    the same and every test, doctest, documentation example: what CI runs"
	@echo "make coverage which lines the fast tests run, into build/coverage (COVERAGE='tests/ledger' for a part)"
	@echo "make bench   measure, and write benchmarks/results (BENCH='NAME --quick' for a part)"
	@echo "make audits  neighbouring files through every release, and each audited 200 times: an hour"
	@echo "make reproduce-quick one item of every paper at a small size, with its verdict: minutes"
	@echo "make mutants plant 200 faults in the privacy code, into results/mutants.json: hours"
	@echo "make docs    rewrite docs/cli.md and the generated tables in README.md and docs"
	@echo "make site    pages and API reference as a site, links checked, into build/site: half a minute"
	@echo "make clean   remove .venv, caches and builds"

# --- what each target needs ----------------------------------------------------------------------
# A stamp file says that .venv holds what a target needs. Where the interpreter is gone, the folder
# was moved, or an installation was cut off, the first stamp is dropped and .venv is made anew.

ifneq ($(wildcard $(VENV)/.made),)
  sound := $(shell $(BIN)/python -c 'import pip' 2>/dev/null && test ! -e $(VENV)/.installing \
             && test "$$(cat $(VENV)/.made)" = "$(CURDIR)" && echo yes)
  ifneq ($(sound),yes)
    $(shell rm -f $(VENV)/.made)
  endif
endif

# $(call need,EXPRESSION,MESSAGE): stops with one line unless the Python expression is true.
need = $(if $(filter True,$(shell ( $(PYTHON) -c 'import sys; print($(1))' ) 2>/dev/null)),,$(error $(2)))

$(VENV)/.made:
	$(call need,sys.version_info >= (3$(comma) 11),reticent needs Python 3.11 or newer and "$(PYTHON)" \
	is $(or $(shell ( $(PYTHON) -V 2>&1 ) 2>/dev/null | grep ^Python),not there): install python3.11 or newer with its venv package$(comma) \
	or name one you have: PYTHON=python3.12 make $(MAKECMDGOALS))
	$(call need,__import__("venv") and __import__("ensurepip") and True,"$(PYTHON)" lacks venv or \
	ensurepip: install them (Debian$(comma) Ubuntu: apt install python3-venv))
	@echo "making $(VENV) with $$($(PYTHON) -V)"
	@$(PYTHON) -m venv --clear $(VENV)
	@echo "$(CURDIR)" > $@

# Every package is in requirements/*.txt with the hashes of its files (tools/lock.py): a file with
# another hash is refused. PyTorch's CPU build where pip finds it, else the build that needs cuda.txt.
pip := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check $(PIP_ARGS)
locked := $(pip) --no-deps --require-hashes --requirement requirements
torch := { $(locked)/torch-cpu.txt 2>/dev/null \
    || $(locked)/torch.txt --requirement requirements/cuda.txt; }

# $(call install,FILE,AND): the mark .installing stays behind only where the shell itself was ended.
# Every few seconds a line says how far it is (tools/installing.sh).
define install
	@echo "installing $$(grep -c '==' requirements/$(1).txt) packages of requirements/$(1).txt into" \
	    "$(VENV): minutes the first time, seconds later"
	@touch $(VENV)/.installing; sh tools/installing.sh $(VENV) & line=$$!; \
	{ $(locked)/$(1).txt && $(or $(2),true) && $(pip) --no-deps --no-build-isolation --editable .; }; \
	status=$$?; rm -f $(VENV)/.installing; kill $$line 2>/dev/null; wait $$line 2>/dev/null; exit $$status
endef

pins := $(VENV)/.made pyproject.toml $(wildcard requirements/*.txt)

$(VENV)/.demo: $(pins)
	$(call install,demo,$(torch))
	@touch $@

$(VENV)/.test: $(pins)
	$(call install,test,$(torch))
	@touch $(VENV)/.demo $@

$(VENV)/.bench: $(pins)
	$(call install,bench,$(torch))
	@touch $@

$(VENV)/.site: $(pins)
	$(call install,site)
	@touch $@

$(VENV)/.coverage: $(VENV)/.test
	$(call install,coverage)
	@touch $@

# The report is opened in a real browser. Where there is none its tests are left out, but not in CI.
browsers := chromium chromium-browser google-chrome google-chrome-stable
browser = $(shell for name in $(browsers); do command -v $$name; done | head -n 1)
blind = $(if $(CI)$(browser),,yes)
define say_blind
	@$(if $(blind),echo "no Chromium: the report's browser tests are left out; Debian: apt install chromium",:)
endef

# --- what you ask for ----------------------------------------------------------------------------

# $(call lint_beside,TESTS): types and import layers are checked while the tests run. What they found
# is printed after the tests, and either failure is one of the target.
define lint_beside
	@echo "ruff"
	@$(BIN)/ruff check --quiet --output-format=concise .
	@$(BIN)/ruff format --quiet --check .
	@echo "mypy and import layers, and beside them the tests"
	@said=$$(mktemp); \
	{ $(BIN)/mypy --no-error-summary && $(BIN)/lint-imports --no-logo; } > $$said 2>&1 & types=$$!; \
	$(1); tests=$$?; \
	wait $$types || { cat $$said; tests=1; }; \
	rm -f $$said; exit $$tests
endef

# Bytecode is written: without it each command that a test starts would compile the package anew.
pytest := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest

demo: $(VENV)/.demo
	@$(BIN)/reticent demo

test: $(VENV)/.test
	$(say_blind)
	$(call lint_beside,$(pytest) --quiet $(if $(blind),-m "not browser") $(PYTEST_ARGS))

check: $(VENV)/.test
	$(say_blind)
	$(call lint_beside,$(pytest) --quiet -m "not slow$(if $(blind), and not browser)" $(PYTEST_ARGS))

# COVERAGE names tests, PYTEST_ARGS='-m ""' takes the slow ones in. Compiled kernels are left out.
coverage: $(VENV)/.coverage
	@mkdir -p build/coverage
	@$(BIN)/python -m pytest --quiet -m "not slow and not browser" --cov --cov-report=term \
	    --cov-report=html $(COVERAGE) $(PYTEST_ARGS)
	@echo "build/coverage/html/index.html"

bench: $(VENV)/.bench
	@$(BIN)/python -m benchmarks $(BENCH)

audits: $(VENV)/.test
	@$(BIN)/reticent reproduce beyond end-to-end --jobs 2 --out results/end-to-end.json
	@$(BIN)/reticent reproduce beyond audits --jobs 2 --out results/audits.json $(AUDITS)
	@$(BIN)/reticent reproduce beyond audits --on network --jobs 2 --out results/audits-network.json
	@$(BIN)/reticent reproduce beyond audits --on pure --jobs 2 --out results/audits-pure.json
	@$(BIN)/reticent reproduce beyond audits --on places --jobs 2 --out results/audits-places.json
	@$(BIN)/reticent reproduce beyond audits --on zero-delta --jobs 2 --out results/audits-zero-delta.json

reproduce-quick: $(VENV)/.demo
	@$(BIN)/reticent reproduce --quick

# Goes on where it was cut off; MUTANTS="--count 20 --only accounting" for a part.
mutants: $(VENV)/.test
	@$(BIN)/python tools/mutants.py --out results/mutants.json $(MUTANTS)

docs: $(VENV)/.test
	@$(BIN)/python tools/refresh_docs.py

site: $(VENV)/.site
	@$(BIN)/python -m tools.docs_site

clean:
	@rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@rm -rf src/reticent.egg-info
	@find src tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
