"""The longest kernels of a step: which they are, which appear with determinism, and their names."""

import pandas as pd

from toolnoise.analyses.overhead import draw as kernels


def whole(*kernels, rest=0.5):
    rows = [
        (mode, str(rank), name, 0.1 * rank)
        for mode in ("default", "deterministic")
        for rank, name in enumerate(kernels, 1)
    ]
    rows += [(mode, "rest", "9 others", rest) for mode in ("default", "deterministic")]
    return pd.DataFrame(rows, columns=["mode", "rank", "kernel", "value"]).assign(model="m")


def test_the_twenty_longest_kernels_come_first_and_the_rest_is_none_of_them():
    names = [f"kernel {place}" for place in range(25)]
    assert kernels.longest(whole(*names, rest=9.0)) == names[:4:-1]


def test_a_kernel_appears_if_it_is_the_longest_and_named_in_the_second_mode_alone():
    rows = whole("a", "b")
    assert kernels.appeared(rows) == {}
    new = rows.assign(kernel=rows["kernel"].where((rows["mode"] == "default") | (rows["kernel"] != "b"), "new"))
    assert kernels.appeared(new.assign(value=new["value"].where(new["kernel"] != "new", 0.4))) == {"new": 0.4}
    gone = rows.assign(kernel=rows["kernel"].where((rows["mode"] != "default") | (rows["kernel"] != "b"), "old"))
    assert kernels.appeared(gone.assign(value=gone["value"].where(gone["kernel"] != "old", 0.4))) == {}


def test_long_names_lose_their_middle():
    name = f"{'a' * 40}{'b' * 40}"
    assert kernels.shortened("short") == "short"
    assert len(kernels.shortened(name)) <= kernels.LONGEST
    assert kernels.shortened(name).startswith("aaa")
    assert kernels.shortened(name).endswith("bbb")


def test_kernels_of_a_gpu_are_called_by_their_function_and_by_what_tells_them_apart():
    added = "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::Add<float> > >(int)"
    other = added.replace("Add<float>", "BinaryFunctor<float, Mul<float> >")
    alone = "void cudnn::cnn::wgrad_alg1_engine_NHWC<float, 128>(int, float const*)"
    unlike_in_numbers = [alone, alone.replace("128", "512")]
    assert list(kernels.called([added, other, alone, "Conv2D"]).values()) == [
        "elementwise_kernel: Add",
        "elementwise_kernel: BinaryFunctor",
        "wgrad_alg1_engine_NHWC",
        "Conv2D",
    ]
    assert list(kernels.called(unlike_in_numbers).values()) == [kernels.shortened(name) for name in unlike_in_numbers]
