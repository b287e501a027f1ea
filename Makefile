# The commands of the README. `make demo` needs Python 3.11, make and git; `make test` also needs OpenSSH's client.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
CORES ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
SNAKEMAKE = .venv/bin/snakemake
PYTEST = .venv/bin/python -m pytest
SPREAD = -m pytest --numprocesses $(CORES) --dist loadfile --no-loadscope-reorder

# Small versions of other papers' studies: workflow/studies/<name>-small.yaml.
STUDIES = sources bootstrap remedies activations frameworks language finetuning initial

# Environments: <folder>/<name> installs requirements/<name>.txt into the virtual environment <folder>.
cpu_SIZE = about 450 MB to download, half a minute to three minutes
jax_SIZE = at most about 250 MB to download, at most two minutes
dev_SIZE = about 650 MB to download, half a minute to three minutes
torch_SIZE = up to 3 GB to download
# Other versions of a framework, for toolings that name an environment.
ENVIRONMENTS = $(patsubst requirements/versions/%.txt,.environments/%,$(wildcard requirements/versions/*.txt))
# Programs for checks, each in an environment of its own.
TOOLS = $(patsubst requirements/tools/%.txt,.environments/%,$(wildcard requirements/tools/*.txt))
LOCKED = .venv/cpu .venv/jax .venv/torch .venv/dev .venv-jax/jax

.PHONY: help demo test test-long test-studies test-examples test-fuzz test-locks \
	test-advisories test-jax lint docs dist sbom clean $(STUDIES)
.DELETE_ON_ERROR:
.NOTPARALLEL:

help: ## this list
	@sed -nE 's/^(\$$\(STUDIES\)|[a-z-]+):[^#]*## (.*)$$/\1|\2/p' $(MAKEFILE_LIST) | \
	sed 's/^\$$(STUDIES)/$(STUDIES)/' | awk -F '|' '{ printf "make %-12s %s\n", $$1, $$2 }'

demo: .venv/cpu ## install what is locked, run the embedded study, print what it found
	@$(SNAKEMAKE)
	@.venv/bin/toolnoise summary --study results/demo/study.json

$(STUDIES): .venv/cpu ## small versions of published studies
	@$(SNAKEMAKE) --configfile workflow/studies/$@-small.yaml
	@.venv/bin/toolnoise summary --study results/$@-small/study.json
	@echo "figures and tables: results/$@-small/figures/"

# This study needs all three frameworks.
frameworks: .venv/frameworks

# While one works: the tests of one part, a folder of tests/: `make test-comparison`, in at most three minutes on two cores.
test-%: .venv/dev
	@test -d tests/$* || { echo "tests/ has no folder $*" >&2; exit 2; }
	@.venv/bin/python $(SPREAD) -m "not long" tests/$*

test: .venv/dev ## all tests but the longest
	@.venv/bin/python $(SPREAD) -m "not long"

# By hand: what neither `make test` nor .ci/run tries. Each can be made alone.
test-long: test-studies test-examples test-fuzz test-locks test-advisories ## by hand: the longest tests, bad input at random, a lock file

# Further studies from their files to their ends.
test-studies: .venv/dev .venv/frameworks
	@.venv/bin/python $(SPREAD) -m long

# Programs of other trainers.
test-examples: .venv/dev .venv/examples .environments/timm
	@$(PYTEST) --numprocesses 2 tests/examples

# Bad input on purpose, at random: `make test-fuzz SEED=2` has other cases.
SEED = 1
test-fuzz: .venv/dev .venv/frameworks
	@.venv/bin/python tests/fuzz/fuzz_studies.py --cases 400 --seed $(SEED)
	@.venv/bin/python tests/fuzz/fuzz_tables.py --cases 2000 --seed $(SEED)
	@.venv/bin/python tests/fuzz/fuzz.py --cases 200 --seconds 240 --seed $(SEED)

# One lock file, another one at each commit, installs in an environment of its own and trains.
test-locks:
	@.ci/try-lock

# Are there advisories for a locked package? OSV is asked, about the environments that agree on versions together. Those of
# requirements/versions are left out: they are old on purpose.
test-advisories: .environments/supply
	@for locks in "$(wildcard requirements/*.txt)" $(wildcard requirements/tools/*.txt); do \
		$</bin/pip-audit --disable-pip --require-hashes --strict --vulnerability-service osv --progress-spinner off \
		$$(printf -- '--requirement %s ' $$locks) || exit 1; \
	done

# The tests without TensorFlow, and those of JAX that `make test` leaves out; what needs TensorFlow is skipped.
test-jax: .venv-jax/tests ## tests without TensorFlow
	@.venv-jax/bin/python $(SPREAD) tests/engines/test_epochs.py tests/engines/test_three_frameworks.py tests/engines/test_models.py

lint: .venv/dev ## formats, lint, layers of imports
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/snakefmt --check Snakefile workflow
	@.venv/bin/snakemake --lint
	@.venv/bin/lint-imports --no-cache
	@.venv/bin/nbstripout --keep-id --verify notebooks/*.ipynb examples/*.ipynb

# The pages of docs/ as a site that opens from disk: spell-checked, a broken link is an error. If there is a demo, its page is
# in it.
docs: .environments/docs ## the docs as a site, in dist/site
	@$</bin/codespell --ignore-words docs/site/words.txt --skip docs/gallery README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md config docs workflow/toolnoise/api
	@rm -rf dist/site
	@$</bin/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env --conf-dir docs/site --doctree-dir build/doctrees \
		. dist/site
	@test ! -f results/demo/index.html || (mkdir dist/site/demo && \
		cd results/demo && cp -r index.html study.json page figures metrics notebooks runs statements "$(CURDIR)/dist/site/demo")
	@echo "the site: dist/site/index.html"

# What is published. `make dist REPOSITORY=https://...` names the repository in the metadata.
dist: .venv/cpu ## the wheel and the source distribution of the last commit, in dist/
	@mkdir -p dist && REPOSITORY="$(REPOSITORY)" bash .ci/make-dist

# The packages that `make demo` installs, with hashes, as a bill of materials (CycloneDX). It has no time and no serial number.
sbom: .environments/supply ## a bill of materials of what the demo installs
	@mkdir -p dist
	@.environments/supply/bin/python -W ignore::UserWarning -m cyclonedx_py requirements --pyproject pyproject.toml \
		--output-reproducible --output-file dist/toolnoise.cdx.json requirements/cpu.txt

.SECONDEXPANSION:
# A lock file's packages, in a virtual environment. uv needs a quarter of pip's time. It does not know the indexes of pip's
# settings: where it fails, pip is asked. As pip does, it compiles what it installs: where PYTHONDONTWRITEBYTECODE is set,
# every job would compile its framework again.
uv = .environments/uv/bin/uv
install = { test -x $(uv) && $(uv) pip install --quiet --compile-bytecode --python $(1)/bin/python --require-hashes \
	--requirement $(2) || $(1)/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement $(2); }
install_this = $(1)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .

$(LOCKED): requirements/$$(@F).txt pyproject.toml | .environments/uv
	@echo "installing the packages of requirements/$(@F).txt into $(@D): $($(@F)_SIZE)"
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@$(call install,$(@D),$<) && $(call install_this,$(@D)) && touch $@

# A folder is complete: what fails half-way is removed.
$(ENVIRONMENTS): .environments/%: requirements/versions/%.txt pyproject.toml | .environments/uv
	@echo "installing the packages of $< into $@: PyTorch 3 GB to download, as it includes CUDA; others 100 to 300 MB"
	@rm -rf $@
	@$(PYTHON) -m venv $@ && $(call install,$@,$<) && $(call install_this,$@) && touch $@ || { rm -rf $@; exit 1; }

# Programs for checks: supply has pip-audit and CycloneDX, docs makes the site of docs/. pip installs uv.
$(TOOLS): .environments/%: requirements/tools/%.txt | $$(filter-out $$@,.environments/uv)
	@echo "installing the packages of $< into $@: at most 45 MB to download"
	@rm -rf $@
	@$(PYTHON) -m venv $@ && $(call install,$@,$<) && touch $@ || { rm -rf $@; exit 1; }

# The locked PyTorch is the build of the package index. On Linux it includes CUDA, gigabytes that a CPU does not need.
# So PyTorch's own build for CPUs is tried first, by its hash. pip finds it if an index or a folder of your settings has it.
TORCH_CPU = torch==2.13.0+cpu --hash=sha256:6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b
.venv/frameworks: .venv/cpu .venv/jax requirements/frameworks.txt
	@echo "installing PyTorch into $(@D): 190 MB to download if pip finds the build for CPUs, else 2.9 GB"
	@awk '/^[a-z]/ { left_out = /^(cuda|nvidia|torch|triton)[-=]/ } !left_out' requirements/frameworks.txt > $@.locked
	@echo "$(TORCH_CPU)" >> $@.locked
	@.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement $@.locked || \
	.venv/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements/frameworks.txt
	@mv $@.locked $@

# What a user of JAX has, and what tests are run by besides.
TESTERS = execnet|hypothesis|iniconfig|pluggy|pytest|pytest-xdist|sortedcontainers
.venv-jax/tests: .venv-jax/jax requirements/dev.txt
	@awk -F == '/^[a-z]/ { mine = $$1 ~ /^($(TESTERS))$$/ } mine' requirements/dev.txt > $@.added
	@.venv-jax/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement $@.added
	@mv $@.added $@

# What examples/ needs besides: the packages of requirements/examples.txt that requirements/frameworks.txt has not.
.venv/examples: .venv/frameworks requirements/examples.txt
	@echo "installing Lightning and transformers into $(@D): about 25 MB to download"
	@awk -F == '/^[a-z]/ { new = !($$1 in had) && $$1 !~ /^($(APART))$$/; if (NR == FNR) had[$$1] } NR > FNR && new' \
		requirements/frameworks.txt requirements/examples.txt > $@.added
	@.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement $@.added
	@mv $@.added $@

# timm needs torchvision, which the package index has for PyTorch with CUDA only. Beside a build for CPUs its import fails,
# and Lightning and transformers import it wherever it is. So both have a folder that only the test of timm looks into.
APART = timm|torchvision
.environments/timm: requirements/examples.txt .venv/examples
	@echo "installing timm into $@: about 10 MB to download"
	@rm -rf $@
	@mkdir -p $@
	@awk -F == '/^[a-z]/ { mine = $$1 ~ /^($(APART))$$/ } mine' $< > $@/locked.txt && \
	.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement $@/locked.txt \
		--target $@ && \
	touch $@ || { rm -rf $@; exit 1; }

clean: ## remove what these commands made
	rm -rf .venv .venv-jax .environments .snakemake results logs build dist .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find . -name '*.egg-info' -type d -prune -exec rm -rf {} +
