# The README's commands. `make demo` needs Python 3.11, make and git, `make test` OpenSSH's client too.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
CORES ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
SNAKEMAKE = .venv/bin/snakemake --workflow-profile workflow/profiles/default

# Further papers' studies in small: workflow/studies/<name>-small.yaml.
STUDIES = sources remedies frameworks

# Environments: <folder>/<name> is what requirements/<name>.txt locks, in a virtual environment in that folder.
cpu_SIZE = some 450 MB to download, two to three minutes
jax_SIZE = some 250 MB to download at most, a minute or two
dev_SIZE = some 650 MB to download, two to three minutes
jax-dev_SIZE = some 350 MB to download, two minutes
torch_SIZE = up to 3 GB to download
LOCKED = .venv/cpu .venv/jax .venv/torch .venv/dev .venv-jax/jax-dev

.PHONY: demo check test test-jax lint bench clean $(STUDIES)
.DELETE_ON_ERROR:
.NOTPARALLEL:

demo: .venv/cpu
	@$(SNAKEMAKE)
	@.venv/bin/toolnoise summary --study results/demo/study.json

$(STUDIES): .venv/cpu
	@$(SNAKEMAKE) --configfile workflow/studies/$@-small.yaml
	@.venv/bin/toolnoise summary --study results/$@-small/study.json
	@echo "the figures and tables: results/$@-small/figures/"

# Of all three frameworks.
frameworks: .venv/frameworks

# While one works: the unit tests and one small study, in at most two minutes on two cores.
check: .venv/dev
	@.venv/bin/python -m pytest --numprocesses $(CORES) --dist loadfile -m "not slow"

test: .venv/dev
	@.venv/bin/python -m pytest --numprocesses $(CORES) --dist loadfile

# Where there is no TensorFlow: what needs it is skipped.
test-jax: .venv-jax/jax-dev
	@.venv-jax/bin/python -m pytest --numprocesses $(CORES) --dist loadfile \
		tests/unit tests/engine tests/workflow/test_one_framework.py

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
.SECONDEXPANSION:
$(LOCKED): requirements/$$(@F).txt pyproject.toml
	@echo "installing what requirements/$(@F).txt locks into $(@D): $($(@F)_SIZE)"
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@started=$$(date +%s); \
	$(@D)/bin/pip install --disable-pip-version-check --require-hashes --requirement $< && \
	$(@D)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . && \
	echo "$$(( $$(date +%s) - started ))" > $@

# The PyTorch that is locked is the package index's, which on Linux comes with CUDA: gigabytes that a CPU has no use for.
# So versions alone are asked for, without hashes, and where pip is shown a build for CPUs it takes that one.
.venv/frameworks: .venv/cpu .venv/jax requirements/frameworks.txt
	@echo "installing PyTorch into $(@D): 190 MB to download if pip is shown a build for CPUs, else 2.9 GB"
	@sed -n 's/^\([a-z0-9.-]*==[^ ;]*\).*/\1/p' requirements/frameworks.txt > $@.versions
	.venv/bin/pip install --disable-pip-version-check --constraint $@.versions torch
	@mv $@.versions $@

clean:
	rm -rf .venv .venv-jax .snakemake results crates logs build .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find . -name '*.egg-info' -type d -prune -exec rm -rf {} +
