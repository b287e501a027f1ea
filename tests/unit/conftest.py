"""What the unit tests share: a small study, run specs of it, and a check that bad input is told in one line."""

import copy

import pytest
from hypothesis import settings

from toolnoise import config, study
from toolnoise.errors import BadInput
from toolnoise.study import Cell
from toolnoise.variants import VARIANTS

# The same examples every time, however busy the machine.
settings.register_profile("toolnoise", deadline=None, derandomize=True)
settings.load_profile("toolnoise")

STUDY = {
    "study": "tiny",
    "seed": 7,
    "grid": [
        {
            "models": ["smallcnn"],
            "datasets": ["digits"],
            "recipe": "digits",
            "hardware": ["cpu", "noisy"],
            "variants": list(VARIANTS),
            "seeds": 3,
        }
    ],
    "recipes": {"digits": {"batch_size": 8, "crop": 2, "flip": True}},
    "hardware": {"noisy": {"accelerator": "cpu"}},
}


@pytest.fixture
def written():
    """A valid configuration as a person would write it, to be changed by the test."""
    return copy.deepcopy(STUDY)


@pytest.fixture
def built():
    """From a configuration to its study."""
    return lambda written, file="tiny.yaml": study.build(config.resolve(written, file), file)


@pytest.fixture(scope="session")
def make_spec():
    """The spec of a run of the small study: on `cpu` implementation noise is emulated, on `noisy` it is native."""
    tiny = study.build(config.resolve(copy.deepcopy(STUDY), "tiny.yaml"), "tiny.yaml")
    return lambda variant, seed, hardware="cpu": tiny.spec(Cell("smallcnn", "digits", hardware, variant), seed)


@pytest.fixture(scope="session")
def refused():
    """Call what must refuse its input, and return its one line."""

    def call(function, *arguments):
        with pytest.raises(BadInput) as caught:
            function(*arguments)
        line = str(caught.value)
        assert line.splitlines() == [line]
        return line

    return call
