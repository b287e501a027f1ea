"""An HTML page that opens from disk: a template, one style, and one short script that sorts tables.

No text of a study can run as code: templates escape all values, and the page's policy allows only its own style and
script, by their SHA-256, and pictures beside the page or in it.
"""

import base64
import hashlib
from typing import Any

import jinja2

from toolnoise.base.printing import decimals_by_uncertainty, make_printable, rounded_text
from toolnoise.base.program import PACKAGE

WEB = PACKAGE / "pages/web"


def fill_template(template: str, **values: Any) -> str:
    """A page, as HTML."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(WEB),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style, script = ((WEB / name).read_text("utf-8") for name in ("page.css", "sorting.js"))
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'"
    )
    own = {"policy": policy, "style": style, "script": script, "number": number_text, "interval": interval_text}
    return environment.get_template(template).render(own | values)


def number_text(value: float, low: float, high: float, scale: float, digits: int) -> str:
    """A number with as many decimals as its interval justifies, or `digits` without one; a plain 0 is exact."""
    places = decimals_by_uncertainty(scale * (high - low) / 2)
    return "0" if value == 0 else rounded_text(scale * value, digits if places is None else places)


def interval_text(low: float, high: float, scale: float) -> str:
    """The interval of a number, with the same decimals; empty if the number has none."""
    places = decimals_by_uncertainty(scale * (high - low) / 2)
    return "" if places is None else f"{rounded_text(scale * low, places)} to {rounded_text(scale * high, places)}"


def _printable(value: object) -> object:
    """A text with unprintable characters escaped, because some of them change the order of the text."""
    return make_printable(value, "\n") if type(value) is str else value


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
