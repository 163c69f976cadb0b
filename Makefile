# VeoTuner: `make run` shows it, `make test` checks it. Both prepare what they need first (packaging/setup.sh).
BIN := .venv/bin

.PHONY: help setup run test bench soak schema shaders clean

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile

setup:  ## install what is missing and make .venv; quick when nothing is
	@packaging/setup.sh

run: setup  ## the main job on a ten-second sample: in the window, or headless without a display
	$(BIN)/veotuner demo

test:  ## lint, types, import contracts and the whole suite
	@packaging/setup.sh --test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest --cov

bench:  ## ratios measured in turns in one run, written to build/bench.md
	@packaging/setup.sh --bench
	$(BIN)/python -m tests.bench

soak:  ## half an hour of 120 fps on the simulated display: memory, handles, threads and pacing stay flat
	@packaging/setup.sh --test
	$(BIN)/python -m tests.bench.soak

schema: setup  ## write the JSON Schema of VeoConfig into assets/
	$(BIN)/veotuner schema --output assets/veoconfig.schema.json

shaders:  ## compile assets/shaders to SPIR-V
	@packaging/setup.sh --test
	packaging/compile_shaders.sh

clean:  ## remove what was built, but not .venv
	rm -rf build dist htmlcov .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find app widgets tests -name __pycache__ -type d -prune -exec rm -rf {} +
