#!/usr/bin/env bash
# Write the lock files anew: every package that pyproject.toml asks for, with hashes and without an index address.
# The resolver (uv) is needed here only and is taken from the package index into a folder that is thrown away.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" --quiet install "uv==0.13.8"
cp pyproject.toml README.md "$scratch"
uv() { "$scratch/venv/bin/uv" --quiet --directory "$scratch" "$@"; }
uv lock --python 3.11
lock() { uv export --frozen --no-emit-project --no-annotate --no-header --format requirements.txt "$@"; }
lock --extra cpu >requirements/cpu.txt
lock --extra cpu --extra dev >requirements/dev.txt
lock --extra cuda >requirements/cuda.txt
