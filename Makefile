# A fresh machine needs Python 3.11, pip, a C++20 compiler and make; everything else goes into .venv.
PYTHON ?= python3
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Directories are listed too: their time changes when a file is removed.
SOURCES := pyproject.toml CMakeLists.txt README.md $(shell find cpp src -name __pycache__ -prune -o -print)
NATIVE := $(shell find cpp tests/native -name '*.hpp' -o -name '*.cpp')
PYTHON_CODE := $(wildcard src tests examples benchmarks docs)
SPHINX := $(BIN)/python -m sphinx -W --keep-going

.PHONY: demo test test-all lint format sanitize docs bench clean

demo: .venv/installed
	mkdir -p build
	MPLBACKEND=Agg $(BIN)/python examples/plot_ionosphere.py build/ionosphere.png

# The installed package, its docstrings, the guide and the README.
TESTED := --pyargs tests mercer docs/guide docs/extending README.md
test: .venv/installed
	$(BIN)/python -m pytest -n auto $(TESTED)

test-all: .venv/installed
	$(BIN)/python -m pytest -n auto -m "slow or not slow" $(TESTED)

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

docs: .venv/installed .venv/extra-docs
	MPLBACKEND=Agg $(SPHINX) -b html docs build/docs

bench: .venv/installed .venv/extra-bench
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv build docs/api/generated docs/gallery

# What builds the package: kept outside pip's isolated builds, so that an unchanged object file stays compiled.
.venv/tools: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['build-system']['requires'])" \
	    | xargs $(BIN)/pip install -q "cmake>=3.26" ninja
	touch $@

.venv/installed: .venv/tools $(SOURCES)
	$(BIN)/pip install -q --no-build-isolation ".[test]"
	touch $@

# The package is there already: this adds what the extra asks for.
.venv/extra-%: pyproject.toml | .venv/installed
	$(BIN)/pip install -q "mercer[$*]"
	touch $@
