# qed: every job is one word. Only Python >= 3.11, make and a C++ compiler are needed beforehand.
# PYTHON=… names the interpreter, ONLY=… narrows bench, SECONDS=… sets how long fuzz runs.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VENV   := .venv
PY     := $(VENV)/bin/python
STAMPS := $(VENV)/stamps
# what cmake and ninja from the venv need to find each other
TOOLED := PATH="$(CURDIR)/$(VENV)/bin:$$PATH"
NATIVE := $(shell find native -type f 2>/dev/null)

# a fuzz run lasts this many seconds for the laws, again for certificates and for files
SECONDS ?= 300

.PHONY: help
help: ## this list
	@echo "qed: machine learning that shows its proof"
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# ---------------------------------------------------------------- set-up, behind stamps
.PHONY: compiler environment
compiler:
	@tools/find_compiler.sh

define groups
	@found=$$(tools/find_python.sh "$(PYTHON)") && tools/environment.sh "$$found" $(VENV) $(1)
	@mkdir -p $(STAMPS) && touch $@
endef

$(STAMPS)/run: pyproject.toml tools/environment.sh
	$(call groups,build screen)
$(STAMPS)/test: pyproject.toml tools/environment.sh
	$(call groups,build screen test neural check)
	@touch $(STAMPS)/run
$(STAMPS)/docs: pyproject.toml tools/environment.sh
	$(call groups,build screen test neural check docs)
	@touch $(STAMPS)/run $(STAMPS)/test

environment: $(STAMPS)/test

# $(1): which levels, and what else to build. Modules of an earlier build must not outlive their sources: all are replaced.
define build
	@tools/find_compiler.sh
	@$(TOOLED) cmake -S native -B build/native -G Ninja -DCMAKE_BUILD_TYPE=Release -DPython_EXECUTABLE="$(CURDIR)/$(PY)" $(1) --log-level=WARNING
	@$(TOOLED) cmake --build build/native
	@rm -f src/qed/_native/_*.so
	@$(TOOLED) cmake --install build/native --prefix src/qed/_native > build/native/installed.txt
	@touch $@
endef

build/native/stamp: $(STAMPS)/run $(NATIVE)
	@echo "· building the native modules for the instruction level of this machine"
	$(call build,-DQED_LEVELS=host)

build/native/levels.stamp: $(STAMPS)/run $(NATIVE)
	@echo "· building the native modules for every instruction level"
	$(call build,-DQED_LEVELS=all -DQED_TESTS=ON)
	@touch build/native/stamp build/native/tests.stamp

build/native/tests.stamp: build/native/stamp
	@$(TOOLED) cmake -S native -B build/native -DQED_TESTS=ON --log-level=WARNING > build/native/configured.txt
	@$(TOOLED) cmake --build build/native
	@touch $@

# ---------------------------------------------------------------- what people come for
.PHONY: demo test
demo: compiler build/native/stamp ## fit real data, see the certificate, see a tampered model rejected
	@$(PY) -m qed demo

test: ## everything: set-up, build, checks, native tests, Python tests
	@found=$$(tools/find_python.sh "$(PYTHON)") && "$$found" tools/stages.py

# ---------------------------------------------------------------- parts of test
.PHONY: check native levels nativetests ctest pytest laws
check: build/native/stamp $(STAMPS)/test ## lint, types, import rules, documented API, import time
	@$(PY) tools/check.py

native: build/native/stamp ## build the C++ modules in place, for the instruction level of this machine

levels: build/native/levels.stamp $(STAMPS)/test ## build and test them for every instruction level
	@$(MAKE) ctest
	@$(PY) tools/run_pytest.py tests/native tests/integration/test_environments.py

nativetests: build/native/tests.stamp

ctest: build/native/tests.stamp
	@$(TOOLED) ctest --test-dir build/native --output-on-failure --no-tests=error

pytest: build/native/stamp $(STAMPS)/test
	@$(PY) tools/run_pytest.py tests

laws: build/native/stamp $(STAMPS)/test ## the mathematical laws alone
	@$(PY) tools/run_pytest.py tests/laws

# ---------------------------------------------------------------- less often
.PHONY: new generate fuzz bench choice docs sanitize wheel size
new: build/native/stamp $(STAMPS)/test ## the skeleton of an estimator: NAME=ToyRegressor FAMILY=linear_model
	@$(PY) tools/new_estimator.py "$(NAME)" "$(FAMILY)"

generate: build/native/stamp $(STAMPS)/test ## what follows from the sources: reference pages, lists, golden files
	@$(PY) tools/generate.py

fuzz: build/native/stamp $(STAMPS)/test ## look for counter-examples for SECONDS=300, three times; counts go to fuzz/RECORD.md
	@$(PY) tools/fuzz.py --seconds $(SECONDS)

bench: build/native/stamp $(STAMPS)/test ## race the rivals: all rows, or ONLY=name; writes benchmarks/RESULTS.md
	@$(PY) -m benchmarks $(if $(ONLY),--only "$(ONLY)") $(BENCH)

choice: build/native/stamp $(STAMPS)/test ## time every solver that takes a problem against the chosen one; writes benchmarks/CHOICE.md
	@$(PY) -m benchmarks.choice

docs: build/native/stamp $(STAMPS)/docs ## the site, gallery included, into docs/_build/html
	@$(PY) docs/gallery/run.py
	@$(PY) -m sphinx -E -W --keep-going -q -j auto -b html docs docs/_build/html
	@echo "· open docs/_build/html/index.html"

sanitize: compiler $(STAMPS)/test ## native and Python tests under AddressSanitizer and UBSan
	@$(TOOLED) $(PY) tools/sanitize.py

wheel: compiler $(STAMPS)/test ## build, audit, install in an empty place, smoke test
	@$(TOOLED) $(PY) tools/wheel.py

size: ## how long files and functions are, for a person to judge
	@found=$$(tools/find_python.sh "$(PYTHON)") && "$$found" tools/size.py
