# Needs Python 3.11 or newer and make. `make PYTHON=/some/python3` chooses the interpreter of a new .venv.
PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin
# Newer than what it was made from: the set-up is complete and is not repeated.
READY := $(VENV)/ready

.DEFAULT_GOAL := help
.PHONY: help demo test check bench prove clean

help:
	@echo "make demo    set up and solve a first problem"
	@echo "make test    the tests"
	@echo "make check   style and types"
	@echo "make bench   the benchmarks"
	@echo "make prove   the long claims, resumable; CLAIMS=\"name ...\" for some of them"
	@echo "make clean   remove .venv and everything else that make made"

demo: $(READY)
	$(BIN)/stiffax solve helmholtz-2d --time-limit 30 --plot helmholtz-2d.png
	@echo
	@echo "The picture is helmholtz-2d.png. Three commands to try next:"
	@echo
	@echo "  $(BIN)/stiffax list"
	@echo "  $(BIN)/stiffax show boundary-layer"
	@echo "  $(BIN)/stiffax solve boundary-layer --set eps=0.001 --plot boundary-layer.png"

test: $(READY)
	$(BIN)/python -m pytest

check: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright

bench: $(READY)
	@for script in benchmarks/derivatives.py benchmarks/local_error.py "benchmarks/start.py --seconds 20"; do echo "$$script"; $(BIN)/python $$script || exit 1; done

prove: $(READY)
	$(BIN)/python -m claims $(CLAIMS)

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache helmholtz-2d.png
	find src tests claims benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml constraints.txt
	@found=; for python in $(or $(PYTHON),python3 python3.12 python3.11 python3.13 python3.14); do \
		"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && found="$$python" && break; \
	done; \
	if [ -z "$$found" ]; then \
		echo "stiffax needs Python 3.11 or newer; found: $$($(or $(PYTHON),python3) --version 2>&1)." >&2; \
		echo "Install one, or name it: make PYTHON=/path/to/python3.12" >&2; \
		exit 1; \
	fi; \
	echo "Setting up $(VENV) with $$("$$found" --version) (once, a minute or two)"; \
	$(BIN)/python -m pip --version >/dev/null 2>&1 || "$$found" -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@
