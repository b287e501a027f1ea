"""What determinism costs: numbers from runs, and files from files."""

import numpy as np
import pytest

from toolnoise.analyses.overhead import measure as measures_overhead
from toolnoise.analyses.overhead.metric import OVERHEAD, PROFILE, REST, TOP, Cost, costs, longest
from toolnoise.base import files, metric_files

ABOUT = ("smallcnn", "cpu", "cpu")


def cost(wall, **seconds):
    return Cost(wall, dict.fromkeys(seconds, 2.0), seconds)


FAST = [cost(1.0, conv=0.3, relu=0.1), cost(1.2, conv=0.4, relu=0.2)]
SLOW = [cost(2.0, conv_deterministic=0.9, relu=0.1), cost(2.4, conv_deterministic=0.8, relu=0.2)]


def test_kernels_and_clock_have_both_modes_and_their_ratio():
    rows = {metric: estimate.value for metric, estimate in costs(FAST, SLOW)}
    assert rows == {
        "kernel_seconds_default": pytest.approx(0.5),
        "kernel_seconds_deterministic": pytest.approx(1.0),
        "kernel_ratio": pytest.approx(2.0),
        "wall_seconds_default": pytest.approx(1.1),
        "wall_seconds_deterministic": pytest.approx(2.2),
        "wall_ratio": pytest.approx(2.0),
    }


def test_without_runs_every_row_is_there_and_undefined():
    rows = costs([], [])
    assert len(rows) == 6
    assert np.isnan([estimate for _, estimate in rows]).all()
    assert longest([]) == []


def test_kernels_are_ranked_by_their_mean_time():
    assert [(row.rank, row.kernel, row.seconds.value) for row in longest(FAST)] == [
        ("1", "conv", pytest.approx(0.35)),
        ("2", "relu", pytest.approx(0.15)),
    ]


def test_a_kernel_that_a_run_never_called_took_no_time_there():
    rows = longest([cost(1.0, gemm=0.4), cost(1.0, winograd=0.2)])
    assert [(row.kernel, row.calls, row.seconds.value) for row in rows] == [("gemm", 1, 0.2), ("winograd", 1, 0.1)]


def test_what_is_below_the_top_is_one_row_and_nothing_is_lost():
    runs = [cost(1.0, **{f"kernel{number:02}": 1 / (number + 1 + run) for number in range(30)}) for run in range(3)]
    rows = longest(runs)
    assert [row.rank for row in rows] == [*map(str, range(1, TOP + 1)), REST]
    assert rows[-1].kernel == "10 others"
    assert rows[-1].calls == 20
    assert sum(row.seconds.value for row in rows) == pytest.approx(np.mean([run.kernels for run in runs]))


def test_as_many_kernels_as_the_top_has_leave_no_rest():
    assert len(longest([cost(1.0, **{f"kernel{number}": 1.0 for number in range(TOP)})])) == TOP


@pytest.fixture
def measured(written, built, tmp_path):
    """A study with an overhead, and records of all its measurements but one."""
    written["overhead"] = {"models": ["smallcnn"], "hardware": ["cpu"], "steps": 4, "repeats": 3}
    study = built(written)
    records = []
    for profile in study.profiles:
        path = tmp_path / profile.mode / f"{profile.repeat}.json"
        spec = study.profile_spec(profile)
        files.write_json(
            path, {"spec": spec.as_json(), "wall_seconds_per_step": 1.0 + (profile.mode == "deterministic")}
        )
        times = [("Conv2D", 12, 4e6, 0.8), ("ReLU, fused", 4, 1e6, 0.2)]
        metric_files.write(path.with_suffix(".csv"), PROFILE, times)
        records.append(str(path))
    return study, records


def written_files(study, records, folder):
    paths = folder / "overhead.csv", folder / "kernels.csv"
    measures_overhead.measure(*ABOUT, study.config["overhead"], records, *paths)
    return paths


def test_files_have_fixed_bytes(measured, tmp_path):
    study, records = measured
    overhead, kernels = written_files(study, records, tmp_path)
    about = "smallcnn,cpu,cpu,64,224,4"
    assert overhead.read_text() == "\n".join(
        [
            "# toolnoise metrics 1",
            "model,hardware,accelerator,batch_size,image_size,steps,metric,value,ci_low,ci_high,n_runs,n_missing",
            f"{about},kernel_seconds_default,1.25,1.25,1.25,3,0",
            f"{about},kernel_seconds_deterministic,1.25,1.25,1.25,3,0",
            f"{about},kernel_ratio,1.0,1.0,1.0,3,0",
            f"{about},wall_seconds_default,1.0,1.0,1.0,3,0",
            f"{about},wall_seconds_deterministic,2.0,2.0,2.0,3,0",
            f"{about},wall_ratio,2.0,2.0,2.0,3,0",
            "",
        ]
    )
    assert kernels.read_text().splitlines()[1:3] == [
        "model,hardware,accelerator,batch_size,image_size,steps,mode,rank,kernel,calls_per_step"
        ",value,ci_low,ci_high,n_runs,n_missing",
        f"{about},default,1,Conv2D,3.0,1.0,1.0,1.0,3,0",
    ]
    assert f'{about},deterministic,2,"ReLU, fused",1.0,0.25,0.25,0.25,3,0' in kernels.read_text()


def test_the_order_of_the_records_changes_nothing(measured, tmp_path):
    study, records = measured
    one = [path.read_bytes() for path in written_files(study, records, tmp_path)]
    other = [path.read_bytes() for path in written_files(study, records[::-1], tmp_path / "other")]
    assert one == other


def test_a_repeat_that_lacks_a_mode_is_missing(measured, tmp_path):
    study, records = measured
    rows = metric_files.read(written_files(study, records[1:], tmp_path)[0], OVERHEAD)
    assert set(rows["n_runs"]) == {2}
    assert set(rows["n_missing"]) == {1}


def test_a_record_of_another_study_is_refused_in_one_line(measured, built, written, refused, tmp_path):
    _, records = measured
    written["overhead"]["repeats"] = 2
    line = refused(written_files, built(written), records, tmp_path)
    assert "smallcnn/cpu/default/3" in line
    assert not (tmp_path / "overhead.csv").exists()


@pytest.mark.parametrize("text", ["{", "[]", "{}"])
def test_a_damaged_record_is_refused_in_one_line(measured, refused, tmp_path, text):
    study, records = measured
    files.write_text(records[0], text)
    line = refused(written_files, study, records, tmp_path)
    assert line.startswith(records[0])


def test_a_truncated_table_of_kernels_is_refused_in_one_line(measured, refused, tmp_path):
    study, records = measured
    path = tmp_path / "default" / "1.csv"
    path.write_text(path.read_text()[:-12])
    line = refused(written_files, study, records, tmp_path)
    assert line.startswith(str(path))


@pytest.mark.parametrize("microseconds", [np.inf, -np.inf, np.nan, -1.0])
def test_a_kernel_that_took_no_time_there_is_is_refused_in_one_line(microseconds, measured, refused, tmp_path):
    study, records = measured
    path = tmp_path / "default" / "1.csv"
    metric_files.write(path, PROFILE, [("Conv2D", 12, microseconds, 0.8)])
    line = refused(written_files, study, records, tmp_path)
    assert line == f"{path}: total_us: found {microseconds}; microseconds, from 0 up"
