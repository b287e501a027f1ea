"""Does `toolnoise check --world 1,2,4` tell programs with a bug from clean ones? Prints each verdict, and the score.

nice -n 10 python bench/check_programs.py [NAME ...]

Six bugs of training by several processes are planted, each beside the same program that does it right. Two further
programs have other draws at another number of processes, and a batch for each process. All train a small network on
scikit-learn's digits, 24 examples a step, by PyTorch with Gloo.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import NamedTuple

TEMPLATE = """
import argparse
import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from sklearn.datasets import load_digits

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--dtype", default="float32", choices=["float32", "float64"])
parser.add_argument("--epochs", type=int, default=3)
OPTIONS
args = parser.parse_args()
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()

images, labels = load_digits(return_X_y=True)
x, y = torch.tensor(images / 16).to(getattr(torch, args.dtype)), torch.tensor(labels)
x, test, y = x[:1200], x[1200:], y[:1200]

NETWORK

START
net.to(x.dtype)
WRAP
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

BATCHES

net.train()
for epoch in range(args.epochs):
    for mine in batches(epoch):
        optimizer.zero_grad()
        STEP
        optimizer.step()

net.eval()
EVALUATION
if rank == 0:
    np.save("preds.npy", scores.numpy())
dist.destroy_process_group()
"""
USUAL = {
    "OPTIONS": "",
    "NETWORK": """
        def network():
            return torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
    """,
    "START": """
        torch.manual_seed(args.seed)
        net = network()
    """,
    "WRAP": "",
    "BATCHES": """
        def batches(epoch):
            order = torch.randperm(len(x), generator=torch.Generator().manual_seed(epoch))
            for batch in order.split(24):
                yield batch[rank::world]
    """,
    "STEP": """
        loss = F.cross_entropy(net(x[mine]), y[mine], reduction="sum") / 24
        loss.backward()
        for parameter in net.parameters():
            dist.all_reduce(parameter.grad)
    """,
    "EVALUATION": """
        with torch.no_grad():
            scores = net(test)
    """,
}
# A mean over processes, of gradients that each of them has.
AVERAGED = """
        for parameter in net.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= world
"""
# A fifth of the examples has no label.
UNLABELLED = {"START": (USUAL["START"], "y[np.random.default_rng(0).random(len(y)) < 0.2] = -100")}
DDP = "net = torch.nn.parallel.DistributedDataParallel(net)"
NORMED = """
        def network():
            return torch.nn.Sequential(torch.nn.Linear(64, 32), NORM(32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
"""
GLOBAL_NORM = """
        from torch.distributed.nn.functional import all_reduce

        class GlobalNorm(torch.nn.BatchNorm1d):
            def forward(self, values):
                if not self.training:
                    return super().forward(values)
                count = len(values) * world
                mean = all_reduce(values.sum(0)) / count
                variance = all_reduce(((values - mean) ** 2).sum(0)) / count
                with torch.no_grad():
                    self.running_mean.lerp_(mean, self.momentum)
                    self.running_var.lerp_(variance * count / (count - 1), self.momentum)
                return (values - mean) / (variance + self.eps).sqrt() * self.weight + self.bias
"""
SAMPLED = """
        data = torch.utils.data.TensorDataset(torch.arange(len(x)))
        sampler = torch.utils.data.DistributedSampler(data, world, rank, seed=args.seed)
        loader = torch.utils.data.DataLoader(data, 24 // world, sampler=sampler)

        def batches(epoch):
            sampler.set_epoch(epoch)
            for (mine,) in loader:
                yield mine
"""
ANEW = "torch.manual_seed(args.draw_seed + rank)"


class Program(NamedTuple):
    """What is told apart: how its text is unusual, its verdict, and words of the check and of the program."""

    parts: dict[str, str | tuple[str, ...]]
    verdicts: tuple[str, ...]
    check: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The whole program."""
        return text(self.parts)


def text(parts: dict[str, str | tuple[str, ...]]) -> str:
    """A program with unusual parts, each as deep as it stands in the template."""
    lines = []
    for line in TEMPLATE.strip().splitlines():
        part = {**USUAL, **parts}.get(line.strip(), line)
        pieces = [textwrap.dedent(piece).strip("\n").rstrip() for piece in ([part] if isinstance(part, str) else part)]
        deep = line[: len(line) - len(line.lstrip())]
        lines += textwrap.indent("\n".join(pieces), deep).splitlines() if line.strip() else [""]
    return "\n".join(lines) + "\n"


SAME, OTHER = ("equal", "rounding"), ("another program",)
BUGS = {
    "mean over unequal shards": {
        **UNLABELLED,
        "STEP": (
            """
        loss = F.cross_entropy(net(x[mine]), y[mine])
        loss.backward()
        """,
            AVERAGED,
        ),
    },
    "no sampler": {
        "BATCHES": """
        data = torch.utils.data.TensorDataset(torch.arange(len(x)))
        generator = torch.Generator().manual_seed(args.seed)
        loader = torch.utils.data.DataLoader(data, 24 // world, shuffle=True, generator=generator)

        def batches(epoch):
            for (mine,) in loader:
                yield mine
        """
    },
    "other weights at the start": {
        "START": """
        torch.manual_seed(args.seed + rank)
        net = network()
        """
    },
    "loss of another scale": {
        "WRAP": DDP,
        "STEP": """
        loss = F.cross_entropy(net(x[mine]), y[mine], reduction="sum") / 24
        loss.backward()
        """,
    },
    "local batch normalisation": {
        "NETWORK": NORMED.replace("NORM(32), torch.nn.ReLU(), torch.nn.Linear(32, 10))",
                                  "torch.nn.BatchNorm1d(32), torch.nn.ReLU(), torch.nn.Linear(32, 10))"),
    },
    "accumulation without scale": {
        "STEP": (
            """
        for micro in mine.split(6):
            loss = F.cross_entropy(net(x[micro]), y[micro])
            loss.backward()
        """,
            AVERAGED,
        ),
    },
}  # fmt: skip
CLEAN = {
    "sum over all, by hand": {
        **UNLABELLED,
        "STEP": """
        count = (y[mine] >= 0).sum()
        dist.all_reduce(count)
        loss = F.cross_entropy(net(x[mine]), y[mine], reduction="sum") / count
        loss.backward()
        for parameter in net.parameters():
            dist.all_reduce(parameter.grad)
        """,
    },
    "DistributedSampler": {"BATCHES": SAMPLED},
    "weights sent, evaluation shared": {
        "START": """
        torch.manual_seed(args.seed + rank)
        net = network()
        for value in net.state_dict().values():
            dist.broadcast(value, 0)
        """,
        "EVALUATION": """
        with torch.no_grad():
            part = net(test[rank::world])
        parts, scores = [None] * world, torch.empty(len(test), 10, dtype=part.dtype)
        dist.all_gather_object(parts, part)
        for number, part in enumerate(parts):
            scores[number::world] = part
        """,
    },
    "DistributedDataParallel": {
        "WRAP": DDP,
        "STEP": """
        loss = F.cross_entropy(net(x[mine]), y[mine], reduction="sum") * world / 24
        loss.backward()
        """,
    },
    "global batch normalisation": {"NETWORK": (GLOBAL_NORM, NORMED.replace("NORM", "GlobalNorm"))},
    "accumulation with scale": {
        "STEP": (
            """
        micros = mine.split(6)
        for micro in micros:
            loss = F.cross_entropy(net(x[micro]), y[micro]) / len(micros)
            loss.backward()
        """,
            AVERAGED,
        ),
    },
}  # fmt: skip
FURTHER = {
    "masks of each process": Program(
        {
            "OPTIONS": """
        parser.add_argument("--dropout", type=float, default=0.2)
        parser.add_argument("--draw-seed", type=int, default=1)
        """,
            "NETWORK": """
        def network():
            dropout = torch.nn.Dropout(args.dropout)
            return torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), dropout, torch.nn.Linear(32, 10))
        """,
            "WRAP": ANEW,
        },
        ("other draws",),
        ("--without-draws=--dropout 0",),
        ("--draw-seed", "{dropout}"),
    ),
    "a batch for each process": Program(
        {
            "OPTIONS": 'parser.add_argument("--batch-size", type=int, default=24)',
            "WRAP": DDP,
            "BATCHES": SAMPLED.replace("24 // world", "args.batch_size"),
            "STEP": """
        loss = F.cross_entropy(net(x[mine]), y[mine])
        loss.backward()
        """,
        },
        SAME,
    ),
}
SCORED = {
    **{name: Program(parts, OTHER) for name, parts in BUGS.items()},
    **{name: Program(parts, SAME) for name, parts in CLEAN.items()},
}
SEEDED = ("--seed", "{init}")
PROGRAMS = {**SCORED, **FURTHER}


class Found(NamedTuple):
    """How a program was told apart, and whether rightly so."""

    name: str
    right: bool
    ways: list[dict]


def found(name: str, program: Program, worlds: str) -> Found:
    """Check a program in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "train.py").write_text(program.text)
        check = [Path(sys.executable).with_name("toolnoise"), "check", "--json", "--world", worlds]
        check += ["--higher=--dtype float64", "--output", "preds.npy", *program.check, "--"]
        train = [sys.executable, "train.py", *(program.words or SEEDED)]
        # One thread each: processes outnumber the processors.
        variables = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run([*check, *train], cwd=folder, env=variables, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{name}: {done.stderr}")
    verdict = json.loads(done.stdout)
    ways = verdict["other_ways"]
    return Found(name, verdict["reproducible"] and all(way["verdict"] in program.verdicts for way in ways), ways)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--world", default="1,2,4")
    parser.add_argument("names", nargs="*", help="programs (all)")
    options = parser.parse_args()
    right = []
    for name in options.names or PROGRAMS:
        one = found(name, PROGRAMS[name], options.world)
        right += [one.right] if name in SCORED else []
        for way in one.ways:
            sizes = f"float32 {way['single']}, float64 {way['double']}"
            print(f"{name}: {way['name']}: {way['verdict']}{'' if one.right else ' (WRONG)'}; {sizes}", flush=True)
    print(f"{sum(right)} of {len(right)} programs told apart")


if __name__ == "__main__":
    main()
