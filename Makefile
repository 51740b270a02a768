# Aliases of the commands that people need; `make help` lists them. Each works in a fresh clone.

PYTHON ?= python3
SCALE ?= quick

VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-peers
# The checksum of the files from which .venv was installed.
INSTALLED := $(VENV)/.installed
COMMANDS := help setup install test test-thorough smoke all-figures claims report reference restore \
	readme gallery docs compare estimate benchmark benchmark-peers lint archive
# A study of your own may have a command's name: `snakemake test` draws it.
STUDIES := $(filter-out figure_% $(COMMANDS),$(basename $(notdir $(shell grep -l '^panels:' experiments/*.yaml))))

.DEFAULT_GOAL := help
.NOTPARALLEL:  # `make -j`: targets share results/, and Snakemake shares the cores itself
.PHONY: $(COMMANDS) $(STUDIES)

help:  ## show this list
	@grep -hE '^[a-z_%-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 17
	@printf '\nfor maintainers:\n'
	@grep -hE '^[a-z_%-]+:.*##! ' $(MAKEFILE_LIST) | sed -E 's/:.*##! /\t/' | expand -t 17
	@printf '\noptions: SCALE=quick (default), smoke or paper; PYTHON=python3.12 for setup;\n'
	@printf "         FIGURES='figure_1 figure_7' for estimate, compare, reference and gallery\n"

# Contents decide, not times: a checkout renews times, and clearing .venv needlessly would break running processes.
setup:  ## install everything into .venv, from requirements.lock
	@wanted=$$(cat requirements.lock pyproject.toml | cksum); \
	test "$$wanted" = "$$(cat $(INSTALLED) 2> /dev/null)" || \
		$(MAKE) --no-print-directory install WANTED="$$wanted"

install:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2> /dev/null || { \
		echo "error: make setup needs Python 3.11, 3.12 or 3.13, which $(PYTHON) is not" \
			"($$($(PYTHON) --version 2>&1 | head -n 1)): name one, for example make setup PYTHON=python3.12." >&2; \
		exit 2; }
	@PYTHONPATH=src $(PYTHON) -m dyna_td.records.lock || exit 2
	@test ! -L $(VENV) || { \
		echo "error: $(VENV) is a link to $$(readlink $(VENV)), which others may use: delete the link," \
			"then run make setup again." >&2; \
		exit 2; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@echo "$(WANTED)" > $(INSTALLED)

test:  ## run the tests, on two cores
test-thorough:  ##! run the longer variants and the slow tests, too
test-thorough: ALSO := -m ''
test test-thorough: setup
	@# Two processes, because one that has compiled many hundreds of programs may crash in the compiler.
	$(BIN)/python -m pytest --numprocesses 2 $(ALSO) tests/agents
	$(BIN)/python -m pytest --numprocesses 2 $(ALSO) --ignore tests/agents

smoke: setup  ## every figure, as short as possible: does everything run?
	@$(BIN)/snakemake all_figures --config scale=smoke

figure_%: setup  ## one figure, for example: make figure_1 SCALE=paper
	@$(BIN)/snakemake $@ --config scale=$(SCALE)

all-figures all_figures: setup  ## every figure, at SCALE
	@$(BIN)/snakemake all_figures --config scale=$(SCALE)

what_to_use:  ## prioritized replay and its alternatives on every benchmark (not in the paper)
controls:  ## which part of Dyna-TD helps: agents with one part replaced (not in the paper)
sensitivity:  ## does a number matter that the paper does not state? One at a time (not in the paper)
rates:  ## do the claims depend on learning rates? The same agents at equal ones (not in the paper)
frozen:  ## the theory's statements on a trained Q, measured (claims 45 to 47; in no figure of the paper)
goal:  ## does search control help by a map of the states, or by the place of the goal? (not in the paper)
when:  ## when does prioritized replay beat uniform replay? One number of GridWorld at a time (not in the paper)
regression:  ## who leads where on the sine task, by mini-batch and length? (not in the paper)
$(STUDIES): setup
	@$(BIN)/snakemake $@ --config scale=$(SCALE)

estimate: setup  ## the measured core-hours and memory of figures, at SCALE
	@$(BIN)/python -m dyna_td estimate $(FIGURES) --scale $(SCALE)

claims: setup  ## judge the paper's claims by the finished results, at SCALE
	@$(BIN)/python -m dyna_td claims --scale $(SCALE)

report: setup  ## all finished figures, verdicts, costs and sources on one page, at SCALE
	@$(BIN)/python -m dyna_td report --scale $(SCALE)

compare: setup  ## do the finished runs, at SCALE, repeat the published numbers? If not, where do they begin to differ?
	@$(BIN)/python -m dyna_td compare $(FIGURES) --scale $(SCALE)

reference: setup  ##! publish the finished figures, and runs, of the paper's scale in reference/
	@$(BIN)/python -m dyna_td reference $(FIGURES)
	@$(MAKE) --no-print-directory readme

restore: setup  ## copy the published runs of the paper's scale to results/paper
	@$(BIN)/python -m dyna_td restore

readme: setup  ##! judge the claims by the published runs, and write the generated parts of README and docs
	@$(BIN)/python -m dyna_td readme

gallery: setup  ##! draw the published pictures again, from the published tables
	@$(BIN)/python -m dyna_td gallery $(FIGURES)

archive: setup  ##! the last commit, code and results, as one file with its checksum: for a release
	@name=dyna_td-$$($(BIN)/python -c 'import dyna_td; print(dyna_td.__version__)'); mkdir -p dist; \
	git archive --prefix=$$name/ --output dist/$$name.tar.gz HEAD && cd dist && sha256sum $$name.tar.gz | tee $$name.sha256

docs: setup  ## build the documentation as a site, and serve it at http://127.0.0.1:8000
	@$(BIN)/python -c 'import material' 2> /dev/null || $(BIN)/python -m pip install --quiet --editable '.[docs]'
	@$(BIN)/mkdocs serve

benchmark: setup  ##! measure the speed of training, on one thread
	$(BIN)/python benchmarks/speed.py --output results/benchmark/benchmark.csv

benchmark-peers: setup $(PEERS)/.installed  ##! the same learning work by other libraries, in turn with ours
	$(BIN)/python benchmarks/peers.py --python $(PEERS)/bin/python --output results/benchmark/peers.csv

# Each line is installed alone: the benchmark skips a library that fails, and the next call tries it again.
$(PEERS)/.installed: benchmarks/requirements.txt
	$(PYTHON) -m venv $(PEERS)
	@complete=yes; sed 's/ *#.*//; /^$$/d' $< | { while read -r requirement; do \
		echo "$(PEERS)/bin/python -m pip install --quiet $$requirement"; \
		$(PEERS)/bin/python -m pip install --quiet "$$requirement" < /dev/null || complete=no; \
	done; test $$complete = no || touch $@; }

lint: setup  ##! check style and types: Python and Snakefile
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile
	$(BIN)/snakemake --lint
