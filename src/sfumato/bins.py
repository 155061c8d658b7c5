"""Columns and their bins: what all kinds of column have in common; `sfumato.columns` has the kinds.

Every column but the person id has a fixed list of *bins*, coded 0..k-1, and a hierarchy of *levels* above them: level 0
holds everything in one bin, the last level (`depth`) holds the bins themselves. Two levels are there without asking;
more can be named, coarse to fine.
"""

from __future__ import annotations

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
