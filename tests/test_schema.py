"""What each column may hold: bins, levels, distances, the JSON form, and errors that name column and value."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.columns import Binned
from sfumato.errors import InputError
from sfumato.schema import dumps
from tests.strategies import TEXTS, binned, inside, numbers, schemas


def own(**columns):
    return {"sfumato": "schema", "version": 1, "columns": columns}


# ------------------------------------------------------------------ bins


def test_a_category_has_its_values_as_bins_and_names_for_people():
    """The values are the bins, in their order; names are what a person reads."""
    area = sf.Category(name="area", values=(5, 3, 9), names=("five", "three", "nine"))
    assert area.bins == area.labels() == (5, 3, 9)
    assert [area.title(i) for i in range(3)] == ["five", "three", "nine"]
    assert sf.Category(name="area", values=(5, 3)).title(1) == "3"


@pytest.mark.parametrize(
    ("settings", "bins"),
    [
        ({"edges": (0, 10, 20)}, ("[0, 10)", "[10, 20)")),
        ({"edges": (0, 10, 20), "closed": "right"}, ("(0, 10]", "(10, 20]")),
        ({"edges": (None, 0, 2.5, None)}, ("[−∞, 0)", "[0, 2.5)", "[2.5, ∞)")),
        ({"edges": (0, 10), "missing": (-1,)}, ("missing", "[0, 10)")),
        ({"edges": (None, None)}, ("[−∞, ∞)",)),
        (
            {"edges": (1234567890123, 1234567890124, None)},
            ("[1234567890123.0, 1234567890124.0)", "[1234567890124.0, ∞)"),
        ),
    ],
)
def test_a_number_has_a_bin_between_each_two_edges_after_that_for_missing(settings, bins):
    """Edges are cut points, null is open, and the bin of missing values comes first."""
    assert sf.Number(name="x", **settings).bins == bins


@given(st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=9, unique=True).map(sorted))
def test_no_two_bins_of_a_number_have_the_same_label(edges):
    """Labels are long enough to tell neighbouring edges apart."""
    bins = sf.Number(name="x", edges=tuple(edges)).bins
    assert len(set(bins)) == len(edges) - 1


@pytest.mark.parametrize(
    ("settings", "bins"),
    [
        ({"part": "month"}, tuple(range(1, 13))),
        ({"part": "weekday"}, tuple(range(7))),
        ({"part": "hour"}, tuple(range(24))),
        ({"part": "weekday_part"}, tuple(range(21))),
        ({"part": "weekday_part", "hours": (0, 12)}, tuple(range(14))),
        ({"part": "year_month", "months": ((2019, 12), (2020, 1))}, ("2019-12", "2020-01")),
        (
            {
                "part": "period",
                "periods": (
                    {"start": "2020-01-01", "end": "2020-03-01", "name": "before"},
                    {"start": "2020-03-01", "end": "2020-06-01"},
                ),
            },
            ("before", "2020-03-01 00:00:00 to 2020-06-01 00:00:00"),
        ),
    ],
)
def test_a_time_has_the_bins_of_its_part(settings, bins):
    """Months count from 1, weekdays and hours from 0; custom periods go by their names."""
    assert sf.Time(name="t", **settings).bins == bins


def test_time_is_a_circle_in_a_week_and_a_day_and_a_line_elsewhere():
    """Weekday, hour and part of the week wrap round unless told otherwise."""
    cyclic = {part: sf.Time(name="t", part=part).is_cyclic for part in ("month", "weekday", "hour", "weekday_part")}
    assert cyclic == {"month": False, "weekday": True, "hour": True, "weekday_part": True}
    assert sf.Time(name="t", part="month", cyclic=True).is_cyclic
    assert not sf.Time(name="t", part="hour", cyclic=False).is_cyclic


def test_year_and_month_can_be_two_columns_of_the_data():
    """`year` and `month` name the columns to read, in place of a timestamp."""
    period = sf.Time(name="p", part="year_month", year="Y", month="M", months=((2019, 1),))
    assert period.sources == ("Y", "M")
    assert sf.Time(name="p", part="hour", source="when").sources == ("when",)
    assert sf.Time(name="p", part="hour").sources == ("p",)


# ------------------------------------------------------------------ levels


def test_without_asking_there_are_two_levels():
    """Level 0 holds everything; the finest level, 1, holds the bins."""
    area = sf.Category(name="area", values=(5, 3, 9))
    assert area.depth == 1
    assert (area.size(0), area.labels(0), area.coarsen(0).tolist()) == (1, ("all",), [0, 0, 0])
    assert (area.size(), area.coarsen().tolist()) == (3, [0, 1, 2])


SIDES = {"side": {"north": ("a", "c"), "south": ("b",)}, "half": ("x", "z", "y")}


@pytest.mark.parametrize("form", [SIDES["side"], ("north", "south", "north")])
def test_a_level_is_a_group_for_each_bin_or_the_bins_of_each_group(form):
    """Both forms of a level mean the same; groups need not be of one size nor neighbours."""
    area = sf.Category(name="area", values=("a", "b", "c"), levels={"side": form, "half": SIDES["half"]})
    assert (area.depth, area.size("side"), area.size(2)) == (3, 2, 3)
    assert area.labels("side") == area.labels(1) == ("north", "south")
    assert area.coarsen("side").tolist() == [0, 1, 0]
    assert area.coarsen("half").tolist() == [0, 1, 2]


def test_a_level_is_called_by_number_or_by_name():
    """Levels are numbered coarse to fine; one that is not there is named along with those that are."""
    area = sf.Category(name="area", values=("a", "b", "c"), levels=SIDES)
    assert [area.level(x) for x in (None, 0, "side", "half", 3)] == [3, 0, 1, 2, 3]
    for odd in ("town", 4, -1):
        with pytest.raises(InputError, match=r"column 'area' has no level .*; it has 0, 1 \(side\), 2 \(half\), 3$"):
            area.level(odd)


# ------------------------------------------------------------------ distance


def groups_of(column: Binned, name: str):
    """The group of each bin at a named level, read off the definition."""
    given = column.levels[name]
    if isinstance(given, dict):
        return [next(g for g, members in given.items() if b in members) for b in column.bins]
    return list(given)


def slow_distance(column: Binned, t: int):
    """facts.md B.7 word by word: over the bins, one pair after the other."""
    paths = [["all"] * len(column.bins)]
    paths += [groups_of(column, name) for name in column.levels]
    paths += [list(column.bins)]
    at_t = list(dict.fromkeys(paths[t]))
    first = [paths[t].index(label) for label in at_t]
    k = len(at_t)
    out = np.zeros((k, k))
    for i, j in itertools.product(range(k), repeat=2):
        if i == j:
            continue
        if column.is_cyclic:
            out[i, j] = min(abs(i - j), k - abs(i - j)) / (k // 2)
        elif column.is_ordered:
            out[i, j] = abs(i - j) / (k - 1)
        else:
            s = max(s for s in range(t + 1) if paths[s][first[i]] == paths[s][first[j]])
            out[i, j] = (t - s) / t
    return out


@given(binned())
@settings(max_examples=200)
def test_distance_is_that_of_the_published_definition_at_every_level(column):
    """|i−j|/(k−1), round the circle over ⌊k/2⌋, or (t−s)/t: equal to a slow direct reading of it."""
    for t in range(column.depth + 1):
        np.testing.assert_allclose(column.distance(t), slow_distance(column, t), atol=1e-12)


@given(binned())
def test_distance_is_a_metric_from_zero_to_one(column):
    """Zero on the diagonal, symmetric, at most 1, and no detour is shorter."""
    for t in range(column.depth + 1):
        d = column.distance(t)
        assert (np.diag(d) == 0).all()
        assert (d == d.T).all()
        assert d.max() <= 1
        if len(d) > 1:
            assert (d + np.eye(len(d)) > 0).all()
        if len(d) < 30:
            assert (d[:, :, None] + d[None, :, :] >= d[:, None, :] - 1e-12).all()


def test_distance_of_cities_and_hours_known_by_hand():
    """Cities of one state are ½ apart, of two states 1; hour 23 is next to hour 0, hour 12 across from it."""
    city = sf.Category(name="city", values=("LA", "SF", "NY"), levels={"state": ("CA", "CA", "NY")})
    assert city.distance().tolist() == [[0, 0.5, 1], [0.5, 0, 1], [1, 1, 0]]
    assert city.distance("state").tolist() == [[0, 1], [1, 0]]
    assert city.distance(0).tolist() == [[0]]
    hour = sf.Time(name="t", part="hour").distance()
    assert hour[0, [1, 12, 23]].tolist() == [1 / 12, 1, 1 / 12]
    odd = sf.Category(name="d", values=tuple(range(7)), cyclic=True).distance()
    assert odd[0].tolist() == [0, 1 / 3, 2 / 3, 1, 1, 2 / 3, 1 / 3]


# ------------------------------------------------------------------ numbers


@given(numbers(), st.data())
def test_the_bin_of_a_number_is_the_interval_it_lies_in(column, data):
    """`code` is the one interval that holds the number, clipped or left out at closed ends, markers first."""
    edges = [e for e in (*column.edges, *column.missing) if e is not None] or [0.0]
    x = data.draw(st.sampled_from(edges) | st.floats(-1e9, 1e9))
    spans = list(itertools.pairwise(column.edges))
    shift = bool(column.missing)

    def holds(low, high):
        above = low is None or (low <= x if column.closed == "left" else low < x)
        below = high is None or (x < high if column.closed == "left" else x <= high)
        return above and below

    low, high = column.ends
    if x in column.missing:
        want = 0
    elif column.outside == "drop" and not low <= x <= high:
        want = -1
    else:
        want = next((i for i, span in enumerate(spans) if holds(*span)), len(spans) - 1 if x >= high else 0) + shift
    assert column.code([x]).tolist() == [want]


# ------------------------------------------------------------------ JSON


@given(schemas())
@settings(max_examples=200)
def test_a_schema_survives_its_json_form(schema):
    """What is written is read back as an equal schema, with equal levels and distances."""
    again = sf.Schema.from_dict(json.loads(dumps(schema.to_dict())))
    assert again == schema
    for mine, theirs in zip(schema.attributes, again.attributes, strict=True):
        assert mine.bins == theirs.bins
        for level in range(mine.depth + 1):
            assert mine.labels(level) == theirs.labels(level)
            assert (mine.coarsen(level) == theirs.coarsen(level)).all()


def test_schemas_are_equal_when_they_say_the_same():
    """Equality and hash follow what is written, the order of levels included, whatever has been asked for before."""
    levels = {"l": ("x", "x"), "m": ("y", "y")}
    one, two = (sf.Category(name="a", values=(1, 2), levels=levels) for _ in range(2))
    assert one.distance().tolist() == two.distance().tolist()
    assert one == two
    assert len({one, two}) == 1
    assert one != sf.Category(name="a", values=(1, 2), levels=dict(reversed(levels.items())))
    assert one != sf.Place(name="a", values=(1, 2), levels=levels)
    assert sf.Schema(columns=(one,)) == sf.Schema(columns=(two,))
    assert one != 1


def test_a_schema_survives_its_file(tmp_path):
    """Texts with blanks, brackets, quotes and all alphabets come back from a file as they were."""
    values = ("a  b", "[ 1 ]", "[1,\t2]", 'say "x"', "Köln", "東京", "a\\b", "{ }", "null")
    schema = sf.Schema(columns=(sf.Category(name="[ x ]", values=values, names=values),))
    schema.save(tmp_path / "s.json")
    assert sf.Schema.load(tmp_path / "s.json") == schema
    text = (tmp_path / "s.json").read_text(encoding="utf-8")
    assert "東京" in text
    assert len(text.splitlines()) < 15


@given(
    st.recursive(st.none() | st.integers() | TEXTS, lambda x: st.lists(x) | st.dictionaries(TEXTS, x), max_leaves=20)
)
def test_json_for_people_is_json(document):
    """The readable writing says what the plain one says."""
    assert json.loads(dumps(document)) == document


def test_the_json_form_holds_what_is_not_default_and_its_version():
    """The written form is short, and says which version of it this is."""
    schema = sf.Schema(columns=(sf.Person(name="who"), sf.Number(name="x", edges=(0, None), integer=True)))
    assert schema.to_dict() == own(who={"kind": "person"}, x={"kind": "number", "edges": [0.0, None], "integer": True})


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ([], "f.json holds no schema: an object is needed, not a list"),
        ({}, 'f.json is no schema: it needs {"sfumato": "schema", "version": 1, "columns": …}'),
        (own() | {"version": 2}, "f.json is schema version 2; this Sfumato reads version 1"),
        ({"sfumato": "schema", "columns": {}}, "f.json is schema version None; this Sfumato reads version 1"),
        ({"sfumato": "schema", "version": 1}, "f.json: columns is an object with a key for each column"),
        (own(), "f.json: columns: must not be empty"),
        (own(who={"kind": "person"}), "f.json: there is no column beside the person id"),
        (own(a=[]), "f.json: column 'a' is described by an object, not by []"),
        (own(a={"name": "b"}), "f.json: column 'a': the key is the name; take 'name' out"),
        (own(a={}), "f.json: column 'a': kind is missing; it is one of person, category, place, number, time"),
        (
            own(a={"kind": "catgory"}),
            "f.json: column 'a': kind is one of person, category, place, number, time, not 'catgory'",
        ),
        (own(a={"kind": "category"}), "f.json: column 'a': 'values' is missing"),
        (own(a={"kind": "category", "values": []}), "f.json: column 'a': values: must not be empty"),
        (own(a={"kind": "category", "values": 7}), "f.json: column 'a': values: a list is needed (got 7)"),
        (
            own(a={"kind": "category", "values": [1, None]}),
            "f.json: column 'a': values.1: a whole number or a text is needed (got None)",
        ),
        (
            own(a={"kind": "category", "values": [1], "orderd": True}),
            "f.json: column 'a': unknown key 'orderd'; take it out or mend its spelling",
        ),
        (
            own(p={"kind": "person"}, q={"kind": "person"}, a={"kind": "category", "values": [1]}),
            "f.json: 'p' and 'q' are both the person id; a table has one",
        ),
        (
            own(a={"kind": "number", "edges": [0, "ten"]}),
            "f.json: column 'a': edges.1: input should be a valid number, unable to parse string "
            "as a number (got 'ten')",
        ),
        (
            own(a={"kind": "number", "edges": [0, 10], "decode": [{"values": []}]}),
            "f.json: column 'a': decode.0: values: must not be empty",
        ),
        (
            own(a={"kind": "category", "values": [1]}) | {"max_records_per_person": True},
            "f.json: max_records_per_person: input should be a valid integer (got True)",
        ),
        (
            own(a={"kind": "category", "values": [1]}) | {"colour": "red"},
            "f.json: unknown key 'colour'; take it out or mend its spelling",
        ),
    ],
)
def test_an_error_in_a_document_names_file_column_and_value(document, text):
    """One sentence says where the mistake is and what stands there."""
    with pytest.raises(InputError) as caught:
        sf.Schema.from_dict(document, where="f.json")
    assert str(caught.value) == text


C, N, T = sf.Category, sf.Number, sf.Time


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: C(name="a", values=()), "column 'a': values: must not be empty"),
        (lambda: C(values=(1,)), "'name' is missing"),
        (lambda: C(name="", values=(1,)), "name: must not be empty"),
        (lambda: C(name="a", values=(1, 2, 1)), "column 'a': value 1 stands twice"),
        (
            lambda: C(name="a", values=(1, "1")),
            "column 'a': values are all whole numbers or all text; this list mixes both",
        ),
        (lambda: C(name="a", values=(1, True)), "column 'a': values.1: a whole number or a text is needed (got True)"),
        (lambda: C(name="a", values=(1, 2.0)), "column 'a': values.1: a whole number or a text is needed (got 2.0)"),
        (lambda: C(name="a", values=(1, 2), names=("x",)), "column 'a': 1 names for 2 values; give one for each"),
        (lambda: C(name="a", values=(1, 2), other=3), "column 'a': other is 3, which is none of the values"),
        (
            lambda: C(name="a", values=("x ", "y")),
            "column 'a': value 'x ' begins or ends with a blank, which does not count; take it off",
        ),
        (
            lambda: C(name="a@b", values=(1,)),
            "column 'a@b': name: has no '@' in it, which stands before a level; say 'source' for the data's own name",
        ),
        (
            lambda: C(name="a", values=(1, 2), levels={"l": ("x",)}),
            "column 'a': level 'l' has 1 groups for 2 bins; give one for each",
        ),
        (
            lambda: C(name="a", values=(1, 2), levels={"l": {"x": (1,)}}),
            "column 'a': level 'l' leaves 2 out; every bin needs a group (uniform depth)",
        ),
        (
            lambda: C(name="a", values=(1, 2), levels={"l": {"x": (1,), "y": (2, 3)}}),
            "column 'a': level 'l' groups 3, which is no bin of the column",
        ),
        (
            lambda: C(name="a", values=(1, 2), levels={"l": {"x": (1, 2), "y": (2,)}}),
            "column 'a': level 'l' puts 2 into two groups",
        ),
        (
            lambda: C(name="a", values=(1, 2, 3), levels={"l": ("x", "y", "y"), "m": ("p", "p", "q")}),
            "column 'a': level 'l' cuts through a finer group (near 'x'); levels go from coarse to fine",
        ),
        (
            lambda: C(name="a", values=(1, 2), levels={"12": ("x", "y")}),
            "column 'a': level '12' needs another name: one that is no number and has no '@' in it",
        ),
        (lambda: N(name="x", edges=(1,)), "column 'x': edges: at least 2 are needed (got (1,))"),
        (lambda: N(name="x", edges=(0, 0)), "column 'x': edges must increase, but 0 comes after 0"),
        (lambda: N(name="x", edges=(0, 5, 3)), "column 'x': edges must increase, but 3 comes after 5"),
        (lambda: N(name="x", edges=(0, None, 3)), "column 'x': only the first and the last edge may be null (open)"),
        (
            lambda: N(name="x", edges=(0, float("nan"))),
            "column 'x': edges.1: input should be a finite number (got nan)",
        ),
        (lambda: N(name="x", edges=(0, 1e301)), "column 'x': 1e+301 is too large for an edge or a marker"),
        (
            lambda: N(name="x", edges=(0, 0.2, 0.6, 2), integer=True),
            "column 'x': the bin [0.2, 0.6) holds no whole number; take an edge out, or 'integer'",
        ),
        (
            lambda: N(name="x", edges=(-1, 0, 2), missing=(-1,), integer=True),
            "column 'x': the bin [-1, 0) holds no whole number; take an edge out, or 'integer'",
        ),
        (
            lambda: N(name="x", edges=(0, 2), missing=(-0.5,), integer=True),
            "column 'x': missing is -0.5, but the column holds whole numbers",
        ),
        (
            lambda: N(name="x", edges=(0, 1e16), integer=True),
            "column 'x': 1e+16 is too large for a column of whole numbers",
        ),
        (
            lambda: N(name="x", edges=(0, 1, 2), decode=(sf.Shares(values=(0,)),)),
            "column 'x': decode has 1 distributions for 2 bins; give one for each",
        ),
        (
            lambda: N(name="x", edges=(0, 1, 2), decode=(sf.Shares(values=(0,)), sf.Shares(values=(1, 0.5)))),
            "column 'x': decode gives 0.5 to the bin [1, 2), where it is not",
        ),
        (
            lambda: N(name="x", edges=(0, 2), decode=(sf.Shares(values=(0.5,)),), integer=True),
            "column 'x': decode gives 0.5, but the column holds whole numbers",
        ),
        (lambda: sf.Shares(values=(1, 2), weights=(1,)), "1 weights for 2 values"),
        (
            lambda: sf.Shares(values=(1, 2), weights=(0, 0)),
            "weights are not negative, not all zero, and have a finite sum",
        ),
        (
            lambda: sf.Shares(values=(1, 2), weights=(2, -1)),
            "weights are not negative, not all zero, and have a finite sum",
        ),
        (lambda: T(name="t", part="period"), "column 't': has no bins; a column needs at least one value"),
        (lambda: T(name="t", part="hour", hours=()), "column 't': hours begin with 0 and increase up to 23; got []"),
        (
            lambda: T(name="t", part="hour", hours=(1, 9)),
            "column 't': hours begin with 0 and increase up to 23; got [1, 9]",
        ),
        (
            lambda: T(name="t", part="hour", hours=(0, 24)),
            "column 't': hours begin with 0 and increase up to 23; got [0, 24]",
        ),
        (
            lambda: T(name="t", part="year_month", months=((2019, 13),)),
            "column 't': months are [year, month] with a month from 1 to 12; got [2019, 13]",
        ),
        (
            lambda: T(name="t", part="year_month", months=((2019, 1), (2019, 1))),
            "column 't': the same year_month stands twice",
        ),
        (lambda: T(name="t", part="hour", year="y"), "column 't': year and month are named together"),
        (
            lambda: T(name="t", part="hour", year="y", month="m"),
            "column 't': year and month go with part 'year_month', without a source",
        ),
        (
            lambda: T(
                name="t",
                part="period",
                periods=(
                    {"start": "2020-01-01", "end": "2020-02-02", "name": "a"},
                    {"start": "2020-02-01", "end": "2021-01-01", "name": "b"},
                ),
            ),
            "column 't': the periods 'a' and 'b' overlap",
        ),
        (
            lambda: sf.Period(start="2020-01-01", end="2020-01-01"),
            "ends (2020-01-01 00:00:00) before it starts (2020-01-01 00:00:00)",
        ),
        (
            lambda: sf.Period(start="2020-01-01T00:00:00Z", end="2021-01-01"),
            "start and end are local wall-clock times, without a time zone",
        ),
        (lambda: sf.Schema(columns=()), "columns: must not be empty"),
        (lambda: sf.Schema(columns=(C(name="a", values=(1,)),) * 2), "column 'a' stands twice"),
        (
            lambda: sf.Schema(columns=({"kind": "category", "name": "a", "values": (1, 1)},)),
            "column 'a': value 1 stands twice",
        ),
        (
            lambda: sf.Schema(
                columns=(
                    T(name="t", part="year_month", months=((2019, 1),), year="year", month="month"),
                    C(name="month", values=(1, 2)),
                )
            ),
            "column 'month' is read by 't' already; take one of the two out",
        ),
    ],
)
def test_a_bad_description_in_python_is_an_input_error_of_the_same_words(make, text):
    """Columns made in Python are checked as those in files are, and raise InputError, never pydantic's own."""
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value) == text


def test_a_text_on_several_lines_gives_an_error_on_one():
    """Names from a file cannot break the sentence into lines, nor make it endless."""
    with pytest.raises(InputError) as caught:
        sf.Schema.from_dict(own(**{"a\nb" + "c" * 10_000: 3}))
    assert "a\\nb" in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 3_000


# ------------------------------------------------------------------ looking things up


SCHEMA = sf.Schema(columns=(C(name="a", values=(1,)), sf.Person(name="who"), N(name="x", edges=(0, 1))))


def test_a_schema_is_asked_for_columns_by_name():
    """Columns with bins are found by name; the person id is kept apart."""
    assert SCHEMA.names == ("a", "x")
    assert SCHEMA["x"].kind == "number"
    assert "a" in SCHEMA
    assert "who" not in SCHEMA
    assert SCHEMA.person is not None
    assert SCHEMA.person.name == "who"
    assert [c.name for c in SCHEMA.of_kind(sf.Number)] == ["x"]
    for name in ("who", "b"):
        with pytest.raises(InputError, match=f"^the schema has no column '{name}' with bins; it has a, x$"):
            SCHEMA[name]


def test_some_columns_of_a_schema_keep_the_person():
    """A selection keeps the order, the person id and the limit; an unknown name is an error."""
    assert [c.name for c in SCHEMA.select(["x"]).columns] == ["who", "x"]
    with pytest.raises(InputError, match="no column 'b'"):
        SCHEMA.select(["b"])


def test_a_description_cannot_be_changed_afterwards():
    """Schemas and columns are frozen: what was checked stays so."""
    with pytest.raises(ValueError, match="frozen"):
        SCHEMA.max_records_per_person = 7


@given(numbers())
@example(N(name="x", edges=(None, 0, 10, None)))
def test_numbers_given_for_a_bin_lie_in_it(column):
    """The helper of these tests agrees with the column about which numbers are in a bin."""
    for code in range(column.size()):
        if not (code == 0 and column.missing and column.missing[0] is None):
            assert (column.code(inside(column, code)) == code).all()
