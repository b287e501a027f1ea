"""Shares of a whole: the longest parts, their colours and their names."""

import pandas as pd
import pytest

from toolnoise.figures import findings, shares


def whole(*kernels, rest=0.5):
    rows = [
        (mode, str(rank), name, 0.1 * rank)
        for mode in ("default", "deterministic")
        for rank, name in enumerate(kernels, 1)
    ]
    rows += [(mode, "rest", "9 others", rest) for mode in ("default", "deterministic")]
    return pd.DataFrame(rows, columns=["mode", "rank", "kernel", "value"]).assign(model="m")


def test_the_longest_parts_come_first_and_the_rest_is_none_of_them():
    assert shares.longest(whole(*"abcdefg", rest=9.0)) == list("gfedc")


def test_a_part_keeps_its_colour_from_whole_to_whole_and_no_two_of_a_whole_share_one():
    known = {}
    first, second = shares.tints("abcde", known), shares.tints("xbayz", known)
    assert [second[part] for part in "ab"] == [first[part] for part in "ab"]
    third = shares.tints("uvwxe", known)
    for tints in (first, second, third):
        assert len(set(tints.values())) == 5


def test_long_names_lose_their_middle():
    name = f"{'a' * 40}{'b' * 40}"
    assert shares.shortened("short") == "short"
    assert len(shares.shortened(name)) <= shares.LONGEST
    assert shares.shortened(name).startswith("aaa")
    assert shares.shortened(name).endswith("bbb")


def test_kernels_of_a_gpu_are_called_by_their_function_and_by_what_tells_them_apart():
    added = "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::Add<float> > >(int)"
    other = added.replace("Add<float>", "BinaryFunctor<float, Mul<float> >")
    alone = "void cudnn::cnn::wgrad_alg1_engine_NHWC<float, 128>(int, float const*)"
    unlike_in_numbers = [alone, alone.replace("128", "512")]
    assert list(shares.called([added, other, alone, "Conv2D"]).values()) == [
        "elementwise_kernel: Add",
        "elementwise_kernel: BinaryFunctor",
        "wgrad_alg1_engine_NHWC",
        "Conv2D",
    ]
    assert list(shares.called(unlike_in_numbers).values()) == [shares.shortened(name) for name in unlike_in_numbers]


def test_the_title_names_the_share_of_the_longest_kernel_whatever_the_rest_is():
    found = shares.of_longest(whole("a", "b", rest=0.7))
    assert list(found) == ["default", "deterministic"]
    assert found["default"] == pytest.approx([0.2])
    assert (
        findings.of_kernels(found) == "One kernel takes 20 % (default) and 20 % (deterministic) of the time of a step"
    )
