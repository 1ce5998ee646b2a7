# A fresh machine needs Python 3.11, pip, a C++20 compiler and make; everything else goes into .venv.
PYTHON ?= python3
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Directories are listed too: their time changes when a file is removed.
SOURCES := pyproject.toml CMakeLists.txt README.md $(shell find cpp src -name __pycache__ -prune -o -print)
NATIVE := $(shell find $(wildcard cpp tests/native) -name '*.hpp' -o -name '*.cpp')
PYTHON_CODE := $(wildcard conftest.py src tests examples benchmarks docs)

.PHONY: demo test test-all browser sklearn-tests wheel oldest lint format sanitize docs docs-test bench bench-full clean

demo: .venv/installed
	mkdir -p build
	MPLBACKEND=Agg $(BIN)/python examples/plot_ionosphere.py build/ionosphere.png

# The tests, and the examples in the docstrings of the installed package, in the docs and in the README.
TESTED := --pyargs tests mercer docs README.md
# There is a worker on every core: threads of BLAS would only wait for each other.
test test-all: export OPENBLAS_NUM_THREADS := 1
test: .venv/installed
	$(BIN)/python -m pytest -n auto $(TESTED)

test-all: .venv/installed
	$(BIN)/python -m pytest -n auto -m "slow or not slow" $(TESTED)

# Debian's chromium, in which the labelling page and the documentation are tested; without it these tests skip, and say so.
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo -n)
browser:
	command -v chromium >/dev/null && command -v chromedriver >/dev/null || { $(SUDO) apt-get update -qq; \
	    $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -yqq chromium chromium-driver; }

# scikit-learn's tests of its support vector machines, against the classes that take their place.
sklearn-tests: .venv/installed
	$(BIN)/python -m benchmarks.sklearn_tests

# A wheel, in build/wheels, and a look at it in an environment that has nothing else: `make wheel PYTHON=python3.13`.
NEWEST_WHEEL = $$(ls -t build/wheels/mercer-*.whl | head -n 1)
wheel:
	$(PYTHON) -m pip wheel -q --no-deps -w build/wheels .
	$(PYTHON) -m venv --clear build/wheel-env
	build/wheel-env/bin/pip install -q $(NEWEST_WHEEL)
	build/wheel-env/bin/python tests/packaging/smoke.py

# The same with the oldest NumPy, SciPy and scikit-learn that pyproject.toml allows, and the tests without the laws, or
# some of them: `make oldest WITH=tests/test_svm.py`.
WITH := tests --ignore tests/laws
oldest: .venv/installed
	$(BIN)/pip wheel -q --no-deps --no-build-isolation -w build/wheels .
	($(call LISTED,['project']['dependencies']) | sed 's/>=/==/'; printf 'pytest<9\npyarrow<24\n') > build/oldest.txt  # what is as old, too
	$(PYTHON) -m venv --clear build/oldest-env
	build/oldest-env/bin/pip install -q -c build/oldest.txt $(NEWEST_WHEEL)
	build/oldest-env/bin/python tests/packaging/smoke.py
	build/oldest-env/bin/pip install -q -c build/oldest.txt "$(NEWEST_WHEEL)[test]"
	OPENBLAS_NUM_THREADS=1 build/oldest-env/bin/python -m pytest -q -n auto -m "not slow and not browser" \
	    $(WITH)

lint: .venv/installed .venv/extra-lint
	$(BIN)/ruff check $(PYTHON_CODE)
	$(BIN)/ruff format --check $(PYTHON_CODE)
	$(BIN)/mypy -p mercer
	$(BIN)/clang-format --dry-run --Werror $(NATIVE)

format: .venv/installed .venv/extra-lint
	$(BIN)/ruff check --fix $(PYTHON_CODE)
	$(BIN)/ruff format $(PYTHON_CODE)
	$(BIN)/clang-format -i $(NATIVE)

sanitize: .venv/tools
	$(BIN)/cmake -S . -B build/sanitize -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) \
	    -DMERCER_NATIVE_TESTS=ON -DMERCER_SANITIZE=ON
	$(BIN)/cmake --build build/sanitize
	build/sanitize/native_tests

# Everything is read afresh (-E): a warning does not go away by building again.
docs: .venv/installed .venv/extra-docs
	MPLBACKEND=Agg $(BIN)/python -m sphinx -E -W --keep-going -b html docs build/docs

# The pages that were built, read in a browser.
docs-test: .venv/installed
	$(BIN)/python -m pytest -rs tests/docs

bench: .venv/installed .venv/peers
	$(BIN)/python -m benchmarks

bench-full: .venv/installed .venv/peers
	$(BIN)/python -m benchmarks --full

clean:
	rm -rf .venv build docs/api/generated docs/gallery

# A list in pyproject.toml, one entry per line.
LISTED = $(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))$(1), sep='\n')"

# What builds the package: kept outside pip's isolated builds, so that an unchanged object file stays compiled.
.venv/tools: pyproject.toml
	$(PYTHON) -m venv .venv
	$(call LISTED,['build-system']['requires']) | xargs $(BIN)/pip install -q "cmake>=3.26" ninja
	touch $@

.venv/installed: .venv/tools $(SOURCES)
	$(BIN)/pip install -q --no-build-isolation ".[test]"
	touch $@

# The package is there already: this adds what the extra asks for.
.venv/extra-%: pyproject.toml | .venv/installed
	$(BIN)/pip install -q "mercer[$*]"
	touch $@

# The libraries to compare with, one by one: the benchmark goes on without those that this machine cannot have.
.venv/peers: pyproject.toml | .venv/installed
	$(call LISTED,['project']['optional-dependencies']['bench']) | while read -r peer; do \
	    $(BIN)/pip install -q "$$peer" || echo "without $$peer, which cannot be installed here"; done
	touch $@
