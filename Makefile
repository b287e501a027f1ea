# The README's commands. `make demo` needs Python 3.11, make and git, `make test` OpenSSH's client too.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
CORES ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
SNAKEMAKE = .venv/bin/snakemake --workflow-profile workflow/profiles/default

# Further papers' studies in small: workflow/studies/<name>-small.yaml.
STUDIES = sources remedies frameworks

.PHONY: demo test lint bench clean $(STUDIES)
.DELETE_ON_ERROR:

demo: .venv/cpu
	@$(SNAKEMAKE)
	@.venv/bin/toolnoise summary --study results/demo/study.json

$(STUDIES): .venv/cpu
	@$(SNAKEMAKE) --configfile workflow/studies/$@-small.yaml
	@.venv/bin/toolnoise summary --study results/$@-small/study.json
	@echo "the figures and tables:" results/$@-small/figures/$@-*.[hp]*

# Of all three frameworks.
frameworks: .venv/frameworks

test: .venv/dev
	@.venv/bin/python -m pytest --numprocesses $(CORES) --dist loadfile

lint: .venv/dev
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/snakefmt --check Snakefile workflow
	@.venv/bin/snakemake --lint
	@.venv/bin/nbstripout --keep-id --verify notebooks/*.ipynb

bench: .venv/dev
	@.venv/bin/python bench/engine_vs_fit.py
	@.venv/bin/python bench/workflow_tax.py
	@.venv/bin/python bench/pairwise.py
	@.venv/bin/python bench/demo_time.py
	@.venv/bin/python bench/audit_vs_sha256sum.py
	@.venv/bin/python bench/coverage.py

# Each stamp holds the seconds that its installation took: bench/demo_time.py reports them.
.venv/cpu .venv/dev: .venv/%: requirements/%.txt pyproject.toml
	@echo "installing what requirements/$*.txt locks into .venv: some 450 MB to download, two to three minutes"
	@test -x .venv/bin/python || $(PYTHON) -m venv .venv
	@started=$$(date +%s); \
	.venv/bin/pip install --disable-pip-version-check --require-hashes --requirement $< && \
	.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . && \
	echo "$$(( $$(date +%s) - started ))" > $@

clean:
	rm -rf .venv .snakemake results crates logs build .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find . -name '*.egg-info' -type d -prune -exec rm -rf {} +
