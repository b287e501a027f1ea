#!/usr/bin/env bash
# Lock every package that pyproject.toml requires, with hashes and without an index address. Existing pins are kept: for
# the newest versions, first delete the lock files, or the lines of some packages.
# Only this script needs the resolver (uv). It is installed from the package index into a temporary folder.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" --quiet install "uv==0.13.8"
cp pyproject.toml README.md "$scratch"
{
  echo
  echo "[tool.uv]"
  echo "constraint-dependencies = ["
  sed --quiet --regexp-extended 's/^([a-z0-9._-]+==[^ ;]+).*/  "\1",/p' requirements/*.txt | sort --unique
  echo "]"
} >>"$scratch/pyproject.toml"
uv() { "$scratch/venv/bin/uv" --quiet --directory "$scratch" "$@"; }
uv lock --python 3.11
lock() { uv export --frozen --no-emit-project --no-annotate --no-header --format requirements.txt "$@"; }
lock --extra cpu >requirements/cpu.txt
lock --extra cuda >requirements/cuda.txt
lock --extra jax >requirements/jax.txt
lock --extra jax-cuda >requirements/jax-cuda.txt
lock --extra torch >requirements/torch.txt
lock --extra cpu --extra jax --extra torch >requirements/frameworks.txt
lock --extra torch --extra examples >requirements/examples.txt
lock --extra cpu --extra jax --extra dev >requirements/dev.txt
lock --extra jax --extra dev >requirements/jax-dev.txt
