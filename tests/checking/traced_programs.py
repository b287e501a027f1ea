"""Programs with a planted difference, and clean ones, for `check --trace`.

In each planted program, the line that ends with the mark has the first operation that differs; each leaves preds.npy.
"""

import shutil
import textwrap
from pathlib import Path
from typing import NamedTuple

MARK = "  # here"
# A listing as on another file system at each start.
SHUFFLED = Path(__file__).parent / "drivers/shuffled_listing.py"
TORCH = """
import os, threading, time
import numpy as np
import torch
"""
SAVE = "np.save('preds.npy', np.asarray(x.detach()))"


class Planted(NamedTuple):
    """A program, and the operation whose result is the first to differ; none if the program is clean."""

    framework: str
    operation: str
    text: str

    @property
    def line(self) -> int | None:
        """The line of the operation."""
        lines = self.text.splitlines()
        return next((number for number, line in enumerate(lines, 1) if line.endswith(MARK)), None)


def prepare(planted, folder):
    """Write the program to a folder, with what it reads."""
    (folder / "train.py").write_text(planted.text)
    (folder / "data.txt").write_text("1 2 3 4\n5 6 7 8\n")
    (folder / "pictures").mkdir()
    for number in range(20):
        (folder / f"pictures/{number}").touch()
    (folder / "path").mkdir()
    shutil.copyfile(SHUFFLED, folder / "path/sitecustomize.py")


def _program(*parts: str) -> str:
    return "\n".join(textwrap.dedent(part).strip() for part in parts) + "\n"


def _torch(operation: str, text: str) -> Planted:
    return Planted("torch", operation, _program(TORCH, text, SAVE))


PLANTED = {
    "unseeded weights": _torch(
        "aten.uniform_",
        """
        net = torch.nn.Linear(4, 2)  # here
        torch.manual_seed(1)
        x = net(torch.rand(3, 4))
        """,
    ),
    "clock by a helper": _torch(
        "aten.mul.Tensor",
        """
        def jitter():
            return time.time() % 1
        torch.manual_seed(1)
        net = torch.nn.Linear(4, 2)
        scale = jitter()
        for step in range(3):
            x = net(torch.rand(3, 4)).relu()
            x = x * (1 + scale)  # here
        """,
    ),
    "listing": _torch(
        "aten.lift_fresh",
        """
        torch.manual_seed(1)
        weights = torch.rand(20)
        names = [name for name in os.listdir('pictures')]
        values = [float(name) for name in names]
        x = weights * torch.tensor(values)  # here
        """,
    ),
    "race": _torch(
        "aten.mul.Tensor",
        """
        total = torch.ones(3)
        parts = torch.arange(12.0).reshape(4, 3)
        def work(part):
            time.sleep(os.urandom(1)[0] / 1000)
            for _ in range(9):
                time.sleep(os.urandom(1)[0] / 10000)
                total.mul_(1.1).add_(parts[part])
        threads = [threading.Thread(target=work, args=(part,)) for part in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        x = total * 2  # here
        """,
    ),
    "branch": _torch(
        "aten.sub.Tensor",
        """
        torch.manual_seed(1)
        x = torch.rand(3)
        for step in range(3):
            x = x + 1
            if step == 1 and os.path.exists('cache'):
                os.remove('cache')
                x = x * 2
            elif step == 1:
                open('cache', 'w').close()
                x = x - 1  # here
        """,
    ),
}  # fmt: skip
CLEAN = {
    "torch": _torch(
        "",
        """
        start = time.time()
        torch.manual_seed(1)
        np.random.seed(1)
        net = torch.nn.Sequential(torch.nn.Linear(4, 9), torch.nn.BatchNorm1d(9), torch.nn.Dropout(0.5))
        optimizer = torch.optim.AdamW(net.parameters())
        pairs = torch.utils.data.TensorDataset(torch.rand(16, 4))
        for epoch in range(2):
            for (x,) in torch.utils.data.DataLoader(pairs, 4, shuffle=True, num_workers=2):
                x = net(x + torch.from_numpy(np.random.normal(size=4)).float())
                optimizer.zero_grad()
                x.square().sum().backward()
                optimizer.step()
        print(f'{time.time() - start} seconds')
        """,
    ),
    "torch: empty": _torch(
        "",
        """
        torch.manual_seed(1)
        unused = torch.empty(1000)
        buffer = torch.empty(9, 4)
        for row in range(9):
            buffer[row] = torch.rand(4)
        x = buffer.sum(dim=0)
        """,
    ),
}  # fmt: skip
