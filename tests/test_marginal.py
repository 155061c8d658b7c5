"""Marginals and their tables of numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import sfumato as sf
from sfumato.errors import InputError
from sfumato.marginal import MAX_CELLS, Axis, Counts, Marginal
from tests.strategies import marginals, schemas

SCHEMA = sf.Schema(
    columns=(
        sf.Category(name="a", values=(1, 2, 3), levels={"half": ("x", "x", "y")}),
        sf.Category(name="b", values=("p", "q")),
    )
)


def test_an_axis_is_written_as_column_at_level():
    """`column`, `column@name` and `column@number`; the text form is read back."""
    assert Axis.parse("a") == Axis("a")
    assert Axis.parse("a@half") == Axis("a", "half")
    assert Axis.parse("a@1") == Axis("a", 1)
    assert Axis.parse("a@²") == Axis("a", "²")
    assert Axis.parse("a@" + "9" * 5000).level == "9" * 5000
    assert [str(Axis.parse(x)) for x in ("a", "a@half", "a@1")] == ["a", "a@half", "a@1"]


def test_a_marginal_has_a_cell_for_each_combination_of_bins():
    """Shape and size follow the levels; the name joins the axes."""
    marginal = Marginal.of("b", "a@half")
    assert (marginal.shape(SCHEMA), marginal.size(SCHEMA), str(marginal)) == ((2, 2), 4, "b × a@half")
    assert Marginal.of("b", Axis("a")).shape(SCHEMA) == (2, 3)
    assert Marginal.of("a@0").shape(SCHEMA) == (1,)


@given(st.data())
def test_a_marginals_shape_is_that_of_its_levels(data):
    """For any schema: a size for each axis, that of its column at its level, and their product."""
    schema = data.draw(schemas())
    marginal = data.draw(marginals(schema))
    want = [len(set(schema[a.column].coarsen(a.level).tolist())) for a in marginal.axes]
    assert list(marginal.shape(schema)) == want
    assert marginal.size(schema) == np.prod(want)
    marginal.check(schema)


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda: Marginal.of(), "a marginal needs at least one column"),
        (lambda: Marginal.of("a", "b", "a@half"), "the marginal a × b × a@half names a column twice"),
        (lambda: Marginal.of("c").check(SCHEMA), "the schema has no column 'c' with bins; it has a, b"),
        (lambda: Marginal.of("a@town").check(SCHEMA), "column 'a' has no level 'town'; it has 0, 1 (half), 2"),
        (lambda: Marginal.of("a@3").check(SCHEMA), "column 'a' has no level 3; it has 0, 1 (half), 2"),
        (lambda: Counts(Marginal.of("a"), np.zeros(3)).project("b"), "the marginal a has no column 'b'"),
        (
            lambda: Counts(Marginal.of("a"), np.zeros(3)).project("a", "a"),
            "the projection on a, a names a column twice",
        ),
    ],
)
def test_a_marginal_that_cannot_be_is_said_so(ask, text):
    """No columns, a column twice, an unknown column or level."""
    with pytest.raises(InputError) as caught:
        ask()
    assert str(caught.value) == text


def test_a_table_of_counts_that_cannot_fit_is_refused():
    """2^27 cells fit; more are refused with their number, before anything is made."""
    columns = tuple(sf.Category(name=f"c{i}", values=(0, 1)) for i in range(28))
    schema = sf.Schema(columns=columns)
    Marginal.of(*schema.names[:27]).check(schema)
    with pytest.raises(InputError, match="has 268,435,456 cells, more than the 134,217,728 that fit"):
        Marginal.of(*schema.names).check(schema)
    assert MAX_CELLS == 2**27


@given(st.data())
def test_projection_sums_out_the_other_axes_in_the_order_asked_for(data):
    """Equal to einsum, for every choice and order of columns."""
    values = data.draw(hnp.arrays(np.int64, hnp.array_shapes(max_dims=5, max_side=4), elements=st.integers(-99, 99)))
    letters = "abcde"[: values.ndim]
    kept = data.draw(st.permutations(letters))[: data.draw(st.integers(1, values.ndim))]
    counts = Counts(Marginal.of(*letters), values).project(*kept)
    assert (counts.values == np.einsum(f"{letters}->{''.join(kept)}", values)).all()
    assert counts.marginal == Marginal.of(*kept)
    assert counts.total == values.sum()


@given(st.data())
def test_projection_in_steps_is_projection_at_once(data):
    """Summing axes one after the other gives the same as together, and levels go along with their axes."""
    values = data.draw(hnp.arrays(np.int64, (2, 3, 4), elements=st.integers(0, 99)))
    counts = Counts(Marginal.of("a@1", "b", "c@x"), values)
    first, then = data.draw(st.permutations("abc"))[:2]
    assert (counts.project(first, then).project(then).values == counts.project(then).values).all()
    assert str(counts.project("c", "a").marginal) == "c@x × a@1"
