"""Descriptions that are checked when they are made, and what is wrong with one said in one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from sfumato.errors import InputError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


class Checked(BaseModel):
    """A description that is checked when it is made; what is wrong with it is an `InputError` of one sentence."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, /, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise InputError(_sentence(error, type(self), data)) from None

    # Equal is what is written down alike: pydantic would compare cached arrays too, and levels without their order.

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.model_dump_json() == other.model_dump_json()

    def __hash__(self) -> int:
        return hash(self.model_dump_json())


def _sentence(error: ValidationError, made: type[BaseModel], data: Mapping[str, Any]) -> str:
    """What pydantic found, in one sentence that names the column, the place and the value.

    Of several findings the deepest is told: where a value may be of two kinds, it is about the kind that was meant.
    """
    found = max(error.errors(include_url=False), key=lambda e: len(e["loc"]))
    inner = found.get("ctx", {}).get("error")
    place = [str(p) for p in found["loc"] if not str(p).startswith(_BRANCHES) and p not in ("int", "str", "[key]")]
    if place[:1] == ["columns"] and isinstance(data.get("columns"), list | tuple):
        if isinstance(inner, InputError):
            return str(inner)  # the column has said it, with its name
        entry = data["columns"][int(place[1])] if len(place) > 1 else None
        if isinstance(entry, dict) and entry.get("name"):
            return f"column '{entry['name']}': {_told(found, [p for p in place[2:] if p not in _KINDS])}"
    what = f"column '{data['name']}': " if "kind" in made.model_fields and data.get("name") else ""
    return what + _told(found, place)


def _told(found: ErrorDetails, place: Sequence[str]) -> str:
    """One finding in words: where, what, and what was there instead."""
    path = ".".join(place)
    at = f"{path}: " if path else ""
    got = f"(got {short(found.get('input'))})"
    match found["type"]:
        case "union_tag_invalid":
            return f"{at}kind is one of {', '.join(_KINDS)}, not {short(found['ctx']['tag'])}"
        case "union_tag_not_found":
            return f"{at}kind is missing; it is one of {', '.join(_KINDS)}"
        case "extra_forbidden":
            return f"unknown key '{path}'; take it out or mend its spelling"
        case "missing":
            return f"'{path}' is missing"
        case "too_short" | "string_too_short":
            least = found["ctx"]["min_length"]
            return f"{at}must not be empty" if least == 1 else f"{at}at least {least} are needed {got}"
        case "tuple_type":
            return f"{at}a list is needed {got}"
        case "dict_type" | "model_type" | "model_attributes_type":
            return f"{at}an object is needed {got}"
        case "int_type" if found["loc"][-1] != place[-1]:  # one of the two kinds of a value
            return f"{at}a whole number or a text is needed {got}"
        case "string_pattern_mismatch":
            return f"{at}has no '@' in it, which stands before a level; say 'source' for the data's own name"
        case "value_error":
            return f"{at}{found['ctx']['error']}"
    return f"{at}{found['msg'][:1].lower()}{found['msg'][1:]} {got}"


_BRANCHES = ("function-", "tuple[", "dict[", "literal[", "constrained-", "union[")
_KINDS = ("person", "category", "place", "number", "time")


def short(value: object) -> str:
    """A value as an error text shows it: not too much of it."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
