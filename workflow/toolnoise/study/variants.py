"""The sources of noise that a variant lets vary."""

import re
from typing import NamedTuple

from toolnoise.base.noise_sources import ALGORITHMIC, SOURCES

# The variants that have their own names.
VARIANTS = {
    "algo_impl": (*ALGORITHMIC, "impl"),
    "algo": ALGORITHMIC,
    "impl": ("impl",),
    "control": (),
    **{source: (source,) for source in ("data", *ALGORITHMIC, "bit")},
}
ALLOWED = (
    f"allowed: {', '.join(VARIANTS)}, or several of {', '.join(SOURCES)} in this order joined by '+'; "
    "bit_N moves the bit after N epochs"
)


class Variant(NamedTuple):
    """The sources that may vary between runs; for `bit`, also the number of epochs before it is moved."""

    varying: tuple[str, ...]
    bit_after: int = 0


def variant_named(name: str) -> Variant | None:
    """The variant of that name, if there is one."""
    if name in VARIANTS:
        return Variant(VARIANTS[name])
    *others, last = name.split("+")
    later = re.fullmatch("bit_([1-9][0-9]{0,5})", last)
    varying = (*others, "bit" if later else last)
    # Each variant has one spelling: known sources, each once, in this order.
    if varying != tuple(source for source in SOURCES if source in varying):
        return None
    return Variant(varying, int(later[1]) if later else 0)


def has_draws(variant: Variant) -> bool:
    """Whether runs of a variant can be repeated under several draws: something varies, and some draws are fixed."""
    return bool(variant.varying) and not set(ALGORITHMIC) <= set(variant.varying)
