"""The demo here and on processors that QEMU emulates: are its results equal bit for bit?

    .venv/bin/python bench/emulated_demo.py [--processors EPYC Haswell ...] [--runs 2] [--epochs 2]
        [--variants control shuffle ...] [--out FOLDER]

The study is config.yaml with fewer runs and epochs, with these variants, up to its predictions. Every job of data,
training and prediction runs on the emulated processor; Snakemake itself does not, and QEMU 7.2 cannot run `measure`.
`toolnoise diff` compares every file but those of times. An emulated training takes about a minute of CPU time.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import emulated
import yaml

from toolnoise.base.program import ROOT
from toolnoise.study import given

# Snakemake starts the jobs, and the server that they may be forked from, by the name of its own Python.
SNAKEMAKE = "import sys; sys.executable = sys.argv.pop(1); from snakemake.cli import main; main()"
# An emulated process is named after the interpreter: what it starts would not be emulated.
NAMED = "import os, sys; sys.executable = os.environ['EMULATED_PYTHON']\n"


def main() -> None:
    """Run the demo on this processor and on each emulated one; print what `toolnoise diff` says of every other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processors", nargs="+", default=emulated.PROCESSORS)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--variants", nargs="+", help="default: all")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if not emulated.is_here():
        raise SystemExit(f"needs QEMU's user mode: {emulated.EMULATOR}")
    out = options.out or Path(tempfile.mkdtemp(prefix="emulated-demo-"))
    here, *others = [made(out.absolute(), name, options) for name in ("", *options.processors)]
    for other in others:
        print(f"{here.parents[1].name} and {other.parents[1].name}:", flush=True)
        subprocess.run([Path(sys.executable).with_name("toolnoise"), "diff", here, other], check=False)


def made(out: Path, processor: str, options: argparse.Namespace) -> Path:
    """The results of the shortened demo, made on a processor."""
    folder = out / (processor or "here")
    programs = folder / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    (folder / "site").mkdir(exist_ok=True)
    (folder / "site/sitecustomize.py").write_text(NAMED)
    python = shlex.join(emulated.python(processor))
    for name, arguments in (("python", ""), ("toolnoise", "-P -m toolnoise.cli")):
        (programs / name).write_text(f'#!/bin/sh\nexec {python} {arguments} "$@"\n')
        (programs / name).chmod(0o755)
    (folder / "demo.yaml").write_text(yaml.safe_dump(shortened(options)))
    packages = emulated.variables()["PYTHONPATH"]
    variables = {"EMULATED_PYTHON": str(programs / "python"), "PYTHONPATH": f"{folder}/site{os.pathsep}{packages}"}
    command = [sys.executable, "-c", SNAKEMAKE, str(programs / "python"), "--snakefile", f"{ROOT}/Snakefile"]
    command += ["--workflow-profile", f"{ROOT}/workflow/profiles/default", "--configfile", "demo.yaml"]
    subprocess.run([*command, "--until", "dump_predictions"], cwd=folder, env=os.environ | variables, check=True)
    return folder / "results/demo"


def shortened(options: argparse.Namespace) -> dict[str, object]:
    """The demo's study with fewer runs and epochs, and without its costs."""
    (study,) = given.read([f"{ROOT}/config.yaml"], [])
    del study["overhead"]
    for block in study["grid"]:
        block["variants"] = [name for name in block["variants"] if name in (options.variants or block["variants"])]
        block["seeds"] = min(block["seeds"], options.runs)
        if "draws" in block:
            block["draws"] = min(block["draws"], options.runs)
    study["grid"] = [block for block in study["grid"] if block["variants"]]
    for recipe in study["recipes"].values():
        recipe["epochs"] = options.epochs
    return study


if __name__ == "__main__":
    main()
