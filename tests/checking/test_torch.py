"""toolnoise.torch: each source has random numbers of its own, and what a program saves keeps the contract."""

import random
import sys

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")

import torch
from torch.utils.data import DataLoader, Dataset

import toolnoise.torch
from toolnoise.torch import Seeds, save, seeds


@pytest.fixture(autouse=True)
def fresh():
    """The module's sources, as when it has just been imported."""
    for seed, source in enumerate((seeds.init, seeds.shuffle, seeds.augment, seeds.dropout)):
        source.restart(seed)


@pytest.fixture
def out(tmp_path, monkeypatch):
    monkeypatch.setattr(toolnoise.torch, "OUT", tmp_path / "out")
    return tmp_path / "out"


def drawn():
    """One number of each global generator."""
    return float(torch.rand(())), float(np.random.rand()), random.random()  # noqa: NPY002


def seed(number):
    torch.manual_seed(number)
    np.random.seed(number)  # noqa: NPY002
    random.seed(number)


def test_without_toolnoise_nothing_else_of_the_package_is_imported_and_nothing_is_switched(run, tmp_path):
    program = (
        "import sys, toolnoise.torch as helper, torch\n"
        "print(*sorted(name for name in sys.modules if name.startswith('toolnoise')))\n"
        "print(helper.OUT, torch.are_deterministic_algorithms_enabled())"
    )
    done = run(tmp_path, sys.executable, "-c", program)
    assert done.stdout.splitlines() == ["toolnoise toolnoise.torch", "outcome False"], done.stderr


def test_toolnoise_turns_on_deterministic_algorithms(run, tmp_path):
    program = (
        "import os, toolnoise.torch, torch\n"
        "print(torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.benchmark,"
        " os.environ['CUBLAS_WORKSPACE_CONFIG'])"
    )
    done = run(tmp_path, sys.executable, "-c", program, env={"TOOLNOISE_DETERMINISTIC": "1"})
    assert done.stdout.split() == ["True", "False", ":4096:8"], done.stderr


def test_each_source_has_the_seed_of_its_variable(monkeypatch):
    monkeypatch.setenv("TOOLNOISE_SEED_AUGMENT", "4294967295")
    found = Seeds()
    assert [one.seed for one in (found.init, found.shuffle, found.augment, found.dropout)] == [0, 1, 2**32 - 1, 3]


def test_what_a_source_draws_disturbs_nobody_else():
    seed(9)
    undisturbed = [drawn(), drawn()]
    seed(9)
    before = drawn()
    with seeds.init():
        inside = drawn()
    assert [before, drawn()] == undisturbed
    assert not set(inside) & set(undisturbed[1])


def test_a_source_goes_on_where_it_ended_whatever_others_draw():
    with seeds.dropout():
        together = [drawn(), drawn()]
    seeds.dropout.restart(3)
    with seeds.dropout():
        first = drawn()
    with seeds.augment():
        drawn()
    with seeds.dropout():
        assert [first, drawn()] == together


def test_other_seeds_are_other_numbers_and_every_generator_has_its_own():
    def numbers(seed):
        seeds.augment.restart(seed)
        with seeds.augment():
            within = float(torch.rand(()))
        return [within, *(float(torch.rand((), generator=seeds.augment.generator())) for _ in range(2))]

    assert numbers(2) == numbers(2)
    assert len({*numbers(2), *numbers(5)}) == 6


class Noisy(Dataset):
    """Each example is its place, noise of the global generators, and noise of the augmentation's own."""

    def __len__(self):
        return 8

    def __getitem__(self, place):
        free = drawn() if torch.utils.data.get_worker_info() else (0.0, 0.0, 0.0)
        with seeds.augment():
            return torch.tensor([place, *free, *drawn()], dtype=torch.float64)


def epochs(workers, shuffle=1, augment=2, **options):
    """Two epochs: their orders, and the noise of each example."""
    seeds.shuffle.restart(shuffle)
    seeds.augment.restart(augment)
    options |= {"persistent_workers": False} if workers else {}
    loader = DataLoader(Noisy(), batch_size=2, shuffle=True, num_workers=workers, **seeds.loader(), **options)
    found = torch.stack([torch.cat(list(loader)) for _ in range(2)])
    return found[..., 0].tolist(), found[..., 1:].tolist()


@pytest.mark.parametrize("workers", [0, 2])
def test_order_and_augmentation_follow_their_own_seeds(workers):
    order, noise = epochs(workers)
    assert (order, noise) == epochs(workers)
    assert order[0] != order[1]
    other_order, same_noise = epochs(workers, shuffle=7)
    assert other_order != order
    assert same_noise == noise, "the n-th example of an epoch has the n-th noise"
    same_order, other_noise = epochs(workers, augment=7)
    assert same_order == order
    used = slice(None) if workers else slice(3, None)
    values = [value for found in (noise, other_noise) for epoch in found for row in epoch for value in row[used]]
    assert len(set(values)) == len(values), "no worker, no epoch and no generator repeats another's noise"


def test_save_writes_the_contracts_files(out):
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)).to(torch.bfloat16)
    history = [{"loss": torch.tensor(0.5), "accuracy": 0.25}, {"loss": 0.125, "accuracy": 1}]
    save(torch.ones(4, 2, dtype=torch.float16, requires_grad=True), [0, 1, 1, 0], model, history)
    assert sorted(path.name for path in out.iterdir()) == ["history.csv", "labels.npy", "logits.npy", "weights.npz"]
    logits, labels = np.load(out / "logits.npy"), np.load(out / "labels.npy")
    assert (logits.dtype, logits.tolist(), labels.tolist()) == (np.float32, [[1, 1]] * 4, [0, 1, 1, 0])
    assert (out / "history.csv").read_text() == "epoch,loss,accuracy\n1,0.5,0.25\n2,0.125,1.0\n"
    with np.load(out / "weights.npz") as weights:
        assert set(weights) == set(model.state_dict())
        assert (weights["0.weight"] == model[0].weight.detach().float().numpy()).all()


def test_predictions_have_one_axis_and_shapes_that_do_not_fit_are_refused(out):
    with pytest.raises(ValueError, match=r"not \[examples, classes\] and \[examples\]"):
        save(np.zeros((4, 2)), np.zeros(3))
    assert list(out.glob("*")) == []
    save([0.5, 1.5, 2.5], np.zeros(3))
    assert np.load(out / "predictions.npy").tolist() == [0.5, 1.5, 2.5]
    assert not (out / "logits.npy").exists()
