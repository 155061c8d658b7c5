"""The kinds of column, each with the bins it is cut into and the levels above them.

Every column but the person id has a fixed list of *bins*, coded 0..k-1, and a hierarchy of *levels* above them: level 0
holds everything in one bin, the last level (`depth`) holds the bins themselves. Two levels are there without asking;
more can be named, coarse to fine.

>>> shift = Category(name="shift", values=(0, 1, 2, 3), levels={"day": ("sat", "sat", "sun", "sun")})
>>> shift.depth, shift.size(), shift.size(1), shift.labels(1)
(2, 4, 2, ('sat', 'sun'))
>>> shift.distance()[0].tolist()
[0.0, 0.5, 1.0, 1.0]
"""

from __future__ import annotations

import itertools
import math
from datetime import datetime
from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, StrictInt, StrictStr, model_validator

from sfumato.checked import Checked, short
from sfumato.errors import InputError

Value = Annotated[StrictInt, Field(ge=-(2**63), lt=2**63)] | StrictStr
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MAX_BINS = 1_000_000  # bins of one column; more is surely an identifier and not a category
_EXACT = 2**53  # up to here a double is an exact whole number
_FAR = 1e300  # up to here the sum of two edges is a number
_BLANKS = " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"


class Column(Checked):
    """A column of the table: its name, where it comes from, and the bins it is cut into."""

    kind: str
    name: str = Field(min_length=1, pattern="^[^@]*$")
    source: str | None = None
    """The column of the data file, where it is called otherwise."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the columns of the data that this one is read from."""
        return (self.source or self.name,)


class Person(Column):
    """The column that says whose record it is; all records with the same id are one person."""

    kind: Literal["person"] = "person"


class Binned(Column):
    """A column with bins: what categories, numbers, times and places have in common."""

    levels: dict[str, tuple[Value, ...] | dict[str, tuple[Value, ...]]] = Field(default_factory=dict)
    """Levels between "all" and the bins, coarse to fine: the group of every bin, or group -> bins."""

    is_ordered: ClassVar[bool] = False
    is_cyclic: ClassVar[bool] = False

    @property
    def bins(self) -> tuple[Value, ...]:
        """A label for each bin, in the order of the codes."""
        raise TypeError(f"{type(self).__name__} has no bins")

    @property
    def depth(self) -> int:
        """The number of the finest level; level 0 holds everything in one bin."""
        return len(self.levels) + 1

    def level(self, level: int | str | None = None) -> int:
        """The number of a level given by number or name; None is the finest."""
        names = {name: i + 1 for i, name in enumerate(self.levels)}
        if level is None:
            return self.depth
        if isinstance(level, str) and level in names:
            return names[level]
        if isinstance(level, int) and 0 <= level <= self.depth:
            return level
        known = ", ".join(["0", *(f"{i} ({name})" for name, i in names.items()), str(self.depth)])
        raise InputError(f"column '{self.name}' has no level {level!r}; it has {known}")

    @cached_property
    def _codes(self) -> dict[int, tuple[Ints, tuple[Value, ...]]]:
        """For every level: the code of each bin there, and the labels of the codes."""
        bins = self.bins
        out: dict[int, tuple[Ints, tuple[Value, ...]]] = {
            0: (np.zeros(len(bins), np.int64), ("all",)),
            self.depth: (np.arange(len(bins)), bins),
        }
        for i, (name, given) in enumerate(self.levels.items(), start=1):
            groups = self._as_groups(name, given)
            labels = tuple(dict.fromkeys(groups))
            position = {label: code for code, label in enumerate(labels)}
            out[i] = (np.array([position[g] for g in groups]), labels)
        return out

    def size(self, level: int | str | None = None) -> int:
        """How many bins a level has."""
        return len(self.labels(level))

    def labels(self, level: int | str | None = None) -> tuple[Value, ...]:
        """A label for each bin of a level."""
        return self._codes[self.level(level)][1]

    def title(self, code: int, level: int | str | None = None) -> str:
        """What a person calls a bin of a level."""
        return str(self.labels(level)[code])

    def coarsen(self, level: int | str | None = None) -> Ints:
        """For each of the finest bins, its code at a level."""
        return self._codes[self.level(level)][0]

    def distance(self, level: int | str | None = None) -> Floats:
        """Semantic distance (0..1) between the bins of a level.

        Ordered columns: |i-j|/(k-1), round the circle where they are cyclic. Others: (t-s)/t at level t, where s is
        the level of the lowest group that holds both (Reynolds et al., the MGD design).
        """
        t = self.level(level)
        k = self.size(t)
        if k == 1:
            return np.zeros((1, 1))
        if self.is_ordered or self.is_cyclic:
            apart = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(float)
            if self.is_cyclic:
                apart = np.minimum(apart, k - apart)
            return np.asarray(apart / apart.max(), float)
        together = np.sum([self._same_group(t, s) for s in range(1, t + 1)], axis=0)
        return np.asarray((t - together) / t, float)

    def _same_group(self, t: int, s: int) -> Floats:
        """1 where two bins of level t lie in one group of level s."""
        group = np.zeros(self.size(t), np.int64)
        group[self.coarsen(t)] = self.coarsen(s)
        same: Floats = (group[:, None] == group[None, :]).astype(float)
        return same

    @model_validator(mode="after")
    def _check_bins(self) -> Self:
        if not self.bins:
            raise ValueError("has no bins; a column needs at least one value")
        if len(self.bins) > MAX_BINS:
            raise ValueError(
                f"has {len(self.bins):,} bins, more than {MAX_BINS:,}; group them or make bins of a number"
            )
        for b in self.bins:
            if isinstance(b, str) and (b != b.strip(_BLANKS) or "\0" in b):
                raise ValueError(f"value {short(b)} begins or ends with a blank, which does not count; take it off")
        for name in self.levels:
            if not name or "@" in name or name.isdecimal():
                raise ValueError(f"level '{name}' needs another name: one that is no number and has no '@' in it")
        finer = np.arange(len(self.bins))
        for level in range(self.depth - 1, 0, -1):
            finer = self._check_nested(level, finer)
        return self

    def _as_groups(self, level: str, groups: tuple[Value, ...] | dict[str, tuple[Value, ...]]) -> tuple[Value, ...]:
        """One group for each bin, from a list of groups or from a mapping group -> bins."""
        if isinstance(groups, tuple):
            if len(groups) != len(self.bins):
                raise ValueError(
                    f"level '{level}' has {len(groups)} groups for {len(self.bins)} bins; give one for each"
                )
            return groups
        group_of: dict[Value, Value] = {}
        for group, members in groups.items():
            for member in members:
                if member in group_of:
                    raise ValueError(f"level '{level}' puts {member!r} into two groups")
                group_of[member] = group
        if lost := [b for b in self.bins if b not in group_of]:
            raise ValueError(f"level '{level}' leaves {lost[0]!r} out; every bin needs a group (uniform depth)")
        known = set(self.bins)
        if odd := [m for m in group_of if m not in known]:
            raise ValueError(f"level '{level}' groups {odd[0]!r}, which is no bin of the column")
        return tuple(group_of[b] for b in self.bins)

    def _check_nested(self, level: int, finer: Ints) -> Ints:
        """Check that each group of the finer level lies in one group of this one; the codes of this one."""
        codes, labels = self._codes[level]
        pairs = np.unique(np.stack([finer, codes]), axis=1)
        _, first, times = np.unique(pairs[0], return_index=True, return_counts=True)
        if (times > 1).any():
            where = int(np.argmax(times > 1))
            group = labels[int(pairs[1][first[where]])]
            name = list(self.levels)[level - 1]
            raise ValueError(
                f"level '{name}' cuts through a finer group (near {group!r}); levels go from coarse to fine"
            )
        return codes


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
    """A category that is an area on a map: `map` is a GeoJSON file, `key` the property that holds the value."""

    kind: Literal["place"] = "place"  # type: ignore[assignment]
    map: str | None = None
    key: str | None = None


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
