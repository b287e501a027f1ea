"""What determinism costs: numbers from runs, files from files, ratios with intervals, and kernel times from traces."""

from types import SimpleNamespace

import numpy as np
import pytest

from toolnoise.base import files, metric_files
from toolnoise.papers.overhead import measure as measures_overhead
from toolnoise.papers.overhead import xplane
from toolnoise.papers.overhead.measure import PROFILE, REST, TOP, Cost, cost_rows, longest_kernels, ratio_of_means
from toolnoise.papers.overhead.xplane import Kernel
from toolnoise.stats.estimates import UNDEFINED, Estimate

# What determinism costs: numbers from runs, and files from files


ABOUT = ("smallcnn", "cpu", "cpu")


def cost(wall, **seconds):
    return Cost(wall, dict.fromkeys(seconds, 2.0), seconds)


FAST = [cost(1.0, conv=0.3, relu=0.1), cost(1.2, conv=0.4, relu=0.2)]
SLOW = [cost(2.0, conv_deterministic=0.9, relu=0.1), cost(2.4, conv_deterministic=0.8, relu=0.2)]


def test_kernels_and_clock_have_both_modes_and_their_ratio():
    rows = {metric: estimate.value for metric, estimate in cost_rows(FAST, SLOW)}
    assert rows == {
        "kernel_seconds_default": pytest.approx(0.5),
        "kernel_seconds_deterministic": pytest.approx(1.0),
        "kernel_ratio": pytest.approx(2.0),
        "wall_seconds_default": pytest.approx(1.1),
        "wall_seconds_deterministic": pytest.approx(2.2),
        "wall_ratio": pytest.approx(2.0),
    }


def test_a_gpu_has_rows_of_memory_too_and_profiles_of_earlier_versions_have_none():
    plain, other = ([run._replace(memory=gigabytes * 1e9) for run in FAST] for gigabytes in (2, 3))
    rows = {metric: estimate.value for metric, estimate in cost_rows(plain, other, with_memory=True)}
    assert [rows[f"memory_{name}"] for name in ("bytes_default", "bytes_deterministic", "ratio")] == [2e9, 3e9, 1.5]
    rows = dict(cost_rows(FAST, other, with_memory=True))
    assert rows["memory_bytes_deterministic"].value == 3e9
    assert np.isnan([rows["memory_bytes_default"], rows["memory_ratio"]]).all()


def test_what_is_below_the_top_is_one_row_and_nothing_is_lost():
    runs = [cost(1.0, **{f"kernel{number:02}": 1 / (number + 1 + run) for number in range(30)}) for run in range(3)]
    rows = longest_kernels(runs)
    assert [rank for rank, *_ in rows] == [*map(str, range(1, TOP + 1)), REST]
    assert rows[-1][1:3] == ("10 others", 20)
    assert sum(seconds.value for *_, seconds in rows) == pytest.approx(np.mean([run.kernels for run in runs]))


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
        metric_files.write_metrics(path.with_suffix(".csv"), PROFILE, times)
        records.append(str(path))
    return study, records


def written_files(study, records, folder):
    paths = folder / "overhead.csv", folder / "kernels.csv"
    overhead = study.config["overhead"]
    measures_overhead.measure(*ABOUT, overhead, records, out_overhead=paths[0], out_kernels=paths[1])
    return paths


def test_files_have_fixed_bytes(measured, tmp_path):
    study, records = measured
    overhead, kernels = written_files(study, records, tmp_path)
    about = "smallcnn,cpu,cpu,64,224,4"
    assert overhead.read_text() == "\n".join(
        [
            "# toolnoise metrics 1",
            "model,hardware,accelerator,batch_size,image_size,steps,metric,value,ci_low,ci_high,n_runs,n_missing",
            f"{about},kernel_seconds_default,1.25,,,3,0",
            f"{about},kernel_seconds_deterministic,1.25,,,3,0",
            f"{about},kernel_ratio,1.0,,,3,0",
            f"{about},wall_seconds_default,1.0,,,3,0",
            f"{about},wall_seconds_deterministic,2.0,,,3,0",
            f"{about},wall_ratio,2.0,,,3,0",
            "",
        ]
    )
    assert kernels.read_text().splitlines()[1:3] == [
        "model,hardware,accelerator,batch_size,image_size,steps,mode,rank,kernel,calls_per_step"
        ",value,ci_low,ci_high,n_runs,n_missing",
        f"{about},default,1,Conv2D,3.0,1.0,,,3,0",
    ]
    assert f'{about},deterministic,2,"ReLU, fused",1.0,0.25,,,3,0' in kernels.read_text()


def test_a_kernel_that_took_no_time_there_is_is_refused_in_one_line(measured, refused, tmp_path):
    study, records = measured
    path = tmp_path / "default" / "1.csv"
    metric_files.write_metrics(path, PROFILE, [("Conv2D", 12, -1.0, 0.8)])
    line = refused(written_files, study, records, tmp_path)
    assert line == f"{path}: total_us: found -1.0; microseconds, from 0 up"


# One quantity over another, with its interval


def test_a_single_run_of_either_or_equal_times_have_a_ratio_and_no_interval_and_no_run_has_none():
    assert ratio_of_means(np.full(3, 0.3), np.full(4, 0.1)) == pytest.approx(Estimate(3), nan_ok=True)
    assert str(ratio_of_means(np.array([]), np.array([1.0]))) == str(UNDEFINED)
    for runs in ((np.array([3.0]), np.array([1.0, 2.0])), (np.array([3.0, 3.0]), np.array([1.5]))):
        ratio = ratio_of_means(*runs)
        assert ratio.value == 2
        assert np.isnan([ratio.low, ratio.high]).all()


def test_its_interval_holds_the_truth_in_about_95_percent_of_studies():
    generator = np.random.default_rng(6)
    studies = 2000
    held = 0
    for _ in range(studies):
        ratio = ratio_of_means(1.5 * generator.normal(1, 0.05, 4), generator.normal(1, 0.02, 3))
        held += ratio.low < 1.5 < ratio.high
    assert 0.93 < held / studies < 0.975


# Kernel times from a trace: each kernel once, and nothing else


def plane(name, *lines):
    """A plane of lines of (name, start, duration, stat names), in picoseconds, as a profiler writes it."""
    names, stats = [], []

    def number(what, known):
        known.extend([] if what in known else [what])
        return known.index(what)

    made = [
        SimpleNamespace(
            name=title,
            events=[
                SimpleNamespace(
                    metadata_id=number(event, names),
                    offset_ps=start,
                    duration_ps=duration,
                    stats=[SimpleNamespace(metadata_id=number(stat, stats)) for stat in told],
                )
                for event, start, duration, told in events
            ],
        )
        for title, events in lines
    ]
    about = ({place: SimpleNamespace(name=text) for place, text in enumerate(known)} for known in (names, stats))
    return SimpleNamespace(name=name, lines=made, **dict(zip(("event_metadata", "stat_metadata"), about, strict=True)))


def space(*planes, errors=(), warnings=()):
    return SimpleNamespace(planes=planes, errors=errors, warnings=warnings)


def gpu_kernels(*planes):
    return xplane.gpu_kernels(xplane.of_proto(space(*planes)))


def cpu_operators(*planes):
    return xplane.cpu_operators(xplane.of_proto(space(*planes)))


LAUNCHED = ["correlation_id", "kernel_details"]
GPU = plane(
    "/device:GPU:0",
    (
        "Stream #14(Compute)",
        [("gemm<float>", 0, 5_000_000, LAUNCHED), ("gemm<float>", 6_000_000, 7_000_000, LAUNCHED)],
    ),
    ("Stream #15(Compute,MemcpyD2D)", [("relu", 1, 2_000_000, LAUNCHED), ("MemcpyD2D", 9, 9_000_000, ["bytes"])]),
    ("TensorFlow Ops", [("conv1/Conv2D", 0, 13_000_000, ["tf_op"])]),
)


HOST = plane(
    "/host:CPU",
    (
        "worker",
        [
            ("FunctionRun", 0, 100_000_000, []),
            ("model/conv1/Conv2D:Conv2D", 1_000_000, 20_000_000, []),
            ("gradients/conv1/kernel:_MklNativeConv2DBackpropFilter", 30_000_000, 40_000_000, []),
            ("ExecutorState::Process", 71_000_000, 2_000_000, []),
            ("model/conv2/Conv2D:Conv2D", 80_000_000, 3_000_000, []),
        ],
    ),
)


def test_operators_are_summed_by_type_and_what_runs_them_is_none():
    assert cpu_operators(HOST) == (
        Kernel("_MklNativeConv2DBackpropFilter", 1, 40.0),
        Kernel("Conv2D", 2, 23.0),
    )


def test_an_operator_within_another_is_counted_once():
    events = [
        ("call:StatefulPartitionedCall", 0, 10_000_000, []),
        ("call/a:While", 1_000_000, 8_000_000, []),
        ("call/a/b:MatMul", 1_000_000, 3_000_000, []),
        ("call/a/c:MatMul", 5_000_000, 2_000_000, []),
        ("after:Sum", 10_000_000, 1_000_000, []),
    ]
    found = cpu_operators(plane("/host:CPU", ("worker", events[::-1])))
    assert {kernel.name: kernel[1:] for kernel in found} == {
        "StatefulPartitionedCall": (1, 2.0),
        "While": (1, 3.0),
        "MatMul": (2, 5.0),
        "Sum": (1, 1.0),
    }
    assert sum(kernel.microseconds for kernel in found) == 11.0


def profile_data(*planes):
    """The same planes as JAX hands them out, in nanoseconds."""
    return SimpleNamespace(
        planes=[
            SimpleNamespace(
                name=one.name,
                lines=[
                    SimpleNamespace(
                        events=[
                            SimpleNamespace(
                                name=one.event_metadata[event.metadata_id].name,
                                start_ns=event.offset_ps / 1000,
                                duration_ns=event.duration_ps / 1000,
                                stats=[(one.stat_metadata[stat.metadata_id].name, 1) for stat in event.stats],
                            )
                            for event in line.events
                        ]
                    )
                    for line in one.lines
                ],
            )
            for one in planes
        ]
    )


def test_a_trace_that_is_not_whole_says_why():
    assert xplane.why_incomplete(space(GPU, warnings=["a warning"])) == ""
    assert xplane.why_incomplete(space(errors=["no driver"], warnings=["a warning", "9 events dropped"])) == (
        "no driver 9 events dropped"
    )


def test_kernels_that_a_gpu_launched_are_counted_and_no_copies_by_jax_as_by_tensorflow():
    assert gpu_kernels(GPU, HOST) == (Kernel("gemm<float>", 2, 12.0), Kernel("relu", 1, 2.0))
    assert xplane.gpu_kernels(xplane.of_profile_data(profile_data(GPU))) == gpu_kernels(GPU)


def test_xla_s_instructions_are_summed_by_kind_and_what_runs_them_is_none():
    told = ["hlo_op", "hlo_module"]
    worker = [
        ("ThunkExecutor::Execute", 0, 99_000_000, []),
        ("while.7", 0, 10_000_000, told),
        ("dot.3", 1_000_000, 4_000_000, told),
        ("end: dot.3", 5_000_000, 0, ["_ct"]),
        ("dot.12", 20_000_000, 1_000_000, told),
        ("relu_fusion", 30_000_000, 2_000_000, told),
    ]
    data = profile_data(plane("/host:CPU", ("worker", worker)), plane("/host:metadata"))
    assert xplane.cpu_instructions(xplane.of_profile_data(data)) == (
        Kernel("while", 1, 6.0),
        Kernel("dot", 2, 5.0),
        Kernel("relu_fusion", 1, 2.0),
    )
