#!/usr/bin/env bash
# Lock every package that pyproject.toml requires, with hashes and without an index address. Existing pins are kept: for
# the newest versions, first delete the lock files, or the lines of some packages.
# Only this script needs the resolver (uv). It is installed from the package index into a temporary folder.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" --quiet install --require-hashes --requirement requirements/tools/uv.txt
cp README.md "$scratch"
{
  # For one minor version of Python: the newest that all frameworks of requirements/versions/ have wheels for.
  sed 's/^requires-python = .*/requires-python = ">=3.11,<3.12"/' pyproject.toml
  echo
  echo "[tool.uv]"
  echo "constraint-dependencies = ["
  sed --quiet --regexp-extended 's/^([a-z0-9._-]+==[^ ;]+).*/  "\1",/p' requirements/*.txt | sort --unique
  echo "]"
} >"$scratch/pyproject.toml"
uv() { "$scratch/venv/bin/uv" --quiet --directory "$scratch" "$@"; }
uv lock --python 3.11
lock() { uv export --frozen --group build --no-emit-project --no-annotate --no-header --format requirements.txt "$@"; }
lock --extra run --extra tensorflow >requirements/cpu.txt
lock --extra run --extra cuda >requirements/cuda.txt
lock --extra run --extra jax >requirements/jax.txt
lock --extra run --extra jax-cuda >requirements/jax-cuda.txt
lock --extra run --extra torch >requirements/torch.txt
lock --extra run --extra tensorflow --extra jax --extra torch >requirements/frameworks.txt
lock --extra run --extra torch --extra examples >requirements/examples.txt
lock --extra run --extra tensorflow --extra jax --extra dev >requirements/dev.txt

# Programs for checks, each in an environment of its own.
tool() {
  printf '%s\n' "${@:2}" |
    uv --no-config pip compile - --python-version 3.11 --generate-hashes --no-annotate --no-header \
      --no-emit-index-url --output-file "$PWD/requirements/tools/$1.txt" >/dev/null
}
mkdir -p requirements/tools
tool supply cyclonedx-bom pip-audit
tool uv uv
tool release twine uv
# Sphinx reads the docstrings: modules that annotate with `numpy.ndarray | ...` need NumPy, whatever else they import is mocked.
tool docs sphinx myst-parser furo codespell numpy

# Other versions of one framework, on Linux, with what `train` and `predict` import and no more. Keras is the same in
# all, so that it does not explain a difference between versions.
version() {
  printf '%s\n' jsonschema numpy pyyaml setuptools "$keras" "$2" |
    uv --no-config pip compile - --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url \
      --output-file "$PWD/requirements/versions/$1.txt" >/dev/null
}
keras=$(sed --quiet --regexp-extended 's/^(keras==[^ ;]+).*/\1/p' requirements/cpu.txt)
mkdir -p requirements/versions
version tensorflow-2.16 tensorflow-cpu==2.16.2
version tensorflow-2.17 tensorflow-cpu==2.17.1
version tensorflow-2.18 tensorflow-cpu==2.18.1
version tensorflow-2.19 tensorflow-cpu==2.19.1
version tensorflow-2.20 tensorflow-cpu==2.20.0
version jax-0.4 jax==0.4.38
version jax-0.6 jax==0.6.2
version jax-0.8 jax==0.8.3
version torch-2.5 torch==2.5.1
version torch-2.7 torch==2.7.1
version torch-2.9 torch==2.9.1

# The machine on which bench/gpu.py last ran: what its owners have installed there, and what the script brings.
matplotlib=$(sed --quiet --regexp-extended 's/^(matplotlib==[^ ;]+).*/\1/p' requirements/dev.txt)
mkdir -p requirements/machines
printf '%s\n' jsonschema pillow pooch psutil pyyaml requests scikit-learn tqdm numpy==2.5.2 pandas==3.0.6 scipy==1.18.1 \
  "$keras" "$matplotlib" torch==2.11.0 "jax[cuda13]==0.11.2" nvidia-cudnn-cu13==9.19.0.56 |
  uv --no-config pip compile - --python-version 3.12 --python-platform x86_64-manylinux_2_28 --generate-hashes \
    --no-annotate --no-header --no-emit-index-url --output-file "$PWD/requirements/machines/gpu.txt" >/dev/null
