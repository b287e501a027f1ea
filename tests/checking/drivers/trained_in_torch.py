"""An existing training program in PyTorch: a small network on 64 examples, a seed for each source.

It is clean. Tests plant faults by replacing text.
"""

import argparse
import os
import pathlib
import time
import zlib

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

NAMES = ["red", "green", "blue", "width", "height", "weight", "age", "price"]

parser = argparse.ArgumentParser()
for name in ("--seed", "--data-seed", "--noise-seed", "--drop-seed"):
    parser.add_argument(name, type=int, default=0)
options = parser.parse_args()
torch.set_num_threads(1)
noise = np.random.default_rng(options.noise_seed)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(len(NAMES), 16)
        self.drop = nn.Dropout(0.2)
        self.last = nn.Linear(16, 2)

    def forward(self, x):
        return self.last(self.drop(torch.relu(self.first(x))))


data = np.random.default_rng(0)
table = {name: data.normal(size=64) for name in NAMES}
scales = {name: 1 + zlib.crc32(name.encode()) % 7 for name in NAMES}
x = torch.tensor(np.stack([table[name] / scales[name] for name in NAMES], axis=1), dtype=torch.float32)
y = torch.tensor((table["red"] + table["age"] > 0).astype(int))

with torch.random.fork_rng():
    torch.manual_seed(options.seed)
    model = Net()
loader = DataLoader(TensorDataset(x, y), 16, shuffle=True, generator=torch.Generator().manual_seed(options.data_seed))
torch.manual_seed(options.drop_seed)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
rows = ["epoch,loss,seconds", f"0,{model.first.weight.abs().sum().item()},0"]
started = time.perf_counter()
for epoch in (1, 2):
    for seen, labels in loader:
        seen = seen + 0.1 * torch.tensor(noise.normal(size=seen.shape), dtype=torch.float32)
        loss = nn.functional.cross_entropy(model(seen), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    rows.append(f"{epoch},{loss.item()},{time.perf_counter() - started}")

model.eval()
out = pathlib.Path(os.environ["TOOLNOISE_OUT"])
np.save(out / "logits.npy", model(x).detach().numpy())
np.save(out / "labels.npy", y.numpy())
np.savez(out / "weights.npz", **{name: value.numpy() for name, value in model.state_dict().items()})
(out / "history.csv").write_text("\n".join(rows) + "\n")
