"""Kernel times from a trace: each kernel once, and nothing else."""

from types import SimpleNamespace

import pytest

from toolnoise.analyses.overhead import xplane
from toolnoise.analyses.overhead.xplane import Kernel


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


def test_kernels_of_all_streams_are_summed_by_name_the_longest_first():
    assert gpu_kernels(GPU) == (Kernel("gemm<float>", 2, 12.0), Kernel("relu", 1, 2.0))


def test_what_the_host_does_to_launch_kernels_is_no_kernel():
    launches = plane("/host:CUPTI", ("driver", [("cuLaunchKernel", 0, 9, LAUNCHED)]))
    assert gpu_kernels(GPU, launches) == gpu_kernels(GPU)


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


@pytest.mark.parametrize("order", [1, -1])
def test_an_operator_within_another_is_counted_once(order):
    events = [
        ("call:StatefulPartitionedCall", 0, 10_000_000, []),
        ("call/a:While", 1_000_000, 8_000_000, []),
        ("call/a/b:MatMul", 1_000_000, 3_000_000, []),
        ("call/a/c:MatMul", 5_000_000, 2_000_000, []),
        ("after:Sum", 10_000_000, 1_000_000, []),
    ]
    found = cpu_operators(plane("/host:CPU", ("worker", events[::order])))
    assert {kernel.name: kernel[1:] for kernel in found} == {
        "StatefulPartitionedCall": (1, 2.0),
        "While": (1, 3.0),
        "MatMul": (2, 5.0),
        "Sum": (1, 1.0),
    }
    assert sum(kernel.microseconds for kernel in found) == 11.0


def test_threads_are_apart():
    beside = plane("/host:CPU", ("one", [("a:Add", 0, 5, [])]), ("other", [("b:Mul", 1, 2, [])]))
    assert {kernel.name: kernel.microseconds for kernel in cpu_operators(beside)} == {
        "Add": 5e-6,
        "Mul": 2e-6,
    }


def test_a_trace_without_kernels_has_none():
    assert gpu_kernels(HOST) == cpu_operators(GPU) == ()


def test_a_trace_that_is_not_whole_says_so_and_other_warnings_are_none():
    assert xplane.lacks(space(GPU)) == ""
    assert xplane.lacks(space(GPU, warnings=["no step markers"])) == ""
    assert xplane.lacks(space(GPU, errors=["CUPTI: no privilege"], warnings=["7 events dropped"])) == (
        "CUPTI: no privilege 7 events dropped"
    )


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


def test_jax_and_tensorflow_tell_of_the_same_kernels():
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
