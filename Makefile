# The README's commands. `make demo` needs Python 3.11, make and git; `make test` also needs OpenSSH's client.

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
# Programs for checks, each in its own environment.
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

# The tests of one part, a folder of tests/: `make test-comparison` takes at most three minutes on two cores.
test-%: .venv/dev
	@test -d tests/$* || { echo "tests/ has no folder $*" >&2; exit 2; }
	@.venv/bin/python $(SPREAD) -m "not long" tests/$*

test: .venv/dev ## all tests but the longest
	@.venv/bin/python $(SPREAD) -m "not long"

# By hand: tests that neither `make test` nor .ci/run has. Each of these targets can be made alone.
test-long: test-studies test-examples test-fuzz test-locks test-advisories ## by hand: the longest tests, bad input at random, a lock file

# Further studies, each run completely from its file.
test-studies: .venv/dev .venv/frameworks
	@.venv/bin/python $(SPREAD) -m long

# Training programs with other trainers.
test-examples: .venv/dev .venv/examples .environments/timm
	@$(PYTEST) --numprocesses 2 tests/examples

# Random bad input: `make test-fuzz SEED=2` tries other cases.
SEED = 1
test-fuzz: .venv/dev .venv/frameworks
	@.venv/bin/python tests/fuzz/fuzz_studies.py --cases 400 --seed $(SEED)
	@.venv/bin/python tests/fuzz/fuzz_tables.py --cases 2000 --seed $(SEED)
	@.venv/bin/python tests/fuzz/fuzz.py --cases 200 --seconds 240 --seed $(SEED)

# Installs one lock file, a different one for each commit, in a new environment, and trains with it.
test-locks:
	@.ci/try-lock

# Looks up advisories for locked packages in OSV; environments with the same versions are looked up together. Those of
# requirements/versions are left out, because they are old on purpose.
test-advisories: .environments/supply
	@for locks in "$(wildcard requirements/*.txt)" $(wildcard requirements/tools/*.txt); do \
		$</bin/pip-audit --disable-pip --require-hashes --strict --vulnerability-service osv --progress-spinner off \
		$$(printf -- '--requirement %s ' $$locks) || exit 1; \
	done

# The tests without TensorFlow, and the JAX tests that `make test` leaves out; tests that need TensorFlow are skipped.
test-jax: .venv-jax/tests ## tests without TensorFlow
	@.venv-jax/bin/python $(SPREAD) tests/engines/test_epochs.py tests/engines/test_three_frameworks.py tests/engines/test_models.py

lint: .venv/dev ## formats, lint, layers of imports
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/snakefmt --check Snakefile workflow
	@.venv/bin/snakemake --lint
	@.venv/bin/lint-imports --no-cache
	@.venv/bin/nbstripout --keep-id --verify notebooks/*.ipynb examples/*.ipynb

# The pages of docs/ as a site that opens from disk, with checks of spelling and links. If a demo has run, the site
# includes its page.
docs: .environments/docs ## the docs as a site, in dist/site
	@$</bin/codespell --ignore-words docs/site/words.txt --skip docs/gallery README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md config docs workflow/toolnoise/api
	@rm -rf dist/site
	@$</bin/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env --conf-dir docs/site --doctree-dir build/doctrees \
		. dist/site
	@test ! -f results/demo/index.html || (mkdir dist/site/demo && \
		cd results/demo && cp -r index.html study.json page figures metrics notebooks runs statements "$(CURDIR)/dist/site/demo")
	@echo "the site: dist/site/index.html"

# The files to publish. `make dist REPOSITORY=https://...` names the repository in the metadata.
dist: .venv/cpu ## the wheel and the source distribution of the last commit, in dist/
	@mkdir -p dist && REPOSITORY="$(REPOSITORY)" bash .ci/make-dist

# A bill of materials (CycloneDX) of the packages that `make demo` installs: with hashes, without time or serial number.
sbom: .environments/supply ## a bill of materials of what the demo installs
	@mkdir -p dist
	@.environments/supply/bin/python -W ignore::UserWarning -m cyclonedx_py requirements --pyproject pyproject.toml \
		--output-reproducible --output-file dist/toolnoise.cdx.json requirements/cpu.txt

.SECONDEXPANSION:
# Installs a lock file's packages in a virtual environment. uv needs a quarter of pip's time, but ignores the indexes in
# pip's settings: if uv fails, pip is used. Like pip, uv compiles the packages here, or every job would compile its
# framework again where PYTHONDONTWRITEBYTECODE is set.
uv = .environments/uv/bin/uv
install = { test -x $(uv) && $(uv) pip install --quiet --compile-bytecode --python $(1)/bin/python --require-hashes \
	--requirement $(2) || $(1)/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement $(2); }
install_this = $(1)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .

$(LOCKED): requirements/$$(@F).txt pyproject.toml | .environments/uv
	@echo "installing the packages of requirements/$(@F).txt into $(@D): $($(@F)_SIZE)"
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@$(call install,$(@D),$<) && $(call install_this,$(@D)) && touch $@

# If an installation fails, its folder is removed, so every folder is complete.
$(ENVIRONMENTS): .environments/%: requirements/versions/%.txt pyproject.toml | .environments/uv
	@echo "installing the packages of $< into $@: PyTorch 3 GB to download, as it includes CUDA; others 100 to 300 MB"
	@rm -rf $@
	@$(PYTHON) -m venv $@ && $(call install,$@,$<) && $(call install_this,$@) && touch $@ || { rm -rf $@; exit 1; }

# Programs for checks: supply has pip-audit and CycloneDX, docs has Sphinx. uv itself is installed by pip.
$(TOOLS): .environments/%: requirements/tools/%.txt | $$(filter-out $$@,.environments/uv)
	@echo "installing the packages of $< into $@: at most 45 MB to download"
	@rm -rf $@
	@$(PYTHON) -m venv $@ && $(call install,$@,$<) && touch $@ || { rm -rf $@; exit 1; }

# The locked PyTorch comes from the package index. On Linux it includes CUDA, gigabytes that a CPU does not need. So the
# build for CPUs is tried first, with its hash. pip finds it if your settings name an index or a folder that has it.
TORCH_CPU = torch==2.13.0+cpu --hash=sha256:6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b
.venv/frameworks: .venv/cpu .venv/jax requirements/frameworks.txt
	@echo "installing PyTorch into $(@D): 190 MB to download if pip finds the build for CPUs, else 2.9 GB"
	@awk '/^[a-z]/ { left_out = /^(cuda|nvidia|torch|triton)[-=]/ } !left_out' requirements/frameworks.txt > $@.locked
	@echo "$(TORCH_CPU)" >> $@.locked
	@.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement $@.locked || \
	.venv/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements/frameworks.txt
	@mv $@.locked $@

# The packages of a JAX user, and the packages that run tests.
TESTERS = execnet|hypothesis|iniconfig|pluggy|pytest|pytest-xdist|sortedcontainers
.venv-jax/tests: .venv-jax/jax requirements/dev.txt
	@awk -F == '/^[a-z]/ { mine = $$1 ~ /^($(TESTERS))$$/ } mine' requirements/dev.txt > $@.added
	@.venv-jax/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement $@.added
	@mv $@.added $@

# Further packages for examples/: those of requirements/examples.txt that are not in requirements/frameworks.txt.
.venv/examples: .venv/frameworks requirements/examples.txt
	@echo "installing Lightning and transformers into $(@D): about 25 MB to download"
	@awk -F == '/^[a-z]/ { new = !($$1 in had) && $$1 !~ /^($(APART))$$/; if (NR == FNR) had[$$1] } NR > FNR && new' \
		requirements/frameworks.txt requirements/examples.txt > $@.added
	@.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement $@.added
	@mv $@.added $@

# timm needs torchvision, which the package index has only for PyTorch with CUDA. With PyTorch for CPUs its import
# fails, and Lightning and transformers import it if they find it. So both have a folder that only the test of timm uses.
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
