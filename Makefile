# Two commands matter: `make demo` and `make test`. Both install into .venv first; nothing else is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= 2

# The extras of the tests in tests/integrations.
# DeepEval needs older releases of click and rich than constraints.txt, so it has constraints and an environment of its own.
INTEGRATIONS := inspect-ai,langfuse,langsmith,mcp,mlflow,parquet,phoenix,postgresql,pytest,ray,xlsx

.PHONY: demo test test-integrations test-release lint types check constraints clean

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "rubriclab needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[parquet,xlsx]" --group dev
	@touch $@

# Learn, store, report, score and evaluate on the shipped sample, with recorded answers of a language model and with the
# offline judge; no key is needed. All results are written to demo/.
demo: $(STAMP)
	@$(BIN)/rubriclab demo

# Bytecode is kept: every worker and every command started by a test would else compile the package anew.
test: export PYTHONDONTWRITEBYTECODE =
test: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS)

# The tests against other tools, in an environment of their own: their libraries are large.
.venv-integrations/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-integrations
	.venv-integrations/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv-integrations/bin/python -m pip install --quiet --constraint constraints.txt \
		--editable ".[$(INTEGRATIONS)]" --group dev --group integrations
	@touch $@

.venv-deepeval/.installed: pyproject.toml constraints-deepeval.txt
	$(PYTHON) -m venv .venv-deepeval
	.venv-deepeval/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv-deepeval/bin/python -m pip install --quiet --constraint constraints-deepeval.txt --editable ".[deepeval]" --group dev
	@touch $@

.promptfoo/node_modules/.bin/promptfoo: tests/integrations/install_promptfoo.sh
	tests/integrations/install_promptfoo.sh .promptfoo

test-integrations: export PYTHONDONTWRITEBYTECODE =
test-integrations: export RUBRICLAB_INTEGRATIONS = 1
test-integrations: .venv-integrations/.installed .venv-deepeval/.installed .promptfoo/node_modules/.bin/promptfoo
	.venv-integrations/bin/python -m pytest -p no:xdist tests/integrations
	.venv-deepeval/bin/python -m pytest -p no:xdist tests/integrations/test_deepeval.py

# Wheel and sdist in fresh environments, on each supported Python that is here, with the lowest and newest dependencies;
# PYTHONS="3.12 3.13" names the versions.
test-release: $(STAMP)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/python tests/packaging/try_release.py $(addprefix --python ,$(PYTHONS))

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The scripts of experiments find their neighbours by name, as when they are run.
# So do the tests; each folder may have a conftest.py, so those are checked one by one.
types: $(STAMP)
	$(BIN)/mypy
	export MYPYPATH="$$(find tests experiments -type d -not -name __pycache__ | tr '\n' ':')"; \
		$(BIN)/mypy --config-file tests/mypy.ini $$(find tests -name '*.py' -not -path 'tests/*/conftest.py') && \
		for file in $$(find tests -mindepth 2 -name conftest.py); do $(BIN)/mypy --config-file tests/mypy.ini $$file || exit 1; done
	MYPYPATH="$$(printf "%s:" tests tests/flow)" $(BIN)/mypy --explicit-package-bases -p experiments

check: lint types test

# All extras but deepeval.
EXTRAS = $(filter-out deepeval,$(shell $(BIN)/python -c \
	"import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies'])"))
COMPILE = $(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --upgrade \
	--no-emit-index-url --no-emit-find-links --no-annotate --no-header --quiet

# Pins carry no addresses, so the file works with any package index.
constraints: $(STAMP)
	$(BIN)/python -m pip install --quiet uv
	$(COMPILE) --group dev --group integrations $(addprefix --extra ,$(EXTRAS)) --output-file constraints.txt
	$(COMPILE) --group dev --extra deepeval --output-file constraints-deepeval.txt

clean:
	rm -rf $(VENV) .venv-integrations .venv-deepeval .promptfoo build dist
