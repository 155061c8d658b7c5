(() => {
  "use strict";
  const D = JSON.parse(document.getElementById("data").textContent);
  const NS = "http://www.w3.org/2000/svg", SHADES = 7;
  const make = (tag, set = {}, ...kids) => {
    const el = document.createElement(tag);
    for (const [k, v] of Object.entries(set)) k in el ? (el[k] = v) : el.setAttribute(k, v);
    el.append(...kids);
    return el;
  };
  const draw = (tag, set = {}) => {
    const el = document.createElementNS(NS, tag);
    for (const [k, v] of Object.entries(set)) el.setAttribute(k, v);
    return el;
  };
  for (const land of document.querySelectorAll("path[data-drawing]"))
    land.setAttribute("d", D.drawings[land.dataset.drawing].paths.join(""));
  const app = document.getElementById("app");
  if (!app || !D.views.length) return;

  const both = D.tables.includes("truth");
  const now = { view: 0, set: 0, choice: 0, step: 0, measure: "count", area: -1 };
  const view = () => D.views[now.view], set = () => view().sets[now.set];
  const steps = () => view().time.steps;

  // ------------------------------------------------------------------ numbers

  const nearly = (x) => Math.abs(x) >= 100 || Number.isInteger(x) ? 0 : Math.abs(x) >= 10 ? 1 : 2;
  const text = (x) => x.toLocaleString("en-US", { maximumFractionDigits: nearly(x) }).replace("-", "−");
  const shown = (x) => (now.measure === "share" ? `${text(100 * x)} %` : text(x));
  const signed = (x) => (x > 0 ? "+" : "") + shown(x);

  const sum = (table, whole, step) => {
    const s = whole ? view().sets[0] : set(), choice = whole ? 0 : now.choice;
    const P = view().names.length, C = Math.max(1, s.choices.length), T = Math.max(1, steps().length), out = new Float64Array(P);
    for (let t = step ? step - 1 : 0; t < (step || T); t++)
      for (let p = 0, at = (t * C + choice) * P; p < P; p++) out[p] += s[table][at + p];
    return out;
  };
  const measured = (table, step) => {
    const n = sum(table, false, step);
    if (now.measure === "density") return n.map((x, i) => (view().km2[i] ? x / view().km2[i] : 0));
    if (now.measure === "share") { const all = sum(table, true, step); return n.map((x, i) => (all[i] ? x / all[i] : 0)); }
    return n;
  };
  const noise = () => set().noise[now.choice][now.step ? 1 : 0];
  const round2 = (x) => Number(x.toPrecision(2));
  const quantiles = (values, at) => {
    const v = Float64Array.from(values.filter((x) => x > 0)).sort();
    if (!v.length) return [];
    return [...new Set(at.map((q) => round2(v[Math.min(v.length - 1, Math.floor(q * v.length))])))].filter((x) => x > 0);
  };
  // one scale for all steps and both tables, so that colours can be compared while the slider moves
  const scales = () => {
    const each = now.step ? steps().map((_, i) => i + 1) : [0];
    const all = [], gaps = [];
    for (const step of each) {
      const by = D.tables.map((t) => measured(t, step));
      const made = sum("synthetic", false, step), level = set().noise[now.choice][step ? 1 : 0] ?? 0;
      D.tables.forEach((t, j) => by[j].forEach((x, i) => { if (t === "truth" || made[i] >= level) all.push(x); }));
      if (both) for (let i = 0; i < by[0].length; i++) gaps.push(Math.abs(by[1][i] - by[0][i]));
    }
    return { cuts: quantiles(all, [1, 2, 3, 4, 5, 6].map((i) => i / SHADES)), apart: quantiles(gaps, [0.4, 0.75, 0.94]) };
  };
  const shade = (x, cuts) => { let i = 0; while (i < cuts.length && x >= cuts[i]) i++; return i; };
  const spread = (i, n) => (n < 2 ? 3 : Math.round((i * (SHADES - 1)) / (n - 1)));

  // ------------------------------------------------------------------ the controls

  const label = (words, el, more = "") => make("label", { className: more }, words, el);
  const chooseView = make("select"), chooseType = make("select"), chooseMeasure = make("select");
  D.views.forEach((v, i) => chooseView.append(make("option", { value: i, textContent: v.place })));
  const slider = make("input", { type: "range", min: 0, step: 1, value: 0, id: "slider" });
  const when = make("output", { htmlFor: "slider" });
  const play = make("button", { type: "button", textContent: "▶", ariaLabel: "Play" });
  const names = make("datalist", { id: "places" });
  const find = make("input", { type: "search", placeholder: "name …", autocomplete: "off" });
  find.setAttribute("list", "places");
  const time = label("", make("span", { className: "when" }, play, slider, when), "grow");
  const controls = make("div", { className: "controls" });
  if (D.views.length > 1) controls.append(label("Map of", chooseView));
  controls.append(label("Which records", chooseType), label("Coloured by", chooseMeasure), time, label("Find a place", find), names);
  const panels = make("div", { className: `panels n${both ? 3 : 1}` });
  const readout = make("div", { className: "readout", role: "status" });
  readout.setAttribute("aria-live", "polite");
  const timeline = make("div", { className: "timeline" });
  const numbers = make("details", {}, make("summary", { textContent: "The numbers of this map as a table" }));
  const sheet = make("div", { className: "scroll" });
  numbers.append(sheet);
  const tip = make("div", { className: "tip", hidden: true });
  const holder = draw("svg", { width: 0, height: 0, "aria-hidden": "true", style: "position:absolute" });
  holder.innerHTML = '<defs><pattern id="hatch" width="70" height="70" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="70" height="70"/><line x1="0" y1="0" x2="0" y2="70"/></pattern></defs>';
  const stage = make("div", { className: both ? "stage" : "stage one" }, panels, make("div", {}, readout, timeline, numbers));
  app.append(holder, controls, stage, tip);

  // ------------------------------------------------------------------ the maps

  let maps = [];
  const build = () => {
    const d = D.drawings[view().drawing];
    panels.replaceChildren();
    maps = [...D.tables, ...(both ? ["difference"] : [])].map((name) => {
      const svg = draw("svg", { viewBox: `0 0 ${d.width} ${d.height}`, class: `map${d.paths.length > 1500 ? " many" : ""}`, tabindex: 0, role: "img" });
      const shapes = d.paths.map((p, i) => {
        const path = draw("path", { d: p });
        path.area = i;
        if (p) svg.append(path);
        return path;
      });
      const total = make("small"), legend = make("ul", { className: "legend" });
      panels.append(make("figure", {}, make("figcaption", {}, name[0].toUpperCase() + name.slice(1), total), svg, legend));
      svg.addEventListener("pointermove", (e) => { if ("area" in e.target) { point(e.target.area); hover(e); } else tip.hidden = true; });
      svg.addEventListener("pointerleave", () => { tip.hidden = true; });
      svg.addEventListener("pointerdown", (e) => { if ("area" in e.target) { point(e.target.area); hover(e); } });
      svg.addEventListener("keydown", walk);
      return { name, svg, shapes, legend, total };
    });
    names.replaceChildren(...view().names.map((n) => make("option", { value: n })));
    chooseType.replaceChildren(make("option", { value: "0:0", textContent: "all of them" }));
    view().sets.slice(1).forEach((s, i) => {
      const group = make("optgroup", { label: s.what });
      s.choices.forEach((c, j) => group.append(make("option", { value: `${i + 1}:${j}`, textContent: `${s.what}: ${c}` })));
      chooseType.append(group);
    });
    time.hidden = !steps().length;
    time.style.display = steps().length ? "" : "none";
    time.firstChild.textContent = view().time.what;
    slider.max = steps().length;
    slider.setAttribute("aria-label", view().time.what);
    Object.assign(now, { set: 0, choice: 0, step: 0, area: -1 });
    slider.value = 0;
    measures();
    update();
  };
  const measures = () => {
    const choices = [["count", "records"]];
    if (view().km2) choices.push(["density", "records per km²"]);
    if (now.set) choices.push(["share", "share of the place's records"]);
    if (!choices.some(([m]) => m === now.measure)) now.measure = "count";
    chooseMeasure.replaceChildren(...choices.map(([value, words]) => make("option", { value, textContent: words })));
    chooseMeasure.value = now.measure;
  };
  const moment = () => (now.step ? steps()[now.step - 1] : steps().length ? "all of the time" : "");

  let values = {}, counts = {};
  const update = () => {
    counts = {}; values = {};
    for (const t of D.tables) { counts[t] = sum(t, false, now.step); values[t] = measured(t, now.step); }
    const { cuts, apart } = scales(), level = noise();
    const unsure = (i) => level !== null && counts.synthetic[i] < level;
    when.textContent = moment();
    slider.setAttribute("aria-valuetext", moment());
    for (const m of maps) {
      const gap = m.name === "difference";
      m.shapes.forEach((path, i) => {
        let c;
        if (gap) {
          const x = values.synthetic[i] - values.truth[i], k = Math.min(3, shade(Math.abs(x), apart));
          c = unsure(i) ? "h" : `d${3 + Math.sign(x) * k}`;
        } else {
          const x = values[m.name][i];
          c = m.name === "synthetic" && unsure(i) ? "h" : x > 0 ? `q${spread(shade(x, cuts), cuts.length + 1)}` : "qz";
        }
        path.setAttribute("class", i === now.area ? `${c} on` : c);
      });
      const total = (t) => counts[t].reduce((a, b) => a + b, 0);
      m.total.textContent = gap ? `${text(total("synthetic") - total("truth")).replace(/^(?=\d)/, "+")} records` : `${text(total(m.name))} records`;
      m.svg.setAttribute("aria-label", spoken(m));
      legend(m, gap ? apart : cuts, gap, level);
    }
    tell();
    chart();
    if (numbers.open) table();
  };
  const spoken = (m) => {
    const v = m.name === "difference" ? values.synthetic.map((x, i) => x - values.truth[i]) : values[m.name];
    const top = [...v.keys()].sort((a, b) => Math.abs(v[b]) - Math.abs(v[a])).slice(0, 3);
    return `Map, ${m.name}, ${moment()}: the largest are ${top.map((i) => `${view().names[i]} ${shown(v[i])}`).join(", ")}. Arrow keys go from place to place.`;
  };
  const swatch = (c) => { const s = draw("svg", { viewBox: "0 0 140 96", "aria-hidden": "true" }); s.append(draw("rect", { width: 140, height: 96, class: c })); return s; };
  const legend = (m, cuts, gap, level) => {
    const item = (c, words) => make("li", {}, swatch(c), words);
    const items = [];
    if (gap) {
      const n = cuts.length;
      for (let k = n; k > 0; k--) items.push(item(`d${3 - k}`, k === n ? `−${shown(cuts[k - 1])} or less` : `−${shown(cuts[k])} to −${shown(cuts[k - 1])}`));
      items.push(item("d3", n ? `within ±${shown(cuts[0])}` : "alike"));
      for (let k = 1; k <= n; k++) items.push(item(`d${3 + k}`, k === n ? `+${shown(cuts[k - 1])} or more` : `+${shown(cuts[k - 1])} to +${shown(cuts[k])}`));
    } else {
      if ([...values[m.name]].some((x) => x <= 0)) items.push(item("qz", "none"));
      for (let k = 0; k <= cuts.length; k++)
        items.push(item(`q${spread(k, cuts.length + 1)}`, k === 0 ? (cuts.length ? `under ${shown(cuts[0])}` : "some") : k === cuts.length ? `${shown(cuts[k - 1])} or more` : `${shown(cuts[k - 1])} to ${shown(cuts[k])}`));
    }
    if (level !== null && m.name !== "truth") items.push(item("h", `under ${text(Math.ceil(level))} records: noise alone makes as many`));
    m.legend.replaceChildren(...items);
  };
  const about = (i) => {
    const lines = D.tables.map((t) => `${t} ${shown(values[t][i])}`);
    if (both) {
      const d = values.synthetic[i] - values.truth[i];
      lines.push(`difference ${signed(d)}${values.truth[i] ? ` (${d > 0 ? "+" : ""}${text((100 * d) / values.truth[i])} %)` : ""}`);
    }
    if (noise() !== null) lines.push(`noise alone makes up to ${text(Math.ceil(noise()))} records${counts.synthetic[i] < noise() ? ", so take this as unknown" : ""}`);
    return lines;
  };
  const point = (i) => {
    if (i === now.area) return;
    for (const m of maps) { m.shapes[now.area]?.classList.remove("on"); const p = m.shapes[i]; if (p) { p.classList.add("on"); if (p.parentNode) m.svg.append(p); } }
    now.area = i;
    tell();
    chart();
  };
  const hover = (e) => {
    tip.replaceChildren(make("b", { textContent: view().names[now.area] }), ...about(now.area).flatMap((t, i) => (i ? [make("br"), t] : [t])));
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.min(e.clientX + 14, innerWidth - box.width - 8)}px`;
    tip.style.top = `${e.clientY + 18 + box.height > innerHeight ? e.clientY - box.height - 12 : e.clientY + 18}px`;
  };
  const tell = () => {
    readout.replaceChildren(...(now.area < 0
      ? [`Point at a place, tap it, or find it by its name to see its numbers${steps().length ? " and its course through time" : ""}.`]
      : [make("b", { textContent: view().names[now.area] }), `${moment() ? `, ${moment()}` : ""}: ${about(now.area).join("; ")}.`]));
  };
  const walk = (e) => {
    const turn = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
    if (e.key === "Escape") { point(-1); tip.hidden = true; }
    if (!turn) return;
    e.preventDefault();
    const order = [...values.synthetic.keys()].sort((a, b) => values.synthetic[b] - values.synthetic[a]);
    point(order[(order.indexOf(now.area) + turn + order.length) % order.length]);
  };
  const chart = () => {
    timeline.replaceChildren();
    const n = steps().length;
    if (!n) return;
    const by = D.tables.map((t) => steps().map((_, i) => { const v = sum(t, false, i + 1); return now.area < 0 ? v.reduce((a, b) => a + b, 0) : v[now.area]; }));
    const most = Math.max(1, ...by.flat());
    const cols = make("div", { className: "cols", role: "img" });
    cols.setAttribute("aria-label", `Course through time${now.area < 0 ? "" : ` of ${view().names[now.area]}`}`);
    steps().forEach((s, i) => {
      const col = make("div", { className: `col${now.step === i + 1 ? " now" : ""}`, title: `${s}: ${D.tables.map((t, j) => `${t} ${text(by[j][i])}`).join(", ")}` });
      D.tables.forEach((t, j) => { const bar = make("i", { className: t[0] }); bar.style.height = `${(100 * by[j][i]) / most}%`; col.append(bar); });
      col.addEventListener("click", () => go(i + 1));
      cols.append(col);
    });
    const who = now.area < 0 ? "All places" : view().names[now.area];
    const key = make("p", { className: "key" }, `${who} through time, up to ${text(most)}`);
    if (both) key.append(make("i", { className: "t" }), "truth", make("i", { className: "s" }), "synthetic");
    timeline.append(key, cols, make("div", { className: "axis" }, make("span", { textContent: steps()[0] }), make("span", { textContent: steps()[n - 1] })));
  };
  const table = () => {
    const order = [...values.synthetic.keys()].sort((a, b) => values.synthetic[b] - values.synthetic[a]);
    const heads = ["place", ...D.tables, ...(both ? ["difference"] : [])];
    const body = make("tbody");
    for (const i of order) {
      const cells = [view().names[i], ...D.tables.map((t) => shown(values[t][i])), ...(both ? [signed(values.synthetic[i] - values.truth[i])] : [])];
      body.append(make("tr", {}, ...cells.map((c) => make("td", { textContent: c }))));
    }
    sheet.replaceChildren(make("table", { className: "numbers" }, make("thead", {}, make("tr", {}, ...heads.map((h) => make("th", { scope: "col", textContent: h })))), body));
  };
  const go = (step) => { now.step = step; slider.value = step; update(); };

  // ------------------------------------------------------------------ what the reader does

  let timer = 0;
  const stop = () => { clearInterval(timer); timer = 0; play.textContent = "▶"; play.ariaLabel = "Play"; };
  play.addEventListener("click", () => {
    if (timer) return stop();
    play.textContent = "❚❚"; play.ariaLabel = "Stop";
    timer = setInterval(() => go(now.step >= steps().length ? 1 : now.step + 1), 900);
  });
  slider.addEventListener("input", () => { stop(); go(Number(slider.value)); });
  chooseView.addEventListener("change", () => { stop(); now.view = Number(chooseView.value); build(); });
  chooseType.addEventListener("change", () => { [now.set, now.choice] = chooseType.value.split(":").map(Number); measures(); update(); });
  chooseMeasure.addEventListener("change", () => { now.measure = chooseMeasure.value; update(); });
  find.addEventListener("change", () => { const i = view().names.indexOf(find.value); if (i >= 0) point(i); });
  numbers.addEventListener("toggle", () => { if (numbers.open) table(); });
  build();
})();
