"""Activations in place of ReLU: their formulas on every framework, and a slope without a jump."""

import numpy as np
import pytest

BETAS = (0.5, 1, 2)


@pytest.fixture(scope="module")
def found(own_workshop, framework, toolings):
    return own_workshop("smooth", tooling=toolings[framework]).drive("networks", "smooth_activations")


def test_they_are_their_formulas(found):
    places = found["places"].astype(np.float64)
    expected = {"relu 1": np.maximum(places, 0), "swish 1": places / (1 + np.exp(-places))}
    for beta in BETAS:
        parabola = (places + beta) ** 2 / (4 * beta)
        expected[f"smelu {beta:g}"] = np.where(places <= -beta, 0, np.where(places >= beta, places, parabola))
    assert set(expected) | {"places"} == set(found)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-6, atol=1e-6, err_msg=name)


def test_smelu_bends_by_at_most_one_over_two_beta_and_relu_has_a_corner(found):
    step = float(found["places"][1] - found["places"][0])

    def sharpest(name):
        return np.diff(np.diff(found[name].astype(np.float64)) / step).max() / step

    for beta in BETAS:
        assert sharpest(f"smelu {beta:g}") == pytest.approx(1 / (2 * beta), rel=0.02)
    assert sharpest("relu 1") == pytest.approx(1 / step, rel=0.02)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"activation": "gelu"}, "options.activation: found 'gelu'; allowed: relu, swish, smelu"),
        ({"activation": "smelu", "beta": 0}, "options.beta: found 0; a number above 0"),
    ],
)
def test_what_is_none_is_one_line(options, said, own_workshop):
    here = own_workshop("build", options, module="toolnoise.models.smallcnn", size=(8, 8, 1))
    done = here.attempt()
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]
