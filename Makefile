# Two commands matter: `make demo` and `make test`. Both install into .venv first; nothing else is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= 2

.PHONY: demo test lint types check constraints clean

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "rubriclab needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[parquet]" --group dev
	@touch $@

# Learn, store, score, evaluate and report, on the shipped sample and with the offline judge; all of it lands in demo/.
SAMPLE := experiments/sample
demo: export RUBRICLAB_JUDGE = embedded
demo: export RUBRICLAB_STORE = demo/store.db
demo: $(STAMP)
	@mkdir -p demo
	$(BIN)/rubriclab learn $(SAMPLE)/labelled.jsonl --task summarization --aspect coherence --scale 1:5 --name news-coherence
	$(BIN)/rubriclab report news-coherence -o demo/rubric.html
	$(BIN)/rubriclab score $(SAMPLE)/heldout.jsonl --rubric news-coherence -o demo/scores.jsonl
	$(BIN)/rubriclab evaluate $(SAMPLE)/heldout.jsonl --rubric news-coherence --report demo/report.html
	$(BIN)/rubriclab export news-coherence -o demo/news-coherence.json
	@echo "Done: read demo/rubric.html and demo/report.html in a browser, demo/scores.jsonl in an editor."

# Bytecode is kept: every worker and every command started by a test would else compile the package anew.
test: export PYTHONDONTWRITEBYTECODE =
test: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS)

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

# Pins carry no addresses, so the file works with any package index.
constraints: $(STAMP)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --group dev --all-extras --universal --python-version 3.11 --upgrade \
		--no-emit-index-url --no-emit-find-links --no-annotate --no-header --quiet --output-file constraints.txt

clean:
	rm -rf $(VENV) build dist
