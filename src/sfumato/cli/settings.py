"""Settings of a method or a metric given as text: `name=value`, read by what the setting may hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any, get_type_hints

from sfumato.bounds import Bound, QuantileBound
from sfumato.errors import InputError


def parse_settings(made: Callable[..., Any], pairs: Iterable[str], what: str) -> dict[str, Any]:
    """The settings of a dataclass that `name=value` texts give.

    A value is JSON where it can be (`12`, `0.1`, `true`, `[1, 2]`), a bound such as `weight:150`, a list where the
    setting is one and commas stand in the text, and text otherwise.

    >>> from sfumato.synthesizers import NMD
    >>> parse_settings(NMD, ["marginal=area,shift@day", "bound=records:20"], "method 'nmd'")
    {'marginal': ('area', 'shift@day'), 'bound': Bound(rule='records', limit=20.0)}
    """
    known = get_type_hints(made)
    out: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise InputError(f"--set {pair}: write it as name=value")
        if name not in setting_names(made):
            raise InputError(f"{what} has no setting '{name}'; it has {', '.join(setting_names(made)) or 'none'}")
        if name in out:
            raise InputError(f"--set gives '{name}' twice")
        out[name] = _value(text.strip(), known[name], f"--set {pair}")
    return out


def setting_names(made: Callable[..., Any]) -> list[str]:
    """The names of the settings; the schema, which a metric takes first, is none."""
    return [f.name for f in fields(made) if f.name != "schema"]  # type: ignore[arg-type]


def _value(text: str, hint: Any, where: str) -> Any:
    from pydantic import ConfigDict, TypeAdapter, ValidationError

    if "QuantileBound" in str(hint) and "quantile" in text:
        return QuantileBound.parse(text)
    if "Bound" in str(hint):
        return Bound.parse(text)
    read = json.loads(text) if _is_json(text) else text
    if "tuple" in str(hint) and not isinstance(read, list | dict) and read is not None:
        read = [part.strip() for part in text.split(",")]
    try:
        return TypeAdapter(hint, config=ConfigDict(arbitrary_types_allowed=True, allow_inf_nan=False)).validate_python(
            read
        )
    except ValidationError as error:
        raise InputError(f"{where}: {error.errors()[0]['msg'].lower()}") from None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
