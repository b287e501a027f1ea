"""What the tests of adopted runs share."""

import numpy as np
import pytest


@pytest.fixture
def existing_arms(tmp_path):
    """Files that another program wrote: two arms of four runs, and their labels."""
    draw, examples, classes = np.random.default_rng(1), 40, 3
    labels = draw.integers(classes, size=examples)
    labels[:classes] = range(classes)
    np.save(tmp_path / "y.npy", labels)
    found = {}
    for arm, noise in (("plain net", 1.0), ("wide", 0.5)):
        for seed in (3, 5, 8, 13):
            folder = tmp_path / "runs" / arm / f"seed{seed}"
            folder.mkdir(parents=True)
            logits = (np.eye(classes)[labels] + noise * draw.normal(size=(examples, classes))).astype(np.float32)
            np.save(folder / "preds.npy", logits)
            found.setdefault(arm, []).append(logits)
    return tmp_path, labels, found
