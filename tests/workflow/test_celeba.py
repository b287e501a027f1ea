"""CelebA as published, small: 40 labels from files in its own format, to the tables, the figure and the claims.

Rates are computed again here, in float64, from the dumps and the attribute file alone. Drawn faces with several
attributes are measured in the same study.
"""

import csv
import json

import numpy as np
import official_formats
import pytest

from toolnoise.datasets import prepared

pytestmark = pytest.mark.long

FILES = {"images": "img_align_celeba.zip", "attributes": "list_attr_celeba.txt", "partition": "list_eval_partition.txt"}
GROUPS = {"Male": ("Male", "1"), "Female": ("Male", "-1"), "Young": ("Young", "1"), "Old": ("Young", "-1")}
STUDY = {
    "study": "people",
    "datasets": {
        "celeba": {
            "files": {role: {"path": f"celeba/{name}", "checksum": "none"} for role, name in FILES.items()},
            "image_size": 8,
        },
        "faces": {"train_examples": 600, "test_examples": 300, "image_size": 8, "attributes": 3},
    },
    # The paper's schedule, shorter, on few pictures.
    "recipes": {
        "short": {"epochs": 4, "batch_size": 20, "learning_rate": 0.01, "schedule": "step", "step_epochs": 2}
        | {"step_factor": 0.1}
    },
    "grid": [
        {"models": ["smallcnn"], "datasets": ["celeba", "faces"], "hardware": ["cpu"], "seeds": 3, "recipe": "short"}
        | {"variants": ["algo_impl", "control"]}
    ],
    "figures": ["subgroups", "table3", "table4", "table5", "claims"],
}


@pytest.fixture(scope="module")
def study(tmp_path_factory, write_study, snakemake):
    folder = tmp_path_factory.mktemp("people")
    official_formats.write("celeba", 200, folder / "celeba")
    write_study(folder, STUDY)
    done = snakemake(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "results/people"


@pytest.fixture(scope="module")
def people(study):
    """The attributes of each test person, 1 or -1 as in the file, by name."""
    folder = study.parents[1] / "celeba"
    _, names, *rows = (folder / FILES["attributes"]).read_text().splitlines()
    part_of = dict(line.split() for line in (folder / FILES["partition"]).read_text().splitlines())
    chosen = [fields[1:] for fields in map(str.split, rows) if part_of[fields[0]] == "2"]
    return dict(zip(names.split(), np.array(chosen).T, strict=True))


def table(path):
    lines = path.read_text().splitlines()
    return list(csv.DictReader(lines[lines[0].startswith("#") :]))


def values(study, dataset, variant="algo_impl"):
    rows = table(study / "metrics/stability.csv")
    return {
        (row["metric"], row["group"]): float(row["value"] or "nan")
        for row in rows
        if (row["dataset"], row["variant"]) == (dataset, variant)
    }


def test_every_attribute_is_one_output_and_has_its_rates_in_each_sub_group(study, people):
    logits = np.load(study / "predictions/smallcnn/celeba/cpu/algo_impl.npy").astype(np.float64)
    assert (len(people), logits.shape) == (40, (3, 40 * 40, 2))
    odds, found = (logits[..., 1] - logits[..., 0]).reshape(3, 40, 40), values(study, "celeba")
    for place, (label, answers) in enumerate(people.items()):
        for group, (attribute, sign) in {"all": ("", ""), **GROUPS}.items():
            member = people[attribute] == sign if attribute else np.ones(40, bool)
            for rate, among in (("accuracy", member), ("fpr", member & (answers == "-1"))):
                if not among.any():  # no man is among those who are not men
                    assert np.isnan(found[f"{rate}_mean", f"{label}:{group}"])
                    continue
                wrong = ((odds[:, among, place] > 0) != (answers[among] == "1")).mean(axis=1)
                rates = 1 - wrong if rate == "accuracy" else wrong
                np.testing.assert_allclose(found[f"{rate}_mean", f"{label}:{group}"], rates.mean(), rtol=1e-12)
                np.testing.assert_allclose(found[f"{rate}_sd", f"{label}:{group}"], rates.std(ddof=1), atol=1e-12)
    by_label = [found["accuracy_mean", f"{label}:all"] for label in people]
    np.testing.assert_allclose(found["accuracy_mean", "all"], np.mean(by_label), rtol=1e-12)


def test_control_is_bit_equal_and_has_no_spread(study):
    for dataset in ("celeba", "faces"):
        logits = np.load(study / f"predictions/smallcnn/{dataset}/cpu/control.npy")
        assert logits[0].tobytes() == logits[1].tobytes()
        spreads = [value for (metric, _), value in values(study, dataset, "control").items() if metric.endswith("_sd")]
        assert set(spreads) <= {0.0, *(value for value in spreads if np.isnan(value))}
    assert values(study, "celeba")["cross_entropy_sd", "all"] > 0
    assert values(study, "faces")["accuracy_sd", "Blond_Hair:all"] > 0


def test_table_4_counts_labels_and_people(study):
    rows = {row["dataset"]: row for row in table(study / "figures/table4.csv")}
    assert [rows["celeba"][key] for key in ("train", "test", "classes")] == ["200", "40", "40"]
    assert [rows["faces"][key] for key in ("train", "test", "classes")] == ["600", "300", "3"]


def test_table_3_counts_blond_hair_by_sub_group_and_all_labels_beside_it(study):
    counted = {
        (row["dataset"], row["group"], row["label"]): int(row["count"]) for row in table(study / "figures/table3.csv")
    }
    train = prepared.load(study / "data/celeba.npz").train
    blond = dict(zip(prepared.load(study / "data/celeba.npz").asked, train.targets.T, strict=True))["Blond_Hair"]
    names = prepared.load(study / "data/celeba.npz").groups
    for group, member in zip(names, train.groups.T, strict=True):
        for label in (0, 1):
            assert counted["celeba: Blond_Hair", group, str(label)] == (member & (blond == label)).sum()
            together = train.targets[member] == label
            assert counted["celeba: all labels", group, str(label)] == together.sum()
    assert counted["celeba: Blond_Hair", "all", "all"] == 200
    assert counted["celeba: all labels", "all", "all"] == 200 * 40


def test_table_5_has_the_label_of_the_paper_and_all_labels_side_by_side(study):
    found = {
        (row["dataset"], row["group"], row["rate"], row["variant"]): row for row in table(study / "figures/table5.csv")
    }
    for dataset in ("celeba", "faces"):
        measured = values(study, dataset)
        for group in ("all", *GROUPS):
            for rate in ("accuracy", "fpr", "fnr"):
                for place, name in (
                    (f"{dataset}: Blond_Hair", f"Blond_Hair:{group}"),
                    (f"{dataset}: all labels", group),
                ):
                    row = found[place, group, rate, "algo_impl"]
                    for column, metric, scale in (("sd_points", "sd", 100), ("sd_ratio", "sd_ratio", 1)):
                        if column == "sd_ratio" and group == "all":
                            continue
                        expected = scale * measured[f"{rate}_{metric}", name]
                        np.testing.assert_allclose(float(row[column] or "nan"), expected, rtol=1e-5)
    text = (study / "figures/table5.md").read_text()
    assert "All labels: the errors of all labels are counted together, as the authors' code counts them." in text
    assert not [line for line in text.splitlines() if "Blond_Hair:" in line]


def test_claims_on_sub_groups_are_about_blond_hair(study):
    planned = json.loads((study / "study.json").read_text())
    assert planned["datasets"]["celeba"]["targets"] == "all"
    verdicts = {
        (row["claim"], row["part"]): row for row in table(study / "metrics/claims.csv") if row["side"] == "study"
    }
    runs = table(study / "metrics/runs.csv")

    def sd(dataset, group):
        chosen = [row for row in runs if (row["dataset"], row["variant"]) == (dataset, "algo_impl")]
        return np.std(
            [float(row["value"]) for row in chosen if (row["metric"], row["group"]) == ("accuracy", group)], ddof=1
        )

    parts = {
        part: float(row["value"]) for (claim, part), row in verdicts.items() if claim == "old-accuracy" if row["value"]
    }
    # The whole claim is on the geometric mean of its parts; there are some, since faces are learnt.
    parts.pop("all", None)
    assert any("faces" in part for part in parts)
    for part, value in parts.items():
        dataset = "celeba" if "celeba" in part else "faces"
        np.testing.assert_allclose(value, sd(dataset, "Blond_Hair:Old") / sd(dataset, "Blond_Hair:all"), rtol=1e-9)
