"""Conditions on records: `area = 8 and shift >= 12`, as sets of bins.

A condition is parsed by sqlglot and taken apart by a short list of what it may hold: comparisons of a column with
values, IN, BETWEEN, IS NULL, AND, OR, NOT. Nothing is ever executed. The result is a list of disjoint boxes; a box
says for some columns which bins they may have.

>>> from sfumato.columns import Category
>>> from sfumato.schema import Schema
>>> schema = Schema(columns=(Category(name="area", values=(7, 8)), Category(name="kind", values=("a", "b", "c"))))
>>> [{name: mask.tolist() for name, mask in box.items()} for box in boxes("area = 8 and kind <> 'b'", schema)]
[{'area': [False, True], 'kind': [True, False, True]}]
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.checked import short
from sfumato.columns import Binned, Category, Number
from sfumato.errors import InputError
from sfumato.grid import Mask
from sfumato.schema import Schema

if TYPE_CHECKING:
    from sqlglot import exp

Box = Mapping[str, Mask]
Compare = Callable[[Any, Any], bool]
MOST = 1000  # boxes
_DEEP = 50  # conditions within conditions


def boxes(text: str, schema: Schema, columns: Collection[str] | None = None) -> list[Box]:
    """The disjoint boxes of a condition on columns of the schema, or on those of them that a model has."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    if not text.strip() or len(text) > 10_000:
        raise InputError(f"the condition is {len(text):,} letters long; write one such as: area = 8 and hour >= 12")
    try:
        parsed = sqlglot.parse_one(text, read="duckdb")
    except (SqlglotError, RecursionError):
        raise InputError(f"the condition {short(text)} cannot be read; write it as: area = 8 and hour >= 12") from None
    names = schema.names if columns is None else [n for n in schema.names if n in columns]
    found = _Reader(schema, names).boxes(parsed, True, 0)
    return [box for box in found if all(mask.any() for mask in box.values())]


class _Reader:
    def __init__(self, schema: Schema, names: Collection[str]):
        self.schema, self.names = schema, names

    def boxes(self, node: exp.Expr, wanted: bool, depth: int) -> list[Box]:
        """The boxes where a condition holds, or where it does not."""
        from sqlglot import exp

        if depth > _DEEP:
            raise InputError(f"the condition has more than {_DEEP} conditions within conditions; write it flatter")
        if isinstance(node, exp.Paren):
            return self.boxes(node.this, wanted, depth + 1)
        if isinstance(node, exp.Not):
            return self.boxes(node.this, not wanted, depth + 1)
        if isinstance(node, exp.And | exp.Or):
            left = self.boxes(node.this, wanted, depth + 1)
            right = self.boxes(node.expression, wanted, depth + 1)
            if isinstance(node, exp.And) == wanted:
                return _both(left, right)
            return left + _both(self.boxes(node.this, not wanted, depth + 1), right)
        name, mask = self._single(node)
        return [{name: mask if wanted else ~mask}]

    def _single(self, node: exp.Expr) -> tuple[str, Mask]:
        """A condition on one column."""
        from sqlglot import exp

        if isinstance(node, exp.In) and node.args.get("query") is None and node.expressions:
            name = self._column(node.this)
            masks = [self._mask(name, operator.eq, self._value(v)) for v in node.expressions]
            return name, np.logical_or.reduce(masks)
        if isinstance(node, exp.Between):
            name = self._column(node.this)
            low, high = (self._value(node.args[k]) for k in ("low", "high"))
            return name, self._mask(name, operator.ge, low) & self._mask(name, operator.le, high)
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            name = self._column(node.this)
            return name, _missing(self.schema[name])
        compare = _COMPARES.get(type(node).__name__)
        if compare is None:
            raise InputError(
                f"the condition holds {node.sql()!r}, which is not understood; it takes comparisons of a column with "
                "a value (=, <>, <, <=, >, >=), IN, BETWEEN, IS NULL, AND, OR, NOT"
            )
        if isinstance(node.this, exp.Column):
            name = self._column(node.this)
            return name, self._mask(name, compare, self._value(node.expression))
        name = self._column(node.expression)
        return name, self._mask(name, _MIRRORED.get(compare, compare), self._value(node.this))

    def _column(self, node: exp.Expr) -> str:
        from sqlglot import exp

        if not isinstance(node, exp.Column) or node.table:
            raise InputError(f"the condition compares {node.sql()!r}; a column is needed there")
        if node.name not in self.names:
            raise InputError(
                f"the condition names '{node.name}', which the model has not; it has {', '.join(self.names)}"
            )
        return str(node.name)

    @staticmethod
    def _value(node: exp.Expr) -> float | int | str:
        from sqlglot import exp

        sign = 1
        if isinstance(node, exp.Neg):
            sign, node = -1, node.this
        if not isinstance(node, exp.Literal) or (node.is_string and sign < 0):
            raise InputError(f"the condition compares with {node.sql()!r}; a number or a 'text' is needed there")
        if node.is_string:
            return str(node.this)
        number = float(node.this)
        return sign * (int(number) if number.is_integer() and abs(number) < 2**53 else number)

    def _mask(self, name: str, compare: Compare, value: float | int | str) -> Mask:
        column = self.schema[name]
        if isinstance(column, Number):
            return _intervals(column, compare, value)
        return _labels(column, compare, value)


def _both(left: list[Box], right: list[Box]) -> list[Box]:
    """Where both hold."""
    if len(left) * len(right) > MOST:
        raise InputError(f"the condition comes apart into more than {MOST:,} cases; write it with fewer ORs")
    out: list[Box] = []
    for a in left:
        for b in right:
            box = {name: a[name] & b[name] if name in a and name in b else (a | b)[name] for name in a | b}  # type: ignore[operator]
            if all(mask.any() for mask in box.values()):
                out.append(box)
    return out


def _labels(column: Binned, compare: Compare, value: float | int | str) -> Mask:
    """The bins whose value compares so."""
    equal = compare in (operator.eq, operator.ne)
    bins = list(column.bins)
    if isinstance(column, Category) and column.names and isinstance(value, str) and value in column.names and equal:
        value = bins[column.names.index(value)]
    if equal and value not in bins:
        raise InputError(f"the condition compares '{column.name}' with {value!r}, which is none of its values")
    if isinstance(value, str) != isinstance(bins[0], str):
        raise InputError(f"the condition compares '{column.name}' with {value!r}; its values are such as {bins[0]!r}")
    if isinstance(value, str) and not equal:
        if not column.is_ordered or value not in bins:
            raise InputError(f"'{column.name}' holds text without an order; compare it by =, <> or IN")
        at = bins.index(value)
        return np.array([compare(i, at) for i in range(len(bins))])
    return np.array([compare(b, value) for b in bins])


def _intervals(column: Number, compare: Compare, value: float | int | str) -> Mask:
    """The bins whose numbers all compare so; a bin of which only a part does cannot be told apart."""
    if isinstance(value, str):
        raise InputError(f"the condition compares '{column.name}' with {value!r}, but it holds numbers")
    if value in column.marks and compare in (operator.eq, operator.ne):
        return np.array([compare(i, 0) for i in range(column.size())])
    edges = [column.ends[0], *column.cuts, column.ends[1]]
    out = []
    for i, (low, high) in enumerate(itertools.pairwise(edges)):
        least, most = _extremes(column, low, high, first=i == 0, last=i == len(edges) - 2)
        inside = least <= value <= most and compare in (operator.eq, operator.ne)
        ends = {compare(least, value), compare(most, value)}
        if len(ends) > 1 or (inside and least < most):
            label = column.bins[i + bool(column.missing)]
            raise InputError(
                f"the condition cuts through the bin {label} of '{column.name}' at {value:g}; "
                f"take one of the edges: {', '.join(f'{e:g}' for e in column.cuts[:12])}"
            )
        out.append(ends.pop())
    if column.missing:
        mark = column.missing[0]
        out.insert(0, mark is not None and compare(mark, value))
    return np.array(out)


def _extremes(column: Number, low: float, high: float, first: bool, last: bool) -> tuple[float, float]:
    """The least and the greatest number of a bin."""
    left = column.closed == "left"
    if column.outside == "clip":
        low, high = (-math.inf if first else low), (math.inf if last else high)
    if column.integer:
        least = low if math.isinf(low) else (math.ceil(low) if left else math.floor(low) + 1)
        most = high if math.isinf(high) else (math.ceil(high) - 1 if left else math.floor(high))
        return least, most
    return (low, math.nextafter(high, -math.inf)) if left else (math.nextafter(low, math.inf), high)


def _missing(column: Binned) -> Mask:
    mask = np.zeros(column.size(), bool)
    if isinstance(column, Number) and column.missing and column.missing[0] is None:
        mask[0] = True
    return mask


_COMPARES: Mapping[str, Compare] = {
    "EQ": operator.eq,
    "NEQ": operator.ne,
    "LT": operator.lt,
    "LTE": operator.le,
    "GT": operator.gt,
    "GTE": operator.ge,
}
_MIRRORED: Mapping[Compare, Compare] = {
    operator.lt: operator.gt,
    operator.le: operator.ge,
    operator.gt: operator.lt,
    operator.ge: operator.le,
}
