# Every target creates the virtual environment that it needs. PYTHON is the interpreter of that environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
SOURCES := pyproject.toml constraints.txt CMakeLists.txt $(wildcard native/*.* native/*/*)
# One process more than there are cores, since tests of clusters and browsers often wait.
PROCESSES := $(shell $(PYTHON) -c 'import os; print(len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else os.cpu_count())')
SANITIZED := .venv-sanitize
OLDEST := .venv-oldest
LIBCXX := .venv-libcxx
# The newest clang: packages of Debian and Ubuntu have the version in the name.
CLANG ?= $(lastword clang++ $(shell ls /usr/bin/clang++-[0-9]* 2>/dev/null | sort -V))
SANITIZERS := address,undefined
# Python is not instrumented: preload the sanitizers' libraries, do not report its leaks, and let a failed allocation
# return null, so that it raises MemoryError.
WITH_SANITIZERS = LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 $(SANITIZED)/bin/python
# Time of each fuzz target in seconds, and the seed of the cases.
TIME ?= 60
SEED ?= 0
# Tests start many processes: keep compiled modules, even if the environment disables that.
export PYTHONDONTWRITEBYTECODE :=
# make mutants seeds the faults with one of these words in their name or area; all if empty.
FAULTS ?=
# make workflows runs the jobs with one of these names; all if empty.
JOBS ?=

.PHONY: help demo test test-all test-oldest test-libcxx coverage lint types check format hooks bench bench-quick sanitize fuzz \
  mutants wheel wheel-test workflows release-check docs clean

help:
	@echo "make demo         run a tour of a table, texts, a mailbox and a report"
	@echo "make test         run the tests; list the skipped ones, with the missing requirements"
	@echo "make test-all     run the slow tests too"
	@echo "make test-oldest  run the core tests with the oldest dependencies that pyproject.toml allows"
	@echo "make test-libcxx  compile with clang and libc++, as on macOS, and run the tests of the compiled part"
	@echo "make coverage     run the tests and list the lines and branches that none of them runs"
	@echo "make check        style, types, import layers, examples in docstrings and pages"
	@echo "make lint         style only            (make types: types only)"
	@echo "make format       format the code"
	@echo "make hooks        check style and types before each git commit"
	@echo "make bench        measure speed and memory against other libraries and the limits of the machine"
	@echo "make bench-quick  measure short tasks, at most three minutes; name ratios that fell by more than 15 %"
	@echo "make sanitize     run the kernels' tests under address and undefined-behaviour sanitizers"
	@echo "make fuzz         fuzz mail, text, sparse rows and files under these sanitizers: TIME=60 seconds each, SEED=0"
	@echo "make mutants      seed faults, one at a time, and report those that no test notices"
	@echo "make wheel        build the source archive and the wheel into dist"
	@echo "make wheel-test   install the wheel into an empty environment, without a compiler, and run the demo"
	@echo "make workflows    run the steps of the workflows that this machine can run: JOBS='wheel oldest', all if empty"
	@echo "make release-check  what a release needs: addresses, versions, the same files from two builds"
	@echo "make docs         build the site into docs/_build/html"
	@echo "make clean        remove everything that was built"

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "suffice needs Python 3.11 or later: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	touch $@

# The build tools are installed into the same environment: with build isolation pip would create a new environment each
# time, and compile everything again.
$(VENV)/installed: $(VENV)/made $(SOURCES)
	$(PIP) "pip>=25.1"  # the first that installs groups
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' > $(VENV)/build.txt
	$(PIP) --requirement $(VENV)/build.txt
	$(BIN)/python -c 'from scikit_build_core.build import get_requires_for_build_editable as tools; print(*tools(), sep="\n")' > $(VENV)/build.txt
	$(PIP) --requirement $(VENV)/build.txt
	$(PIP) --no-build-isolation --editable .
	touch $@

# One stamp per group of tools, so that `make demo` installs only what a user needs.
$(VENV)/installed-%: $(VENV)/installed
	$(PIP) --group $*
	touch $@

$(VENV)/installed-cli: $(VENV)/installed
	$(PIP) "suffice[cli]"
	touch $@

demo: $(VENV)/installed-cli
	$(BIN)/suffice demo --folder suffice-demo

test: $(VENV)/installed-test
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile -m "not slow" --ignore=tests/docs

test-all: $(VENV)/installed-test
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --hypothesis-profile=exhaustive

coverage: $(VENV)/installed-test
	rm -rf build/coverage
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile -m "not slow" --cov --cov-report=
	$(BIN)/python -m coverage html --quiet
	$(BIN)/python -m coverage report --sort=miss
	@echo "line by line: build/coverage/html/index.html"

lint: $(VENV)/installed-check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/zizmor --offline --quiet --persona=pedantic .github

types: $(VENV)/installed-check
	$(BIN)/mypy

hooks: $(VENV)/installed-check
	$(BIN)/pre-commit install

check: lint types $(VENV)/installed-test
	PYTHONPATH=src $(BIN)/lint-imports
	$(BIN)/python -m pytest --doctest-modules -q src README.md docs --doctest-glob='*.md' --ignore=src/suffice/kernels/cuda
	$(BIN)/python -m pytest -q -n 2 tests/docs

format: $(VENV)/installed-check
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/installed-bench
	$(BIN)/python -m benchmarks

bench-quick: $(VENV)/installed-bench
	$(BIN)/python -m benchmarks --quick

$(SANITIZED)/installed: $(SOURCES) $(shell find src -name '*.py')
	$(PYTHON) -m venv $(SANITIZED)
	$(SANITIZED)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt "pip>=25.1"
	$(SANITIZED)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
	  -Ccmake.define.SUFFICE_SANITIZE=$(SANITIZERS) -Cbuild-dir=build/sanitize . --group test
	touch $@

# Clusters and servers run no kernels in this process, and do not start with the preloaded libraries. Time limits are
# for runs without sanitizers.
sanitize: $(SANITIZED)/installed
	$(WITH_SANITIZERS) -m pytest -q -n $(PROCESSES) --dist loadfile --max-worker-restart=0 --capture=sys \
	    -p no:cacheprovider -m "not slow" --ignore-glob='tests/data/test_cluster*' \
	    --ignore-glob='tests/kernels/test_sql*' tests/kernels tests/laws tests/text \
	    tests/test_validation.py tests/mail/test_parsing.py tests/mail/test_html.py tests/mail/test_tokens.py \
	    tests/mail/test_features.py tests/mail/test_fuzz_mail.py tests/mail/test_bad_mail.py tests/mail/test_arithmetic.py \
	    -k "not takes_long"
	$(WITH_SANITIZERS) -m tests.fuzz --time 10

fuzz: $(SANITIZED)/installed
	$(WITH_SANITIZERS) -m tests.fuzz --time $(TIME) --seed $(SEED)

mutants: $(VENV)/installed-test
	$(BIN)/python -m tests.mutants $(FAULTS)

wheel: $(VENV)/installed-package
	rm -rf dist
	$(BIN)/python -m build --no-isolation --sdist --wheel

wheel-test: wheel
	PYTHON=$(PYTHON) .ci/test-wheel

# The oldest versions of direct dependencies, with the newest indirect ones. The oldest scikit-learn passes arrays of
# other libraries to scipy only with SCIPY_ARRAY_API.
test-oldest:
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python .ci/oldest.py pyproject.toml > $(OLDEST)/oldest.txt
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(OLDEST)/oldest.txt -Cbuild-dir=build/oldest . --group test
	SCIPY_ARRAY_API=1 $(OLDEST)/bin/python -m pytest -n auto -m "not slow" -p no:cacheprovider tests/statistics tests/generative tests/discriminative tests/store

# An environment with the packages of .venv, and its own build.
$(LIBCXX)/installed: $(VENV)/installed-test-compiled $(shell find src -name '*.py')
	$(PYTHON) -m venv --clear --without-pip $(LIBCXX)
	$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))' > $(LIBCXX)/tools.pth
	mv $(LIBCXX)/tools.pth $(LIBCXX)/lib/python*/site-packages
	CXX=$(CLANG) CXXFLAGS=-stdlib=libc++ $(BIN)/python -m pip --python $(LIBCXX)/bin/python install --quiet \
	  --disable-pip-version-check --no-deps --no-build-isolation --ignore-installed -Cbuild-dir=build/libcxx .
	touch $@

test-libcxx: $(LIBCXX)/installed
	$(LIBCXX)/bin/python -m pytest -q -n $(PROCESSES) --dist loadfile -p no:cacheprovider @tests/compiled.txt

workflows: $(VENV)/installed-check
	$(BIN)/python .ci/workflows.py $(JOBS)

release-check: $(VENV)/installed-package
	PYTHON=$(PYTHON) $(BIN)/python .ci/release_check.py

docs: $(VENV)/installed-docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	@echo "the site: docs/_build/html/index.html"

clean:
	rm -rf $(VENV) $(SANITIZED) $(OLDEST) $(LIBCXX) build dist suffice-demo docs/_build docs/gallery docs/reference/generated .mypy_cache .ruff_cache .pytest_cache .hypothesis
