"""A user's own model and data, made twice in two folders: the results are equal byte for byte."""

import csv
import json
import shutil

import numpy as np
import pytest

from toolnoise import config

MODEL = '''"""A model of my own."""

import keras

from toolnoise.models.dropout import Dropout


def build(input_shape, classes, width):
    images = keras.Input(input_shape, name="images")
    values = keras.layers.Flatten(name="flat")(images)
    values = keras.layers.Dense(width, activation="relu", kernel_initializer="he_uniform", name="dense")(values)
    values = Dropout(0.25, name="drop")(values)
    return keras.Model(images, keras.layers.Dense(classes, name="logits")(values))
'''
STUDY = {
    "study": "mine",
    "seed": 5,
    "grid": [
        {
            "models": ["mine"],
            "datasets": ["mine"],
            "recipe": "mine",
            "hardware": ["cpu"],
            "variants": ["dropout", "control"],
            "seeds": 2,
        }
    ],
    "figures": ["table2", "noise_by_source"],
    "models": {"mine": {"builder": "my_model:build", "options": {"width": 12}}},
    "datasets": {"mine": {"reader": "npz", "path": "data.npz"}},
    "recipes": {"mine": {"epochs": 2, "batch_size": 30, "learning_rate": 0.01, "crop": 1, "flip": True}},
}


def start(folder, write_study):
    write_study(folder, STUDY)
    (folder / "my_model.py").write_text(MODEL)
    generator = np.random.default_rng(3)
    pictures = {}
    for part, count in (("train", 120), ("test", 60)):
        labels = np.arange(count) % 3
        images = generator.integers(0, 120, (count, 7, 9, 3)) + 60 * labels[:, None, None, None]
        pictures |= {f"{part}_images": images.astype(np.uint8), f"{part}_labels": labels}
    np.savez(folder / "data.npz", **pictures)
    return folder


def finished(folder, snakemake, **options):
    done = snakemake(folder, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def first(tmp_path_factory, write_study, snakemake):
    return finished(start(tmp_path_factory.mktemp("first"), write_study), snakemake)


@pytest.fixture(scope="module")
def second(tmp_path_factory, write_study, snakemake):
    # Another number of jobs at once and other surroundings.
    folder = start(tmp_path_factory.mktemp("second") / "deeper", write_study)
    return finished(folder, snakemake, cores=3, env={"TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "3"})


def found(folder, suffixes):
    paths = [path for path in (folder / "results").rglob("*") if path.suffix in suffixes]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_a_users_own_model_and_data_run_to_metrics_and_page(first):
    lines = (first / "results/mine/metrics/stability.csv").read_text().splitlines()
    assert all(line.startswith("mine,mine,cpu,") for line in lines[2:])
    assert (first / "results/mine/report.html").exists()


def test_a_change_to_a_users_own_model_plans_its_runs_again(first, planned, tmp_path):
    copy = shutil.copytree(first, tmp_path / "copy")
    assert planned(copy) == {}
    (copy / "my_model.py").write_text(MODEL.replace("0.25", "0.5"))
    assert planned(copy)["train_run"] == 4


def test_one_changed_bit_of_a_users_own_data_plans_everything_again(first, planned, tmp_path):
    copy = shutil.copytree(first, tmp_path / "copy")
    with np.load(copy / "data.npz") as raw:
        arrays = dict(raw)
    arrays["train_images"][5, 3, 2, 1] ^= 1
    np.savez(copy / "data.npz", **arrays)
    jobs = planned(copy)
    assert (jobs["prepare_data"], jobs["train_run"]) == (1, 4)


@pytest.mark.parametrize(
    "suffixes", [(".npz", ".npy"), (".csv",), (".svg", ".png", ".pdf"), (".md", ".tex", ".html"), (".ipynb",)]
)
def test_a_second_run_in_another_folder_gives_the_same_bytes(first, second, suffixes):
    one, other = found(first, suffixes), found(second, suffixes)
    for results in (one, other):
        for name in [name for name in results if name.endswith("report.html")]:
            del results[name]
        for name in [name for name in results if name.endswith("history.csv")]:
            rows = list(csv.DictReader(results[name].decode().splitlines()))
            results[name] = [row | {"seconds": None} for row in rows]
    assert one
    assert sorted(one) == sorted(other)
    assert [name for name in one if one[name] != other[name]] == []


def test_a_second_run_records_the_same_but_for_its_times(first, second):
    one, other = found(first, (".json",)), found(second, (".json",))
    assert sorted(one) == sorted(other)
    for name in one:
        records = [json.loads(results[name]) for results in (one, other)]
        for record in records:
            record.pop("seconds", None)
        assert records[0] == records[1], name


def test_the_study_kept_with_the_results_is_complete(first):
    kept = config.read(first / "results/mine/study.json")
    assert kept["recipes"]["mine"]["optimizer"] == "adam"
    assert kept["hardware"]["cpu"]["isa"] == "avx2"
