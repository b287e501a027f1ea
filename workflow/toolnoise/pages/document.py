"""An HTML page that opens from disk: one template, one style, one script, one block of data, and data files beside it.

No data can run as code. The block is plain ASCII JSON without `<`, `>` and `&`. A data file is one call of the page's
function `part` with the JSON as a string, so that it loads from `file://`, where a page may fetch nothing. The page's
policy allows only its own script and style, by their SHA-256, and no address. That script alone may load further
scripts, the data files (`strict-dynamic`); pictures lie beside the page or in its data.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from toolnoise.base.program import PACKAGE
from toolnoise.pages.short_json import packed

# The script's files, in the order in which they are joined.
SCRIPTS = ("unpacking", "elements", "tooltips", "charts", "tables", "study-views", "run-views", "claims", "navigation")


def document(block: Mapping[str, Any]) -> str:
    """The page, as HTML."""
    texts = {path.name: path.read_text("utf-8") for path in PACKAGE.glob("pages/web/*")}
    style = texts["page.css"]
    script = '"use strict";\n' + "\n".join(texts[f"{name}.js"] for name in SCRIPTS)
    policy = (
        f"default-src 'none'; script-src {_digest(script)} 'strict-dynamic'; style-src {_digest(style)}; "
        "img-src 'self' data:; base-uri 'none'; form-action 'none'"
    )
    # In one pass, so that inserted text is never searched for placeholders.
    blanks = {"policy": policy, "style": style, "data": escaped(packed(block)), "script": script}
    return re.sub(r"\{(policy|style|data|script)\}", lambda place: blanks[place[1]], texts["page.html"])


def escaped(value: object) -> str:
    """JSON that is safe in a script element: it can neither end the element nor begin another."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def part(name: str, value: object) -> str:
    """A data file. JSON in a string, because `__proto__` is a key in JSON and no key in JavaScript."""
    quoted = (escaped(text).replace("\\", "\\\\").replace("'", "\\'") for text in (name, packed(value)))
    return "part({});\n".format(", ".join(f"'{text}'" for text in quoted))


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
