"""The page in a real browser: it needs no network, raises no error, and does what its controls say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from tests.report.conftest import City, Looked

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def page(city: City, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The owner's page of the city."""
    out = tmp_path_factory.mktemp("page") / "report.html"
    made = sf.OwnersReport(
        city / "truth.parquet", city / "synthetic.parquet", city.schema, map=city / "areas.geojson",
        ledger=city / "city.ledger",
    )  # fmt: skip
    made.save(out)
    return str(out)


def test_it_opens_without_errors_and_without_a_network(browser: Any, page: str) -> None:
    """From disk, the only request is the file itself, and the console stays silent; twelve areas are on each map."""
    looked = Looked(browser, page)
    assert [len(looked.classes(i)) for i in range(3)] == [12, 12, 12]
    assert looked.page.locator(".band.red").is_visible()
    assert looked.page.locator(".band.green").count() == 0
    looked.close()


def test_the_slider_changes_the_map(browser: Any, page: str) -> None:
    """One step to the right with the keyboard shows the first month: other totals, and other colours or hatching."""
    looked = Looked(browser, page)
    before = looked.page.locator(".panels figcaption small").all_inner_texts(), looked.classes(1)
    looked.page.locator("#slider").focus()
    looked.page.keyboard.press("ArrowRight")
    after = looked.page.locator(".panels figcaption small").all_inner_texts(), looked.classes(1)
    assert looked.page.locator("output").inner_text() == "1"
    assert before[0] != after[0]
    assert before[1] != after[1]
    looked.close()


def test_what_a_map_says_is_what_the_table_holds(browser: Any, page: str, city: City) -> None:
    """The total over the map of a month and a kind is the number of such records in both tables."""
    looked = Looked(browser, page)
    looked.page.get_by_label("Which records").select_option(label="kind, by group: late")
    looked.page.locator("#slider").fill("3")
    told = looked.page.locator(".panels figcaption small").all_inner_texts()[:2]
    reading = {"truth.parquet": ("c", "d"), "synthetic.parquet": ("late",)}
    for text, (name, kinds) in zip(told, reading.items(), strict=True):
        column = sf.Category(name="kind", values=kinds)
        table = sf.Table.open(city / name, sf.Schema(columns=(city.schema["month"], column)))
        (counts,) = table.counts([sf.Marginal.of("month", "kind")])
        assert int(re.sub(r"\D", "", text)) == int(counts.values[2].sum())
    looked.close()


def test_below_the_noise_is_hatched(browser: Any, page: str) -> None:
    """Area 12, where nothing begins, is hatched on the synthetic map of a month, and never on that of the truth."""
    looked = Looked(browser, page)
    looked.page.locator("#slider").fill("5")
    synthetic, truth = looked.classes(1), looked.classes(0)
    assert synthetic[11] == "h"
    assert "h" not in truth
    assert looked.page.get_by_text("noise alone makes as many").first.is_visible()
    looked.close()


def test_a_place_is_found_by_name_and_by_keyboard(browser: Any, page: str) -> None:
    """Typing a name tells its numbers; arrow keys on a map go from the largest place to the next."""
    looked = Looked(browser, page)
    looked.page.get_by_label("Find a place").fill("Quarter 3")
    looked.page.get_by_label("Find a place").press("Enter")
    assert looked.page.locator(".readout b").inner_text() == "Quarter 3"
    looked.page.locator("svg.map").first.focus()
    looked.page.keyboard.press("Escape")
    looked.page.keyboard.press("ArrowRight")
    assert looked.page.locator(".readout b").inner_text() == "Quarter 1"
    looked.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_its_window_and_can_be_read(browser: Any, page: str, scheme: str, width: int) -> None:
    """Nothing is wider than the window, on a phone or a desk; text stands out from what is behind it (WCAG AA)."""
    looked = Looked(browser, page, viewport={"width": width, "height": 844}, color_scheme=scheme)
    assert looked.page.evaluate("document.documentElement.scrollWidth") <= width
    assert looked.page.evaluate(CONTRAST) == []
    looked.close()


def test_it_prints_black_on_white(browser: Any, page: str) -> None:
    """On paper, also from a dark screen, text can be read, the maps are there and the controls are left out."""
    looked = Looked(browser, page, color_scheme="dark")
    looked.page.emulate_media(media="print", color_scheme="dark")
    assert looked.page.evaluate(CONTRAST) == []
    assert looked.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not looked.page.locator(".controls").is_visible()
    assert looked.page.locator("svg.map").first.is_visible()
    looked.close()


def test_it_says_itself_to_a_screen_reader(browser: Any, page: str) -> None:
    """One first heading, no level left out, a label on every control and every picture, a name for every table cell."""
    looked = Looked(browser, page)
    levels = [
        int(t[1]) for t in looked.page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => h.tagName)")
    ]
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in zip([1, *levels], levels, strict=False))
    assert looked.page.evaluate(UNNAMED) == []
    assert looked.page.evaluate("document.documentElement.lang") == "en"
    looked.close()


def test_a_name_that_is_markup_stays_text(browser: Any, tmp_path: Path) -> None:
    """Values, names and titles with tags and quotes are shown letter by letter, and nothing of them runs."""
    import pyarrow as pa

    evil = ("</script><img src=x onerror=alert(1)>", '"><b>', "{{ 7 * 7 }}", "\u2028")
    schema = sf.Schema(columns=(sf.Place(name="area", values=tuple(range(4)), names=evil),))
    data = pa.table({"area": [0, 1, 2, 3, 3]})
    sf.OwnersReport(data, data, schema, title=evil[0]).save(tmp_path / "r.html")
    looked = Looked(browser, str(tmp_path / "r.html"))
    assert looked.page.locator("h1").inner_text() == evil[0]
    assert looked.page.locator("img").count() == 0
    assert "49" not in looked.page.locator("#columns").inner_text()
    looked.close()


CONTRAST = """() => {
  const parse = c => { const m = c.match(/[\\d.]+/g).map(Number); return m.length > 3 ? m : [...m, 1]; };
  const light = ([r, g, b]) => { const f = v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
    return .2126 * f(r) + .7152 * f(g) + .0722 * f(b); };
  const behind = el => { for (; el; el = el.parentElement) { const c = parse(getComputedStyle(el).backgroundColor);
    if (c[3] === 1) return c; } return [255, 255, 255, 1]; };
  const bad = [];
  for (const el of document.querySelectorAll('body *')) {
    if (el.closest('svg, script, nav, .tip') || !el.checkVisibility()) continue;
    if (![...el.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    const s = getComputedStyle(el), a = light(parse(s.color)), b = light(behind(el));
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    const large = parseFloat(s.fontSize) >= 24 || (parseFloat(s.fontSize) >= 18.66 && s.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) bad.push(`${el.tagName}.${el.className} ${ratio.toFixed(2)}: ${el.textContent}`);
  }
  return bad;
}"""

UNNAMED = """() => {
  const bad = [];
  for (const el of document.querySelectorAll('select, input, button')) {
    if (!(el.labels?.length || el.ariaLabel || el.textContent.trim())) bad.push(el.outerHTML.slice(0, 80));
  }
  for (const el of document.querySelectorAll('[role=img], svg:not([aria-hidden])')) {
    if (!(el.getAttribute('aria-label') || '').trim()) bad.push(el.outerHTML.slice(0, 80));
  }
  return bad;
}"""
