"""The arguments of all verbs: their help, type and number, as argparse takes them."""

import argparse
import re
from datetime import timedelta
from typing import Any

from toolnoise.study.cells import MODES

UNITS = {"s": "seconds", "min": "minutes", "h": "hours"}
MOST_HOURS = 24


def duration(text: str) -> timedelta:
    """A time with its unit, such as 2h."""
    found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?)(s|min|h)", text, re.ASCII)
    value = timedelta(**{UNITS[found[2]]: float(found[1])}) if found else None
    if value is None or value > timedelta(hours=MOST_HOURS):
        wanted = f"expected a time up to {MOST_HOURS}h, such as 90s, 30min or 2h"
        raise argparse.ArgumentTypeError(f"found {text!r}; {wanted}")
    return value


# Arguments by name, or by verb and name.
ARGUMENTS: dict[str | tuple[str, str], dict[str, Any]] = {
    "study": {"help": "a configuration, or the study.json among its results", "metavar": "FILE"},
    **{
        (verb, "study"): {
            "help": "a configuration, or the study.json among its results (the only study of this folder)",
            "metavar": "FILE",
        }
        for verb in ("summary", "estimate", "status")
    },
    "profile": {
        "metavar": "NAME",
        "help": "a profile of the workflow, such as slurm, or of your own (this machine, all cores)",
    },
    "seed": {"type": int},
    "checkpoint": {"help": "checkpoint of an interrupted run, to resume from; deleted when the run ends"},
    "planned": {"metavar": "SHA256", "help": "refuse the job unless its parameters have this digest"},
    "A": {"help": "a run, a cell, a study's results or a results folder"},
    "B": {"help": "another of the same kind"},
    "ARMS": {
        "nargs": "*",
        "help": "A, then each method to replace it: predicted classes or scores, .npy, .npz or CSV, of shape N, "
        "run x N, N x class or run x N x class; or a folder or a quoted pattern ('a/*.npy') of one file a run",
    },
    ("adopt", "FOUND"): {
        "help": "a CSV with a run in each row (columns file, arm, seed), or a quoted pattern with {arm} and {seed}"
    },
    ("adopt", "name"): {"metavar": "NAME", "help": "the study's name: writes NAME.yaml and adopted/NAME"},
    ("adopt", "labels"): {"metavar": "FILE", "help": "the labels of all runs, unless the CSV has a column `labels`"},
    ("adopt", "values"): {"action": "store_true", "help": "predictions are numbers (regression), not classes"},
    ("adopt", "metric"): {
        "action": "append",
        "metavar": "COLUMN",
        "help": "take this number from the CSV instead of predictions; repeat for each",
    },
    "arm-column": {"default": "arm", "metavar": "COLUMN", "help": "the column that names a run's arm (arm)"},
    "seed-column": {"default": "seed", "metavar": "COLUMN", "help": "the column with a run's seed (seed)"},
    "arm": {
        "action": "append",
        "nargs": "+",
        "metavar": "FILE",
        "help": "instead of ARMS, once per method: a file, or one file a run (--arm a/*.npy --arm b/*.npy)",
    },
    "labels": {
        "help": "the N labels, .npy, .npz or CSV; may be left out if A is a study's dump, or has labels itself",
        "metavar": "FILE",
    },
    "paired": {"action": "store_true", "help": "run s of every method has the same start and order"},
    "same-start": {"action": "store_true", "help": "all runs of all methods start from the same weights"},
    "RUNS": {"nargs": "*", "help": "runs, other result files, or folders of them"},
    "sample": {"type": int, "metavar": "N", "help": "rebuild N random jobs of RUNS, or of results"},
    ("rebuild", "seed"): {"type": int, "default": 0, "metavar": "K", "help": "seed of the sample (0)"},
    "COMMAND": {
        "nargs": argparse.REMAINDER,
        "help": "the program after --, such as: -- python train.py --seed {init} --data-seed {shuffle} --out {out}",
    },
    "sources": {
        "metavar": "NAMES",
        "help": "sources whose seeds the program separates, such as init,shuffle (those that COMMAND names, or all)",
    },
    "deterministic": {
        "default": "",
        "metavar": "WORDS",
        "help": "words added to COMMAND to switch implementation noise off, such as --deterministic='--cudnn off'",
    },
    "limit": {"type": float, "metavar": "MINUTES", "help": "the longest time of a run (none)"},
    ("check", "keep"): {"action": "store_true", "help": "keep outcomes and logs and print their folder"},
    "keep": {"action": "store_true", "help": "keep the rebuilt files and print their folder"},
    "RESULTS": {"nargs": "?", "default": "results", "help": "a results folder, or one study's folder in it (results)"},
    "strict": {
        "action": "store_true",
        "help": "report stale results, made by other code, as findings too",
    },
    "clean": {"action": "store_true", "help": "first remove the scratch files that killed jobs have left"},
    "repair": {
        "action": "store_true",
        "help": "have Snakemake make damaged and missing files again, and what follows from them, then audit once more",
    },
    "cache": {
        "action": "store_true",
        "help": "do not read files again whose inode, size and times are as in an earlier audit with --cache; with "
        "--strict, read all",
    },
    "processes": {"type": int, "metavar": "N", "help": "parallel readers (one per core)"},
    "html": {"metavar": "FILE", "help": "also write a page that links every result to its data"},
    "key": {"help": "a private SSH key, or the public key of one in ssh-agent", "metavar": "PATH"},
    "root": {
        "action": "store_true",
        "help": "sign only the root, the page's statement, which names all others",
    },
    "require-signatures": {
        "metavar": "ALLOWED_SIGNERS",
        "help": "reject statements that none of these people signed; a file as in ssh-keygen(1)",
    },
    "require-signature": {
        "metavar": "KEY",
        "help": "require a signature of this public key on the root, the page's statement, which names all others",
    },
    "revoked-keys": {
        "metavar": "FILE",
        "help": "reject signatures by these keys: public keys, one on each line, or a list from `ssh-keygen -k`",
    },
    "model-signing": {
        "action": "store_true",
        "help": "sign all files for other tools instead: writes model.sig, which OpenSSF's model_signing verifies; "
        "the key is an elliptic curve key in PEM",
    },
    "require-model-signature": {
        "metavar": "SIGNER",
        "help": "require model.sig by this signer: a public key in PEM, or IDENTITY,ISSUER at Sigstore",
    },
    "not-before": {
        "metavar": "DATE_OR_COMMIT",
        "help": "reject a root that is older: made before this date (UTC unless it has an offset), or by a commit that "
        "does not descend from this one",
    },
    "recompute": {
        "action": "store_true",
        "help": "make all results but the trained runs again from their statements, and compare every bit",
    },
    "clock-skew": {
        "type": duration,
        "default": timedelta(minutes=2),
        "metavar": "TIME",
        "help": "by how much clocks of machines may differ, such as 30min or 2h (2min)",
    },
    "KIND": {"nargs": "?", "help": "command, builder or adopted (what is found in this folder)"},
    ("page", "RESULTS"): {"help": "a study's results folder, such as results/demo"},
    ("page", "out"): {"metavar": "FOLDER", "help": "a new folder"},
    "anonymous": {
        "action": "store_true",
        "help": "leave out host names, users, paths and credentials, for double-blind review",
    },
    "no-credential": {
        "action": "append",
        "default": [],
        "metavar": "TEXT",
        "help": "share this text although it looks like a credential; repeat for each",
    },
    "STUDY": {"help": "a configuration, or a study's results folder"},
    ("export", "out"): {"metavar": "FILE", "help": "the archive: .tar, .tar.gz or .tar.xz"},
    ("export", "hardware"): {
        "nargs": "+",
        "metavar": "NAME",
        "help": "export the results of these toolings only (all)",
    },
    "no-predictions": {"action": "store_true", "help": "leave out dumps of predictions and of layers"},
    "allowed-signers": {
        "metavar": "ALLOWED_SIGNERS",
        "help": "put this list into the archive, for people to read: `import` trusts the receiver's own",
    },
    "ARCHIVE": {"help": "an archive from `toolnoise export`"},
    "into": {"metavar": "FOLDER", "help": "the study's results folder here (results/<study>)"},
    ("import", "study"): {"metavar": "FILE", "help": "the study's configuration (study.json in that folder)"},
    "other-code": {"action": "store_true", "help": "also accept results made by other code than the present one"},
    "json": {"action": "store_true", "help": "print JSON"},
    "measure": {"action": "store_true", "help": "benchmark untimed cells first, on this machine"},
    "mode": {"choices": list(MODES)},
    "repeat": {"type": int},
    "threads": {
        "type": int,
        "default": 1,
        "required": False,
        "help": "threads for decoding images (1)",
        "metavar": "N",
    },
    "format": {"help": "cifar-10, cifar-100, mnist, celeba, imagenet or image-folder"},
    "examples": {"type": int, "help": "number of training examples; the test set has a fifth as many", "metavar": "N"},
    "records": {"metavar": "JSON"},
    "other-records": {"metavar": "RUN_JSON"},
    "other-hardware": {"help": "the other tooling", "metavar": "NAME"},
    "exchanged": {
        "metavar": "NPY",
        "help": "predictions of these runs on the other tooling; needs its index beside it",
    },
    "other-exchanged": {
        "metavar": "NPY",
        "help": "predictions of the other's runs on the first tooling; needs its index beside it",
    },
    "metrics": {"metavar": "CSV"},
    "remedied": {"metavar": "NPY", "help": "the cell's dump under remedies, if it has one; needs its index beside it"},
    "single": {"metavar": "NPY", "help": "the dump of the runs to compare with, if any; needs its index beside it"},
    "read": {
        "action": "append",
        "nargs": "+",
        "metavar": ("KIND", "CSV"),
        "help": "metric files of one kind for the figure; repeat for each kind",
    },
    ("render", "out"): {"metavar": "FILE", "help": "the notebook's outputs: one path per format"},
    "shows": {"metavar": "FILE", "help": "metric files, figures and tables to show"},
    ("crate", "RESULTS"): {"help": "a study's results folder, such as results/demo"},
    ("crate", "out"): {"help": "a new folder, or a .zip file", "metavar": "FOLDER_OR_ZIP"},
    "embed": {"action": "store_true", "help": "pack large files, too"},
    "gain": {
        "type": float,
        "nargs": "+",
        "metavar": "POINTS",
        "help": "difference in mean accuracy to show, in percentage points, such as 0.3",
    },
    "ratio": {"type": float, "nargs": "+", "metavar": "FACTOR", "help": "ratio of two SDs to show, such as 1.5"},
    "margin": {
        "type": float,
        "nargs": "+",
        "metavar": "FACTOR",
        "help": "show two SDs to be equal within this factor, such as 1.5",
    },
    ("plan", "runs"): {
        "type": int,
        "nargs": "+",
        "metavar": "N",
        "help": "runs per arm: print the effects that they can show",
    },
    "pilot": {"metavar": "CSV", "help": "take the SD of a cell from a study's metrics/stability.csv"},
    "sd": {"type": float, "metavar": "POINTS", "help": "SD of accuracy in percentage points, without a pilot"},
    "sd-runs": {"type": int, "metavar": "N", "help": "number of runs behind --sd, for its interval"},
    "power": {"type": float, "default": 0.8, "metavar": "SHARE", "help": "statistical power (0.8)"},
    "level": {"type": float, "default": 0.05, "metavar": "SHARE", "help": "significance level (0.05)"},
    ("plan", "figure"): {"metavar": "FILE", "help": "draw power against runs: .svg, .png or .pdf"},
}
