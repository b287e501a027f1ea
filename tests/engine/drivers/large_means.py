"""The variance that a framework's batch normalisation computes of values whose mean is many SDs from zero."""

import sys

import numpy as np

from toolnoise.base import arrays
from toolnoise.study import grid
from toolnoise.training import network

RATIOS = (1, 10, 100, 1000)


def main(study_file, _data_file, out):
    loaded = grid.load(study_file)
    engine, _ = network.start_engine(loaded.spec(loaded.cells[0], 1))
    normal = np.random.Generator(np.random.Philox(3)).normal(size=(32, 8, 8, 4))
    errors = []
    for ratio in RATIOS:
        values = (normal + ratio).astype(np.float32)
        exact = values.astype(np.float64).var((0, 1, 2))
        _, variance = engine.keras.ops.moments(engine.keras.ops.convert_to_tensor(values), (0, 1, 2))
        found = engine.keras.ops.convert_to_numpy(variance)
        errors.append(np.abs(found - exact).max() / exact.max())
    arrays.write_npz(out, {"ratios": np.array(RATIOS), "errors": np.array(errors)})


main(*sys.argv[1:])
