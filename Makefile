# Two commands matter: `make demo` and `make test`. Both install into .venv first; nothing else is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Three keep two processors busy, since tests wait for servers, browsers and databases too.
WORKERS ?= 3

# The extras of the tests in tests/integrations that can be installed together, with constraints.txt.
INTEGRATIONS := inspect-ai,langfuse,langsmith,mcp,mlflow,parquet,phoenix,postgresql,pytest,ray,weave,xlsx
# The extras that cannot, because of conflicting requirements. Each has an environment of its own, with constraints-NAME.txt
# and the tests in tests/integrations/test_NAME.py. DeepEval needs older releases of click and rich.
SEPARATE := deepeval

.PHONY: demo test golden integration-environments test-integrations test-integrations-python .tested-libraries .tested-programs .unmeasured test-release start-up site lint types check constraints clean

# uv installs several times as fast as pip, which does where uv finds no index: it is set by UV_DEFAULT_INDEX, not as for pip.
UV := $(BIN)/uv
PIP := $(BIN)/python -m pip
install = { $(PIP) install --quiet uv && $(UV) pip install --quiet --python $(BIN)/python $(1) 2> $(VENV)/uv.log; } || \
	{ $(PIP) install --quiet --upgrade "pip>=25.1" && $(PIP) install --quiet $(1); }
DEVELOPMENT := --constraint constraints.txt --editable ".[parquet,xlsx]" --group dev

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "rubriclab needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(call install,$(DEVELOPMENT))
	@touch $@

# Learn, store, report, score and evaluate on people's ratings of summaries, with recorded answers of a language model; no
# key is needed. All results are written to demo/.
demo: $(STAMP)
	@$(BIN)/rubriclab demo

# Bytecode is kept: every worker and every command started by a test would else compile the package anew.
test test-integrations-python: export PYTHONDONTWRITEBYTECODE =
test: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS)

# What the commands of the tour print and write now, which the tests compare with.
golden: $(STAMP)
	$(BIN)/python tests/golden/tour.py

$(UV): $(STAMP)
	$(PIP) install --quiet uv
	@touch $@
IN_NEW_ENVIRONMENT = $(UV) venv --quiet --clear --seed --python $(BIN)/python $(@D) && \
	$(UV) pip install --quiet --python $(@D)/bin/python

# The tests against other tools, in environments of their own: their libraries are large.
integration-environments: $(patsubst %,.venv-%/.installed,integrations $(SEPARATE))

.venv-integrations/.installed: pyproject.toml constraints.txt | $(UV)
	$(IN_NEW_ENVIRONMENT) --constraint constraints.txt --editable ".[$(INTEGRATIONS)]" --group dev --group integrations
	@touch $@

.venv-%/.installed: pyproject.toml constraints-%.txt | $(UV)
	$(IN_NEW_ENVIRONMENT) --constraint constraints-$*.txt --editable ".[$*]" --group dev
	@touch $@

.promptfoo/node_modules/.bin/promptfoo: tests/integrations/install_promptfoo.sh
	tests/integrations/install_promptfoo.sh .promptfoo

# It takes 20 minutes to build, and minutes to ask; with an empty LLAMA_CPP it is left out.
LLAMA_CPP ?= .llama-cpp/model.gguf
.llama-cpp/model.gguf: tests/integrations/install_llama_cpp.sh | $(STAMP)
	PYTHON=$(BIN)/python tests/integrations/install_llama_cpp.sh $(@D)

# promptfoo takes 1.5 GB, and compiles SQLite where npm cannot fetch a build of it. What is not installed is not tested.
test-integrations: .promptfoo/node_modules/.bin/promptfoo $(LLAMA_CPP) test-integrations-python

test-integrations-python: export RUBRICLAB_INTEGRATIONS = $(if $(filter test-integrations,$(MAKECMDGOALS)),all,quick)
test-integrations-python: export RUBRICLAB_PARITY = $(CURDIR)/build/parity.jsonl
# Only `make test-integrations` installs promptfoo, so only there its scores must be compared.
test-integrations-python: WITHOUT_PROMPTFOO = $(if $(filter test-integrations,$(MAKECMDGOALS)),,--unmeasured promptfoo)
test-integrations-python: .tested-libraries .tested-programs
	$(BIN)/python tests/integrations/parity_table.py $(RUBRICLAB_PARITY) $(WITHOUT_PROMPTFOO)
# Two, to run side by side with `make --jobs 2`: what tests programs imports no library of another tool.
PROGRAMS := $(patsubst %,tests/integrations/test_%.py,github_action pre_commit pytest_plugin)
.tested-libraries: .unmeasured
	.venv-integrations/bin/python -m pytest -n $(WORKERS) --dist loadfile $(PROGRAMS:%=--ignore=%) tests/integrations
.tested-programs: .unmeasured
	.venv-integrations/bin/python -m pytest -n $(WORKERS) --dist loadfile $(PROGRAMS)
	for name in $(SEPARATE); do .venv-$$name/bin/python -m pytest -p no:xdist tests/integrations/test_$$name.py || exit 1; done
.unmeasured: integration-environments
	rm -f $(RUBRICLAB_PARITY)

# Seconds of `import rubriclab` and of help, as shares of Python's own start, against the stored results.
start-up: $(STAMP)
	$(BIN)/python -m experiments.benchmarks.start_up --rounds 10 --at-most 2 --compare start_up

# Wheel and sdist in fresh environments, on each supported Python that is here, with the lowest and newest dependencies;
# PYTHONS="3.12 3.13" names the versions.
test-release: $(UV)
	$(BIN)/python tests/packaging/try_release.py $(addprefix --python ,$(PYTHONS))

$(VENV)/.site: $(STAMP)
	$(call install,--constraint constraints.txt --group site)
	@touch $@

# The documentation site, in build/site. Its gallery shows what the demonstration writes.
site: $(VENV)/.site
	rm -rf build/site build/doctrees build/extra build/demo
	$(BIN)/python docs/site/gallery.py build/extra
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --jobs $(WORKERS) \
		--conf-dir docs/site --doctree-dir build/doctrees . build/site
	$(BIN)/python docs/site/check.py build/site

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Tests find their neighbours by name, as when they are run. A module has one name, so links give each conftest.py its own.
types: $(STAMP)
	rm -rf build/types && mkdir -p build/types
	for file in tests/*/conftest.py tests/*/*/conftest.py; do ln -s ../../$$file build/types/$$(echo $$file | tr / _); done
	MYPYPATH="build/types:$$(find tests -type d -not -name __pycache__ | tr '\n' ':')" $(BIN)/mypy rubriclab experiments build/types \
		$$(find tests -name '*.py' -not -path 'tests/*/conftest.py')

check: lint types test

EXTRAS = $(filter-out $(SEPARATE),$(shell $(BIN)/python -c \
	"import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies'])"))
# Without a bound, uv takes graphene 2.0, which does not limit graphql-core, to have the newest graphql-core.
COMPILE = echo "graphene>=3" | $(UV) pip compile pyproject.toml --constraint - --universal --python-version 3.11 --upgrade \
	--no-emit-index-url --no-emit-find-links --no-annotate --no-header --quiet

# Pins carry no addresses, so the file works with any package index.
constraints: $(UV)
	$(COMPILE) --group dev --group integrations --group site $(addprefix --extra ,$(EXTRAS)) --output-file constraints.txt
	for name in $(SEPARATE); do $(COMPILE) --group dev --extra $$name --output-file constraints-$$name.txt || exit 1; done

clean:
	rm -rf $(VENV) .venv-integrations $(SEPARATE:%=.venv-%) .promptfoo .llama-cpp build dist
