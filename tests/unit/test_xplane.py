"""Kernel times from a trace: each kernel once, and nothing else."""

from types import SimpleNamespace

import pytest

from toolnoise.engines import Kernel, xplane


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
    assert xplane.gpu_kernels(space(GPU)) == (Kernel("gemm<float>", 2, 12.0), Kernel("relu", 1, 2.0))


def test_what_the_host_does_to_launch_kernels_is_no_kernel():
    launches = plane("/host:CUPTI", ("driver", [("cuLaunchKernel", 0, 9, LAUNCHED)]))
    assert xplane.gpu_kernels(space(GPU, launches)) == xplane.gpu_kernels(space(GPU))


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
    assert xplane.cpu_operators(space(HOST)) == (
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
    found = xplane.cpu_operators(space(plane("/host:CPU", ("worker", events[::order]))))
    assert {kernel.name: kernel[1:] for kernel in found} == {
        "StatefulPartitionedCall": (1, 2.0),
        "While": (1, 3.0),
        "MatMul": (2, 5.0),
        "Sum": (1, 1.0),
    }
    assert sum(kernel.microseconds for kernel in found) == 11.0


def test_threads_are_apart():
    beside = plane("/host:CPU", ("one", [("a:Add", 0, 5, [])]), ("other", [("b:Mul", 1, 2, [])]))
    assert {kernel.name: kernel.microseconds for kernel in xplane.cpu_operators(space(beside))} == {
        "Add": 5e-6,
        "Mul": 2e-6,
    }


def test_a_trace_without_kernels_has_none():
    assert xplane.gpu_kernels(space(HOST)) == xplane.cpu_operators(space(GPU)) == ()


def test_a_trace_that_is_not_whole_says_so_and_other_warnings_are_none():
    assert xplane.lacks(space(GPU)) == ""
    assert xplane.lacks(space(GPU, warnings=["no step markers"])) == ""
    assert xplane.lacks(space(GPU, errors=["CUPTI: no privilege"], warnings=["7 events dropped"])) == (
        "CUPTI: no privilege 7 events dropped"
    )
