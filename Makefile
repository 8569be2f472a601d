# On a machine with only python3 (3.11 or newer) and make: `make demo`, `make test`.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install -qq -c constraints.txt

export PIP_DISABLE_PIP_VERSION_CHECK := 1

# One process per core, at most four: each one imports GPy and scikit-learn. Their BLAS stays on one thread, or the
# processes fight over the cores.
WORKERS ?= -n auto --maxprocesses 4 --dist worksteal
ONE_BLAS_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

# Under CI=true the log is all there is, so it says what was skipped and what was slow. (Hypothesis sees CI by itself,
# and draws the same examples every time.)
ifeq ($(CI),true)
REPORT := -ra --durations=10 --color=no
else
REPORT := -q
endif

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench docs clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile | expand -t 16

demo: $(VENV)/.installed-demo ## run the demonstration
	@echo "==> gainful demo: a soil survey, gainful against random (about half a minute)"
	@$(BIN)/gainful demo

test: lint ## everything that must hold: lint, types, floors, tests, the examples in the docs
	@echo "==> pytest"
	@$(ONE_BLAS_THREAD) $(BIN)/python -m pytest $(WORKERS) $(REPORT)

lint: $(VENV)/.installed-test ## ruff, mypy, import-linter
	@echo "==> ruff check"
	@$(BIN)/ruff check --quiet
	@echo "==> ruff format --check"
	@$(BIN)/ruff format --check --diff --quiet
	@echo "==> mypy"
	@$(BIN)/mypy --no-error-summary
	@echo "==> lint-imports"
	@report=$$($(BIN)/lint-imports --no-logo 2>&1) || { echo "$$report"; exit 1; }

# Hours of trials, resumable one by one: each is run by itself.
LONG := $(addprefix benchmarks/,band_coverage.py lab_problem.py optimise.py ask_defaults.py programs_series.py \
	programs_seeds.py hearing_rivals.py additive_bands.py scale_rivals.py linear_cost.py interactions.py \
	additive_rivals.py)
bench: $(VENV)/.installed-test ## run the benchmarks, one after the other
	@short=0; for script in $(filter-out $(LONG),$(sort $(wildcard benchmarks/[a-z]*.py))); do \
		echo "==> $$script"; $(BIN)/python $$script || short=1; done; exit $$short

docs: $(VENV)/.installed-docs ## build the documentation into site/
	@echo "==> mkdocs build"
	@$(BIN)/mkdocs build --strict --quiet
	@echo "==> open site/index.html"

clean: ## remove what was built, and the caches; .venv stays
	@rm -rf build dist site out .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps are separate so that the demonstration need not wait for the test tools.

$(VENV)/.installed-demo: pyproject.toml constraints.txt | $(BIN)/python
	@echo "==> installing gainful and its command line into $(VENV) (half a minute the first time)"
	@$(PIP) -e '.[cli]'
	@$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/.installed-test: pyproject.toml constraints.txt | $(BIN)/python
	@echo "==> installing gainful and its test tools into $(VENV) (a minute or two the first time)"
	@$(PIP) -e '.[test]'
	@$(BIN)/python -m compileall -q src
	@touch $(VENV)/.installed-demo $@

$(VENV)/.installed-docs: pyproject.toml constraints.txt | $(BIN)/python
	@echo "==> installing gainful and mkdocs into $(VENV) (half a minute the first time)"
	@$(PIP) -e '.[docs]'
	@touch $@

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null \
		|| { echo "gainful needs Python 3.11 or newer, and there is no $(PYTHON) here." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "gainful needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
			"Name another: make PYTHON=python3.12" >&2; exit 1; }
	@echo "==> creating $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV) || { rm -rf $(VENV); exit 1; }
