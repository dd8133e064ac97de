# demo: the main job on real scans; the others are for developers (CONTRIBUTING.md). Each sets itself up in .venv.
PYTHON ?= python3
BIN := .venv/bin
# without a GPU: make test TORCH_INDEX=https://download.pytorch.org/whl/cpu
TORCH_INDEX ?=

.PHONY: demo test test-slow check format docs tutorials bench structure release clean

DEMO := --prompter box_slice --prompter box_interp:n=3 --prompter box_volume --prompter point_interp:n=3 \
	--dataset spine_ct --dataset spine_mr --save-masks

# first what needs no torch, which takes minutes to install
demo: .venv/.report
	$(BIN)/intrabench run --model random_walker --model box_fill $(DEMO)
	$(BIN)/intrabench report
	$(MAKE) --no-print-directory .venv/.demo
	$(BIN)/intrabench run --model litemedsam --model random_walker --model box_fill $(DEMO)
	$(BIN)/intrabench report

test: .venv/.dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

test-slow: .venv/.dev
	$(BIN)/python -m pytest -m 'slow or hypothesis' --hypothesis-profile thorough

check: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32 intrabench

format: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: .venv/.dev
	$(BIN)/python docs/make_prompters.py
	$(BIN)/python docs/make_models.py
	$(BIN)/python docs/make_datasets.py
	$(BIN)/python docs/make_credits.py
	$(BIN)/python docs/make_protocols.py
	$(BIN)/python docs/make_drawings.py
	$(BIN)/python docs/make_ratings.py
	$(BIN)/python docs/make_sources.py
	$(BIN)/python -m tests.tutorials
	$(BIN)/python -m tests.notebooks
	$(BIN)/python -m mkdocs build

# all tutorials, with a wheel in a fresh environment
tutorials: .venv/.dev
	$(BIN)/python -m tests.tutorials --wheel

bench: .venv/.dev
	$(BIN)/python -m benchmarks

structure: .venv/.dev
	$(BIN)/python scripts/structure.py

release: .venv/.dev
	$(BIN)/python scripts/release.py $(VERSION) $(if $(DRY),--dry-run)

clean:
	rm -rf .venv build dist site .pytest_cache .mypy_cache .ruff_cache

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "IntraBench needs Python 3.11 or newer; run: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.report: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[report]'
	touch $@

.venv/.torch: .venv/bin/python
	$(if $(TORCH_INDEX),$(BIN)/python -m pip install --quiet --index-url $(TORCH_INDEX) torch torchvision)
	touch $@

.venv/.demo: .venv/.torch pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[demo]'
	touch $@

.venv/.dev: .venv/.torch pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	SAM2_BUILD_CUDA=0 $(BIN)/python -m pip install --quiet --no-build-isolation --no-deps 'sam2==1.1.0'
	touch $@
