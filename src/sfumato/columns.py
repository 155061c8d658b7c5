"""The kinds of column, each with the bins it is cut into; what they have in common is in `sfumato.bins`.

>>> shift = Category(name="shift", values=(0, 1, 2, 3), levels={"day": ("sat", "sat", "sun", "sun")})
>>> shift.depth, shift.size(), shift.size(1), shift.labels(1)
(2, 4, 2, ('sat', 'sun'))
>>> shift.distance()[0].tolist()
[0.0, 0.5, 1.0, 1.0]
"""

from __future__ import annotations

import itertools
import math
import os
from datetime import datetime
from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, PrivateAttr, StrictInt, StrictStr, model_validator

from sfumato.bins import MAX_BINS, Binned, Column, Floats, Ints, Person, Value
from sfumato.checked import Checked, short

__all__ = [
    "MAX_BINS",
    "PARTS",
    "Binned",
    "Category",
    "Column",
    "Floats",
    "Ints",
    "Number",
    "Period",
    "Person",
    "Place",
    "Shares",
    "Time",
    "Value",
]

_EXACT = 2**53  # up to here a double is an exact whole number
_FAR = 1e300  # up to here the sum of two edges is a number


class Category(Binned):
    """A column with a fixed list of values."""

    kind: Literal["category"] = "category"
    values: tuple[Value, ...] = Field(min_length=1)
    names: tuple[StrictStr, ...] | None = None
    ordered: bool = False
    cyclic: bool = False
    other: Value | None = None
    """The value that stands for everything unknown or missing; without it such records are left out."""

    @property
    def bins(self) -> tuple[Value, ...]:
        """The values."""
        return self.values

    @property
    def is_ordered(self) -> bool:  # type: ignore[override]
        """Whether neighbours in the list of values are near each other."""
        return self.ordered

    @property
    def is_cyclic(self) -> bool:  # type: ignore[override]
        """Whether the last value is next to the first."""
        return self.cyclic

    @model_validator(mode="after")
    def _check_values(self) -> Self:
        if len({type(v) for v in self.values}) > 1:
            raise ValueError("values are all whole numbers or all text; this list mixes both")
        seen: set[Value] = set()
        for v in self.values:
            if v in seen:
                raise ValueError(f"value {v!r} stands twice")
            seen.add(v)
        if self.names is not None and len(self.names) != len(self.values):
            raise ValueError(f"{len(self.names)} names for {len(self.values)} values; give one for each")
        if self.other is not None and self.other not in seen:
            raise ValueError(f"other is {self.other!r}, which is none of the values")
        return self

    def title(self, code: int, level: int | str | None = None) -> str:
        """What a person calls a bin: its name where it has one."""
        finest = self.level(level) == self.depth
        return self.names[code] if self.names and finest else super().title(code, level)


class Place(Category):
    """A category that is an area on a map: `map` is a GeoJSON file, `key` the property that holds the value.

    With `longitude` and `latitude`, columns of the data in degrees, the area is found from them: the one of the map
    that the point lies in, or its cell in the H3 grid of resolution `h3`. A point in none of them is `other`, or is
    left out.
    """

    kind: Literal["place"] = "place"  # type: ignore[assignment]
    map: str | None = None
    key: str | None = None
    longitude: str | None = None
    latitude: str | None = None
    h3: Annotated[StrictInt, Field(ge=0, le=15)] | None = None
    _folder: str = PrivateAttr("")

    @property
    def sources(self) -> tuple[str, ...]:
        """The column of its values, or those of longitude and latitude."""
        if self.longitude is not None and self.latitude is not None:
            return (self.longitude, self.latitude)
        return (self.source or self.name,)

    @model_validator(mode="after")
    def _check_coordinates(self) -> Self:
        if (self.longitude is None) != (self.latitude is None):
            raise ValueError("longitude and latitude are named together")
        if self.longitude is not None and self.source is not None:
            raise ValueError("source goes without longitude and latitude; the value is read from one or the other")
        if self.longitude is not None and self.map is None and self.h3 is None:
            raise ValueError("longitude and latitude need a map, or an H3 resolution, whose areas points fall into")
        if self.h3 is not None and not isinstance(self.values[0], str):
            raise ValueError("the values of an H3 grid are its cells' indexes, as text")
        return self

    def beside(self, folder: str) -> Self:
        """The same with its map looked for in a folder: that of the schema's file. It is not written down."""
        placed = self.model_copy()
        placed._folder = folder
        return placed

    @property
    def map_file(self) -> str | None:
        """Where the map is."""
        return None if self.map is None else os.path.join(self._folder, self.map)


class Shares(Checked):
    """What a bin of a number decodes to: values, each with its share. Public knowledge."""

    values: tuple[float, ...] = Field(min_length=1)
    weights: tuple[float, ...] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.weights is not None:
            if len(self.weights) != len(self.values):
                raise ValueError(f"{len(self.weights)} weights for {len(self.values)} values")
            if min(self.weights) < 0 or not 0 < sum(self.weights) < math.inf:
                raise ValueError("weights are not negative, not all zero, and have a finite sum")
        return self


class Number(Binned):
    """A number cut into bins by its edges.

    `edges` increase; null as first or last edge leaves that end open. `closed` says which edge belongs to a bin.
    `missing` lists the markers of a missing value (null among them where empty cells count): they get a bin of their
    own, the first, which decodes to the first marker. A number outside closed ends falls into the end bin
    (`outside="clip"`) or is left out (`"drop"`).
    """

    kind: Literal["number"] = "number"
    edges: tuple[float | None, ...] = Field(min_length=2)
    closed: Literal["left", "right"] = "left"
    missing: tuple[float | None, ...] = ()
    outside: Literal["clip", "drop"] = "clip"
    decode: Literal["midpoint", "uniform"] | tuple[Shares, ...] = "midpoint"
    integer: bool = False
    ordered: Literal[True] = True

    is_ordered: ClassVar[bool] = True

    @cached_property
    def cuts(self) -> tuple[float, ...]:
        """The inner edges, where one bin ends and the next begins."""
        return tuple(float(e) for e in self.edges[1:-1] if e is not None)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The outermost edges, infinite where they are open."""
        low, high = self.edges[0], self.edges[-1]
        return (-math.inf if low is None else low, math.inf if high is None else high)

    @cached_property
    def bins(self) -> tuple[Value, ...]:
        """The intervals as text, after the bin for missing values."""
        left, right = ("[", ")") if self.closed == "left" else ("(", "]")
        edges = [self.ends[0], *self.cuts, self.ends[1]]
        spans = [f"{left}{_plain(a)}, {_plain(b)}{right}" for a, b in itertools.pairwise(edges)]
        return ("missing", *spans) if self.missing else tuple(spans)

    def code(self, values: npt.ArrayLike) -> Ints:
        """The bin that each number falls into, -1 where it is left out."""
        x = np.asarray(values, float)
        at = np.searchsorted(self.cuts, x, side="right" if self.closed == "left" else "left")
        if self.missing:
            at = np.where(np.isin(x, self.marks), 0, at + 1)
        if self.outside == "drop":
            at = np.where((self.ends[0] <= x) & (x <= self.ends[1]) | np.isin(x, self.marks), at, -1)
        return at

    @property
    def marks(self) -> tuple[float, ...]:
        """The markers of a missing value that are numbers."""
        return tuple(sorted(m for m in self.missing if m is not None))

    @model_validator(mode="after")
    def _check_edges(self) -> Self:
        if any(e is None for e in self.edges[1:-1]):
            raise ValueError("only the first and the last edge may be null (open)")
        finite = [e for e in self.edges if e is not None]
        for a, b in itertools.pairwise(finite):
            if not a < b:
                raise ValueError(f"edges must increase, but {_plain(b)} comes after {_plain(a)}")
        if far := [x for x in (*finite, *self.marks) if abs(x) > _FAR]:
            raise ValueError(f"{_plain(far[0])} is too large for an edge or a marker")
        if self.integer:
            self._check_whole()
        if not isinstance(self.decode, str):
            self._check_shares(self.decode)
        return self

    def _check_whole(self) -> None:
        """Check that every bin of a column of whole numbers holds one, and that each is exact."""
        if odd := [m for m in self.marks if m != math.floor(m)]:
            raise ValueError(f"missing is {_plain(odd[0])}, but the column holds whole numbers")
        if far := [x for x in (*self.cuts, *self.ends, *self.marks) if _EXACT < abs(x) < math.inf]:
            raise ValueError(f"{_plain(far[0])} is too large for a column of whole numbers")
        least, most = self.whole_bounds()
        marks = np.array(self.marks)
        inside = np.searchsorted(marks, most, side="right") - np.searchsorted(marks, least)
        if (empty := most - least + 1 <= inside).any():
            label = self.bins[int(np.argmax(empty)) + bool(self.missing)]
            raise ValueError(f"the bin {label} holds no whole number; take an edge out, or 'integer'")

    def whole_bounds(self) -> tuple[Floats, Floats]:
        """The least and the greatest whole number of each bin of edges, infinite in an open bin."""
        edges = np.array([self.ends[0], *self.cuts, self.ends[1]])
        starts = np.ceil(edges) if self.closed == "left" else np.floor(edges) + 1
        return starts[:-1], starts[1:] - 1

    def _check_shares(self, decode: tuple[Shares, ...]) -> None:
        """Check that there is a distribution for each bin, and that what it holds falls into that bin."""
        if len(decode) != len(self.bins):
            raise ValueError(f"decode has {len(decode)} distributions for {len(self.bins)} bins; give one for each")
        values = np.array([v for s in decode for v in s.values])
        bins = np.repeat(np.arange(len(decode)), [len(s.values) for s in decode])
        wrong = self.code(values) != bins
        if self.missing and self.missing[0] is None:
            wrong &= bins != 0  # decodes to an empty cell, whatever stands there
        if wrong.any():
            at = int(np.argmax(wrong))
            raise ValueError(f"decode gives {_plain(values[at])} to the bin {self.bins[bins[at]]}, where it is not")
        if self.integer and (values != np.floor(values)).any():
            odd = values[values != np.floor(values)][0]
            raise ValueError(f"decode gives {_plain(odd)}, but the column holds whole numbers")


PARTS = ("month", "weekday", "hour", "weekday_part", "period", "year_month")


class Period(Checked):
    """A span of time, from `start` up to and without `end`."""

    start: datetime
    end: datetime
    name: str | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.start.tzinfo or self.end.tzinfo:
            raise ValueError("start and end are local wall-clock times, without a time zone")
        if self.start >= self.end:
            raise ValueError(f"ends ({self.end}) before it starts ({self.start})")
        return self

    @property
    def label(self) -> str:
        """What a person calls it."""
        return self.name or f"{self.start.isoformat(' ')} to {self.end.isoformat(' ')}"


class Time(Binned):
    """A part of a timestamp: month, weekday, hour, weekday × part of the day, a custom period, or year and month.

    Several columns may share one `source`. `weekday_part` is weekday × part of the day (Monday first), where `hours`
    says at which hours the parts begin; `period` takes a list of periods; `year_month` a list of [year, month],
    and reads them from two columns when `year` and `month` name these instead of a timestamp. `format` is a strptime
    pattern for text that is not ISO 8601. A zoned timestamp is taken at UTC.
    """

    kind: Literal["time"] = "time"
    part: Literal["month", "weekday", "hour", "weekday_part", "period", "year_month"]
    format: str | None = None
    hours: tuple[StrictInt, ...] = (0, 8, 16)
    periods: tuple[Period, ...] = ()
    months: tuple[tuple[StrictInt, StrictInt], ...] = ()
    year: str | None = None
    month: str | None = None
    ordered: bool = True
    cyclic: bool | None = None

    @property
    def is_ordered(self) -> bool:  # type: ignore[override]
        """Whether neighbouring bins are near each other in time."""
        return self.ordered

    @property
    def is_cyclic(self) -> bool:  # type: ignore[override]
        """Whether the last bin is next to the first: by default in a day and in a week."""
        return self.part in ("weekday", "hour", "weekday_part") if self.cyclic is None else self.cyclic

    @property
    def sources(self) -> tuple[str, ...]:
        """The timestamp, or the two columns that hold year and month."""
        if self.year is not None and self.month is not None:
            return (self.year, self.month)
        return (self.source or self.name,)

    @cached_property
    def bins(self) -> tuple[Value, ...]:
        """Months 1..12, weekdays 0..6 from Monday, hours 0..23, codes of week parts, names of periods, or YYYY-MM."""
        if self.part == "month":
            return tuple(range(1, 13))
        if self.part == "period":
            return tuple(p.label for p in self.periods)
        if self.part == "year_month":
            return tuple(f"{y:04d}-{m:02d}" for y, m in self.months)
        return tuple(range({"weekday": 7, "hour": 24, "weekday_part": 7 * len(self.hours)}[self.part]))

    @model_validator(mode="after")
    def _check_part(self) -> Self:
        if (self.year is None) != (self.month is None):
            raise ValueError("year and month are named together")
        if self.year is not None and (self.part != "year_month" or self.source is not None):
            raise ValueError("year and month go with part 'year_month', without a source")
        for y, m in self.months:
            if not (1 <= y <= 9999 and 1 <= m <= 12):
                raise ValueError(f"months are [year, month] with a month from 1 to 12; got {short([y, m])}")
        if len(set(self.bins)) != len(self.bins):
            raise ValueError(f"the same {self.part} stands twice")
        if list(self.hours) != sorted(set(self.hours)) or self.hours[:1] != (0,) or self.hours[-1] > 23:
            raise ValueError(f"hours begin with 0 and increase up to 23; got {list(self.hours)}")
        spans = sorted((p.start, p.end, p.label) for p in self.periods)
        for (_, end, label), (start, _, later) in itertools.pairwise(spans):
            if start < end:
                raise ValueError(f"the periods '{label}' and '{later}' overlap")
        return self


def _plain(x: float) -> str:
    """A number as a person writes it."""
    if math.isinf(x):
        return "−∞" if x < 0 else "∞"
    short = f"{x:.12g}"
    return short if float(short) == x else repr(x)
