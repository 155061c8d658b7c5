"""Gini and pay gap, the third part of the 2018 challenge: is inequality the same, group by group?

Wages are taken as they are, record by record, those below `below` where it is given (the challenge took INCWAGE below
999,998). For the C groups that the truth has:

- **Gini.** With wages w_1 ≤ … ≤ w_n of a group and W their sum, G = 1 − 2·Σ_k (w_1 + … + w_k)/(n·W); 0 where W is 0.
  The score is 5e5·√(Σ (1 − |ΔG|)²/C).
- **Pay gap.** Mean wage of the first sex − mean wage of the second, where a mean of nobody is 0. Groups are ranked by
  it, the widest first; ties go by the order of the groups in the schema. The score is
  5e5·√(Σ max(0, 1 − |Δrank|/(C − 1))²/C).

Groups that the synthetic table lacks add 0. The two together, 0 to 1e6, are the challenge's third score.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.coding import Encoding, as_number, quote
from sfumato.columns import Binned, Category, Floats, Ints, Number, Place
from sfumato.errors import InputError
from sfumato.marginal import Axis
from sfumato.metrics.codes import opened
from sfumato.metrics.listing import headline, listing
from sfumato.schema import Schema

if TYPE_CHECKING:
    from rich.console import RenderableType

FULL = 5e5  # the points of each half
_AT_MOST_TIMES = 1e15  # a wage beyond is no wage


@dataclass(frozen=True)
class InequalityScore:
    """The score; each group with its figure in truth and synthetic (None where it is missing), the worst first."""

    metric: str
    value: float
    figure: str
    groups: tuple[tuple[str, float, float | None], ...]

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        groups = [{"group": name, "truth": a, "synthetic": b} for name, a, b in self.groups]
        return {"metric": self.metric, "value": self.value, "figure": self.figure, "groups": groups}

    def render(self, top: int) -> RenderableType:
        """The score and the worst groups."""
        from rich.console import Group

        line = headline(self.metric, f"{self.value:,.0f}", f"of {FULL:,.0f}; {len(self.groups):,} groups")
        rows = [(name, f"{a:.4g}", "missing" if b is None else f"{b:.4g}") for name, a, b in self.groups[:top]]
        grid = listing(["group", f"{self.figure}, truth#", "synthetic#"], rows)
        return Group(line, grid) if rows else Group(line)


@dataclass(frozen=True)
class Gini:
    """The Gini half: `by` names the column of groups (the first place unless told), `wage` the column of wages.

    >>> import pyarrow as pa
    >>> schema = Schema(columns=(Place(name="city", values=(1, 2)), Number(name="wage", edges=(0, None))))
    >>> truth = pa.table({"city": [1, 1, 2], "wage": [10, 30, 20]})
    >>> Gini(schema).score(truth, truth).value
    500000.0
    """

    schema: Schema
    by: str | None = None
    wage: str | None = None
    below: float | None = None

    def score(self, truth: Any, synthetic: Any) -> InequalityScore:
        """How alike the Gini coefficients of the groups are."""
        wages = _Wages(self.schema, self.by, self.wage, self.below)
        a, b = (wages.by_group(data) for data in (truth, synthetic))
        true, made = ({g: gini(w, n) for g, (w, n, _) in found.items()} for found in (a, b))
        points = {g: 1 - abs(true[g] - made[g]) if g in made else 0.0 for g in true}
        return wages.scored("gini", "Gini", points, true, made)


@dataclass(frozen=True)
class PayRank:
    """The pay-gap half: as `Gini`, and `sex` names the column whose first two values are compared unless `sexes` does.

    >>> import pyarrow as pa
    >>> schema = Schema(columns=(Place(name="city", values=(1, 2)), Category(name="sex", values=(1, 2)),
    ...     Number(name="wage", edges=(0, None))))
    >>> truth = pa.table({"city": [1, 1, 2, 2], "sex": [1, 2, 1, 2], "wage": [30, 10, 20, 20]})
    >>> PayRank(schema).score(truth, truth).value
    500000.0
    """

    schema: Schema
    by: str | None = None
    wage: str | None = None
    sex: str = "sex"
    sexes: tuple[str, ...] | None = None
    below: float | None = None

    def score(self, truth: Any, synthetic: Any) -> InequalityScore:
        """How alike the groups are ranked by pay gap."""
        wages = _Wages(self.schema, self.by, self.wage, self.below, self.sex)
        first, second = self._sexes()
        a, b = (wages.by_group(data) for data in (truth, synthetic))
        true, made = (
            {g: _mean(w, n * (s == first)) - _mean(w, n * (s == second)) for g, (w, n, s) in found.items()}
            for found in (a, b)
        )
        at, now = _ranks(true), _ranks(made)
        points = {g: max(0.0, 1 - abs(at[g] - now[g]) / max(1, len(at) - 1)) if g in now else 0.0 for g in at}
        return wages.scored("payrank", "pay gap", points, true, made)

    def _sexes(self) -> tuple[int, int]:
        labels = [str(v) for v in self.schema[self.sex].bins]
        wanted = self.sexes or labels[:2]
        if len(wanted) != 2 or any(str(v) not in labels for v in wanted) or len(set(wanted)) < 2:
            raise InputError(f"the pay gap is between two values of '{self.sex}', which has {', '.join(labels[:8])}")
        return labels.index(str(wanted[0])), labels.index(str(wanted[1]))


def gini(wages: Floats, times: Ints) -> float:
    """The Gini coefficient of wages, given in increasing order with how often each comes; 0 where all are 0.

    >>> gini(np.array([10.0, 30.0]), np.array([1, 1]))
    -0.25
    """
    part = wages * times
    before = np.cumsum(part) - part
    total = float(part.sum())
    if total == 0:
        return 0.0
    sums = float((times * before + wages * times * (times + 1.0) / 2).sum())
    return 1 - 2 * sums / (float(times.sum()) * total)


def _mean(wages: Floats, times: Ints) -> float:
    return float((wages * times).sum() / times.sum()) if times.sum() else 0.0


def _ranks(gaps: dict[int, float]) -> dict[int, int]:
    """The rank of each group, the widest gap first."""
    return {g: i for i, g in enumerate(sorted(gaps, key=lambda g: (-gaps[g], g)))}


class _Wages:
    """Wages by group, counted in the engine: how often each comes, and for whom."""

    def __init__(
        self, schema: Schema, by: str | None, wage: str | None, below: float | None, sex: str | None = None
    ) -> None:
        place = next((c.name for c in schema.of_kind(Place)), None)
        number = next((c.name for c in schema.of_kind(Number)), None)
        if (by or place) is None:
            raise InputError("the schema has no place; say which column tells groups apart as by=city")
        if (wage or number) is None:
            raise InputError("the schema has no number; say which column holds wages as wage=income")
        axis = Axis.parse(str(by or place))
        self.schema, self.below = schema, below
        self.by: Binned = schema[axis.column]
        self.level = self.by.level(axis.level)
        self.wage = schema[str(wage or number)]
        self.sex = None if sex is None else schema[sex]
        if not isinstance(self.wage, Number):
            raise InputError(f"column '{self.wage.name}' holds no numbers; wages are numbers")
        if self.sex is not None and not isinstance(self.sex, Category):
            raise InputError(f"column '{sex}' is no category; say which is as sex=gender")

    def by_group(self, data: Any) -> dict[int, tuple[Floats, Ints, Ints]]:
        """For each group that has any: its wages in increasing order, how often each comes, and for which sex."""
        used = [self.by.name, self.wage.name, *([self.sex.name] if self.sex else [])]
        table = opened(data, self.schema, used)
        families, encoding = table.engine.families, Encoding()
        (source,) = self.wage.sources
        wage = encoding.value(as_number(f"s.{quote(source)}", families[source]))
        group = encoding.code(self.by, self.level, families)
        sex = encoding.code(self.sex, self.sex.depth, families) if self.sex else "0"
        where = "TRUE" if table.condition == "TRUE" else encoding.value(table.condition)
        limits = f"{wage} BETWEEN -{_AT_MOST_TIMES!r} AND {_AT_MOST_TIMES!r}"  # leaves NaN and NULL out too
        limits += "".join(f" AND {wage} <> {m!r}" for m in getattr(self.wage, "marks", ()))
        if self.below is not None:
            if not math.isfinite(self.below):
                raise InputError(f"below is {self.below}; give a number")
            limits += f" AND {wage} < {self.below!r}"
        inner = encoding.query(
            "source", f"{group} AS g, {wage} AS w, COALESCE({sex}, -1) AS s", f"{limits} AND {where}"
        )
        found = table.engine.run(
            f"SELECT g, w, s, COUNT(*) AS n FROM ({inner}) AS e WHERE g IS NOT NULL GROUP BY g, w, s ORDER BY g, w, s"
        )
        g, w, s, n = (found.column(i).to_numpy() for i in range(4))
        edges = np.flatnonzero(np.diff(g, prepend=-1, append=-1)) if len(g) else np.zeros(1, np.int64)
        return {
            int(g[a]): (w[a:b].astype(float), n[a:b].astype(np.int64), s[a:b].astype(np.int64))
            for a, b in itertools.pairwise(edges)
        }

    def scored(
        self, metric: str, figure: str, points: dict[int, float], true: dict[int, float], made: dict[int, float]
    ) -> InequalityScore:
        """The score of what each group is worth (0..1)."""
        if not points:
            raise InputError("the truth has no wages in any group; give a table with some")
        value = FULL * math.sqrt(math.fsum(p * p for p in points.values()) / len(points))
        worst = sorted(points, key=lambda g: (points[g], g))
        groups = tuple((self.by.title(g, self.level), true[g], made.get(g)) for g in worst)
        return InequalityScore(metric, value, figure, groups)
