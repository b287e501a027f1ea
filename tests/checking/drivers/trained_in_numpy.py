"""An existing training program in NumPy alone: a linear classifier on 64 examples, a seed for each source.

It is clean. Tests plant faults by replacing text.
"""

import argparse
import os
import pathlib
import random
import time
import zlib

import numpy as np

NAMES = ["red", "green", "blue", "width", "height", "weight", "age", "price"]

parser = argparse.ArgumentParser()
for name in ("--seed", "--data-seed", "--noise-seed", "--drop-seed"):
    parser.add_argument(name, type=int, default=0)
parser.add_argument("--out", default=os.environ.get("TOOLNOISE_OUT"))
options = parser.parse_args()

rng_init = np.random.default_rng(options.seed)
rng_order = np.random.default_rng(options.data_seed)
rng_noise = np.random.default_rng(options.noise_seed)
rng_drop = np.random.default_rng(options.drop_seed)

rng_data = np.random.default_rng(0)
table = {name: rng_data.normal(size=64) for name in NAMES}
features = [table[name] for name in NAMES]
scales = [1 + zlib.crc32(name.encode()) % 7 for name in NAMES]
x = np.stack(features, axis=1) / scales
y = (table["red"] + table["age"] > 0).astype(int)

kernel = rng_init.normal(size=(len(NAMES), 2)) / 4
rows = ["epoch,loss,seconds", f"0,{abs(kernel).sum()},0"]
started = time.perf_counter()
for epoch in (1, 2, 3):
    examples = list(range(64))
    random.Random(int(rng_order.integers(1 << 30))).shuffle(examples)
    for batch in np.split(np.array(examples), 4):
        seen = x[batch] + 0.1 * rng_noise.normal(size=x[batch].shape)
        seen *= rng_drop.random(seen.shape) > 0.2
        scores = np.exp(seen @ kernel)
        error = scores / scores.sum(axis=1, keepdims=True) - np.eye(2)[y[batch]]
        kernel -= 0.1 * seen.T @ error / len(batch)
    rows.append(f"{epoch},{abs(error).sum()},{time.perf_counter() - started}")

out = pathlib.Path(options.out)
np.save(out / "logits.npy", (x @ kernel).astype(np.float32))
np.save(out / "labels.npy", y)
np.savez(out / "weights.npz", kernel=kernel)
(out / "history.csv").write_text("\n".join(rows) + "\n")
