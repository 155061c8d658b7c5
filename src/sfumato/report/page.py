"""The page: a template, a stylesheet and a script put into one file that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from typing import Any


def render(context: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """The page as one HTML document; `data` is what its script reads."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("sfumato.report", "page")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters |= {"whole": _whole, "percent": _percent, "signed": _signed, "short": _short}
    return made.get_template("page.html.j2").render(
        **context, css=Markup(_part("page.css")), js=Markup(_part("page.js")), data=Markup(_script(data))
    )


def _part(name: str) -> str:
    return resources.files("sfumato.report").joinpath("page", name).read_text("utf-8")


def _script(data: Mapping[str, Any]) -> str:
    """JSON that no browser takes for markup, whatever texts are in it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _whole(x: float) -> str:
    return f"{x:,.0f}".replace("-", "−")


def _percent(x: float, digits: int = 1) -> str:
    return f"{100 * x:.{digits}f} %".replace("-", "−")


def _signed(x: float) -> str:
    return f"{x:+,.0f}".replace("-", "−")


def _short(x: float) -> str:
    return f"{x:.3g}"
