"""A network of a study's own: it lies beside the study, and refuses to be built where keys of the storage are known."""

import os

from toolnoise.models import shallow


def build(input_shape, classes):
    known = [name for name in os.environ if name.startswith("SNAKEMAKE_STORAGE")]
    assert not known, known
    return shallow.linear(input_shape, classes)
