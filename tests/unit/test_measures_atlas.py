"""Which toolings an atlas compares, and what is written of them."""

import numpy as np
import pytest

from toolnoise import steps
from toolnoise.analyses.atlas import measure as atlas
from toolnoise.analyses.atlas import rows
from toolnoise.analyses.atlas.metric import ATLAS, ATLAS_FACTORS, ATLAS_TOOLINGS
from toolnoise.base import arrays, files, metric_files
from toolnoise.study.cells import Task

TOOLINGS = {"cpu": "2.21.0", "cpu-eigen": "2.21.0", "cpu-old": "2.16.2"}
LOGITS = np.random.default_rng(0).normal(size=(2, 8, 3)).astype(np.float32)


@pytest.fixture
def mapped(written, built):
    """A study whose toolings are compared all at once."""
    written["hardware"] = {"cpu-old": {"accelerator": "cpu", "environment": "tensorflow-2.16"}}
    written["grid"] = [
        {**written["grid"][0], "hardware": ["cpu", "cpu-eigen", "cpu-old"], "variants": ["algo", "control"], "seeds": 2}
        | {"atlas": True}
    ]
    return built(written)


def test_a_block_with_atlas_has_one_job_for_a_task_and_none_for_pairs(mapped):
    assert mapped.pairs == ()
    assert rows.tasks(mapped) == [Task("smallcnn", "digits")]
    (job,) = (job for job in steps.jobs(mapped) if job.verb == "measure-atlas")
    assert job.parameters["cells"] == [[name, variant] for name in TOOLINGS for variant in ("algo", "control")]
    assert ("results/tiny/predictions/smallcnn/digits/cpu-old/algo.json", "beside logits") in job.inputs
    assert sum(role == "records" for _, role in job.inputs) == 12
    assert [figure.name for figure in mapped.figures if figure.notebook == "atlas"] == ["atlas-smallcnn-digits"]
    (shown,) = (figure for figure in mapped.figures if figure.notebook == "atlas")
    assert steps.metric_files(mapped, shown)["atlas"] == ["results/tiny/metrics/atlas/smallcnn/digits.csv"]


def test_a_variant_with_noise_of_the_tooling_is_no_part_of_an_atlas(written, built):
    written["grid"][0] |= {"atlas": True, "variants": ["impl", "algo"]}
    study = built(written)
    assert {cell.variant for cell in rows.mapped(study, Task("smallcnn", "digits"))} == {"algo"}


@pytest.fixture
def measured(tmp_path, make_run):
    """Measure three toolings of two draws each, the first two bit-equal; `diverged` names a tooling's first run."""

    def measure(diverged=""):
        cells, dumps, records = [], [], []
        for place, (name, version) in enumerate(TOOLINGS.items()):
            logits = LOGITS.copy()
            if name == "cpu-old":
                logits[:, 0] = logits[:, 0, ::-1]
            path = tmp_path / f"{name}.npy"
            arrays.write_npy(path, logits)
            about = {"spec": {"study_seed": 0}, "draws": {}, "seeds": [1, 2], "shape": list(logits.shape)}
            files.write_json(path.with_suffix(".json"), about | {"diverged": [name == diverged, False]})
            cells.append([name, "algo"])
            dumps.append(str(path))

            def change(parts, name=name, version=version, place=place):
                tooling = {"name": name, "kernels": "eigen" if place == 1 else "onednn"}
                parts["record"]["spec"]["hardware"] |= tooling
                parts["record"]["observed"] = {"versions": {"tensorflow": version}}
                if name == "cpu-old":
                    parts["final"]["a/bias"] = parts["epochs"][-1]["a/bias"] = np.ones(3, np.float32)

            records += [make_run(10 * place + seed, change) for seed in (1, 2)]
        outs = [str(tmp_path / f"{name}.csv") for name in ("pairs", "factors", "toolings")]
        atlas.measure("smallcnn", "digits", cells, dumps, records, *outs)
        kinds = zip(outs, (ATLAS, ATLAS_FACTORS, ATLAS_TOOLINGS), strict=True)
        return [metric_files.read(path, columns) for path, columns in kinds]

    return measure


def test_every_two_toolings_have_their_rows(measured):
    pairs, factors, toolings = measured()
    found = pairs.set_index(["hardware", "other_hardware", "metric"])["value"]
    assert found["cpu", "cpu-eigen", "churn"] == found["cpu", "cpu-eigen", "l2_unit"] == 0
    assert found["cpu", "cpu-eigen", "bit_equal"] == 1
    assert np.isnan(found["cpu", "cpu-eigen", "first_epoch"])
    assert found["cpu", "cpu-old", "churn"] == found["cpu-eigen", "cpu-old", "churn"] > 0
    assert found["cpu", "cpu-old", "bit_equal"] == 0
    assert found["cpu", "cpu-old", "first_epoch"] == 3
    assert set(pairs["n_runs"]) == {0, 2}
    assert set(factors["n_missing"]) == {0}
    by_factor = factors.set_index(["factor", "metric"])
    assert by_factor.loc[("kernels", "bit_equal"), "value"] == 1
    assert by_factor.loc[("version", "churn"), "value"] == found["cpu", "cpu-old", "churn"]
    assert toolings["version"].tolist() == list(TOOLINGS.values())


def test_a_draw_that_a_tooling_lacks_is_left_out_on_all(measured):
    pairs, _, _ = measured(diverged="cpu-old")
    churn = pairs[pairs["metric"] == "churn"]
    assert (set(churn["n_runs"]), set(churn["n_missing"])) == ({1}, {1})
