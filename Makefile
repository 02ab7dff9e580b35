# Everything runs in .venv. On a fresh Debian machine each target sets up what it needs.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup demo slurm test launchers fuzz lint bench mutants soak screenshots gradescope golden clean

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
BROWSER := .venv/.browser

help:
	@echo "make demo   set up, then grade the example submission"
	@echo "make test   set up, then run the whole suite"
	@echo "make setup | lint | bench | launchers | fuzz | mutants | soak | screenshots | gradescope | golden | clean"

setup: $(READY) $(BROWSER)

# Only what is missing is installed from the distribution. The stamps make a second run instant.
define install_missing
if [ $${#missing[@]} -gt 0 ]; then \
		if [ "$$(id -u)" -ne 0 ]; then \
			echo "These packages are needed and not installed: $${missing[*]}." \
				"Install them (apt-get install $${missing[*]}) and run make again." >&2; \
			exit 1; \
		fi; \
		apt-get update && DEBIAN_FRONTEND=noninteractive \
			apt-get install --yes --no-install-recommends "$${missing[@]}" || exit 1; \
	fi
endef

$(READY): pyproject.toml constraints.txt
	@missing=(); \
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv); \
	command -v bwrap >/dev/null || missing+=(bubblewrap); \
	$(install_missing)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; name one with make PYTHON=…" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch==2.13.0 --editable '.[dev]'
	@touch $@

# For the tests of the pages and for the pictures of them: nobody needs a browser to grade.
$(BROWSER): | $(READY)
	@missing=(); \
	command -v chromium >/dev/null || missing+=(chromium); \
	$(install_missing)
	@touch $@

# The example is right in some parts and wrong in others: status 1, "graded, marks lost", is its result.
demo: $(READY)
	@status=0; mkdir -p build; (cd examples && ../$(BIN)/python -m zipfile -c ../build/partly_right.zip partly_right/); \
	$(BIN)/grader check build/partly_right.zip || status=$$?; \
	if [ $$status -ne 1 ]; then \
		echo "The example should lose marks (status 1), but grader check ended with status $$status." >&2; \
		exit 1; \
	fi

# A real Slurm, which some tests start for themselves; where it cannot be installed they are skipped.
slurm:
	@tests/slurm/install.sh

test: setup slurm
	$(BIN)/python -m pytest -n 2

# What `make test` leaves out: every corpus case by the real torchrun, compared with forked ranks.
launchers: setup
	$(BIN)/python -m pytest -n 2 -m "slow or exhaustive" tests/test_corpus.py -k torchrun

fuzz: setup
	$(BIN)/python -m pytest -n 2 -m fuzz --hypothesis-profile=long

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/shellcheck .ci/run templates/gradescope/setup.sh templates/gradescope/run_autograder slurm/run.sbatch \
		tests/slurm/install.sh
	$(BIN)/grader skeleton --check

bench: setup
	$(BIN)/python -m tests.benchmarks

mutants: setup
	$(BIN)/python -m tests.mutants

ROUNDS ?= 10
soak: setup
	$(BIN)/python -m tests.soak --rounds $(ROUNDS)

# The job scripts that the tests compare with, and slurm/run.sbatch, after templates or profiles changed.
golden: setup
	$(BIN)/python -m tests.clusters.golden

# What Gradescope builds its image from. SEED=… asks what an earlier zip asked; TORCH_INDEX=… is the address
# of a package index with torch for the CPU.
gradescope: setup
	$(BIN)/python -m grader.gradescope_image build/gradescope.zip \
		$(if $(SEED),--seed $(SEED)) $(if $(TORCH_INDEX),--torch-index $(TORCH_INDEX))

screenshots: setup
	$(BIN)/python -m tests.browser.screenshots docs/screenshots

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
