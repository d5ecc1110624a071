// Charts: uPlot draws; this makes them usable by keyboard and by ear, keeps them fresh, and zooms those of one axis together.
"use strict";

(() => {
  // As in core/drawing/marks.py: no line is told by its colour alone.
  const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3], [14, 5]];
  const corners = {
    1: [[-1, -1], [1, -1], [1, 1], [-1, 1]],
    2: [[0, -1.2], [1.1, 0.9], [-1.1, 0.9]],
    3: [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]],
    6: [[0, 1.2], [1.1, -0.9], [-1.1, -0.9]],
  };
  const markKinds = 7, colours = 8, marksApart = 90, fewLines = 6;
  const speakAfter = 300; // ms: who holds a key down hears the end, not each step
  const charts = new Map(); // by the id of the drawing

  // ---- marks ----

  function addMark(path, kind, x, y, size) {
    if (corners[kind]) {
      corners[kind].forEach(([right, down], at) => path[at ? "lineTo" : "moveTo"](x + size * right, y + size * down));
      path.closePath();
    } else if (kind === 0) {
      path.moveTo(x + size, y);
      path.arc(x, y, size, 0, 2 * Math.PI);
    } else {
      const turned = kind === 4 ? [[-1, -1, 1, 1], [-1, 1, 1, -1]] : [[-1, 0, 1, 0], [0, -1, 0, 1]];
      for (const [a, b, c, d] of turned) {
        path.moveTo(x + size * a, y + size * b);
        path.lineTo(x + size * c, y + size * d);
      }
    }
  }

  // A few on each line, apart from those of the others.
  function drawMarks(u, line) {
    const path = new Path2D(), ratio = window.devicePixelRatio;
    const xs = u.data[0], ys = u.data[line], count = u.series.length - 1;
    const mark = (at) => addMark(path, (line - 1) % markKinds, u.valToPos(xs[at], "x", true), u.valToPos(ys[at], "y", true), 3.5 * ratio);
    const width = u.bbox.width / ratio;
    for (let left = marksApart * (line - 0.5) / count; left < width; left += marksApart) {
      let at = u.valToIdx(u.posToVal(left, "x"));
      const last = Math.min(xs.length, at + 20);
      while (at < last && ys[at] == null) at += 1;
      if (at >= last || xs[at] < u.scales.x.min || xs[at] > u.scales.x.max) continue;
      mark(at);
    }
    for (const at of listLone(u, line) || []) mark(at);
    return { stroke: path, fill: path, flags: 0 };
  }

  // Between gaps, where no line leads to them, and the only two of a line.
  function listLone(u, line) {
    const xs = u.data[0], ys = u.data[line], { min, max } = u.scales.x;
    const isLone = (at) => xs.length < 3 || (findBeside(ys, at, -1) == null && findBeside(ys, at, 1) == null);
    const found = [...xs.keys()].filter((at) => ys[at] != null && xs[at] >= min && xs[at] <= max && isLone(at));
    return found.length ? found : null;
  }

  // null is a gap; undefined, where only another line has a value, is none.
  function findBeside(ys, at, step) {
    let found = at + step;
    while (found >= 0 && found < ys.length && ys[found] === undefined) found += step;
    return ys[found];
  }

  // ---- what is read and said ----

  function tellNumber(value) {
    return value == null ? "no number" : String(Number(value.toPrecision(5)));
  }

  function tellPlace(chart, x) {
    const axis = chart.drawing.dataset.axis;
    if (axis === "time") {
      return new Date(x * 1000).toLocaleString([], { weekday: "short", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
    }
    return axis === "hours" ? `${tellNumber(x)} hours` : `${axis} ${x.toLocaleString()}`;
  }

  function tellValue(chart, line, at) {
    const name = chart.names.length > 1 ? `${chart.names[line]} ` : "";
    const unit = chart.drawing.dataset.unit;
    return `${name}${tellNumber(chart.data[line + 1][at])}${unit ? ` ${unit}` : ""}`;
  }

  function tell(chart, at) {
    const place = tellPlace(chart, chart.data[0][at]);
    const shown = chart.names.map((_, line) => line).filter((line) => chart.data[line + 1][at] != null && chart.plot.series[line + 1].show);
    if (shown.length <= fewLines) return `${place}: ${shown.map((line) => tellValue(chart, line, at)).join(", ") || "no value"}`;
    const sorted = [...shown].sort((a, b) => chart.data[a + 1][at] - chart.data[b + 1][at]);
    const ends = `least ${tellValue(chart, sorted[0], at)}, most ${tellValue(chart, sorted.at(-1), at)}`;
    return `${place}: ${tellValue(chart, chart.line, at)}; ${ends}`;
  }

  function speak(chart, words) {
    window.clearTimeout(chart.timer);
    chart.timer = window.setTimeout(() => { chart.said.textContent = words; }, speakAfter);
  }

  // ---- zoom ----

  function listTogether(chart) {
    const isTime = (one) => one.drawing.dataset.axis === "time" && one.plot;
    return isTime(chart) ? [...charts.values()].filter(isTime) : [chart];
  }

  function findWhole(chart) {
    const ends = listTogether(chart).filter((one) => one.data[0].length).map((one) => [one.data[0][0], one.data[0].at(-1)]);
    return { min: Math.min(...ends.map(([begin]) => begin)), max: Math.max(...ends.map(([, end]) => end)) };
  }

  function zoomTo(chart, view) {
    const whole = findWhole(chart);
    const isWhole = !view || (view.min <= whole.min && view.max >= whole.max);
    for (const one of listTogether(chart)) {
      one.view = isWhole ? null : view;
      one.reset.disabled = isWhole;
      one.plot.setScale("x", isWhole ? widen(whole) : view);
    }
  }

  // One value alone gets room on both sides.
  function widen({ min, max }) {
    return max > min ? { min, max } : { min: min - 1, max: max + 1 };
  }

  function zoomBy(chart, factor) {
    const { min, max } = chart.plot.scales.x;
    const middle = chart.at == null ? (min + max) / 2 : chart.data[0][chart.at];
    const whole = findWhole(chart);
    const begin = Math.max(whole.min, middle - (middle - min) * factor);
    const end = Math.min(whole.max, middle + (max - middle) * factor);
    if (end > begin) zoomTo(chart, { min: begin, max: end });
    speak(chart, chart.view ? `from ${tellPlace(chart, begin)} to ${tellPlace(chart, end)}` : "all of it");
  }

  function zoomWhole(chart) {
    zoomTo(chart, null);
    speak(chart, "all of it");
  }

  // ---- keys ----

  function moveTo(chart, at, direction) {
    const xs = chart.data[0], ys = chart.data[chart.line + 1];
    let found = Math.max(0, Math.min(xs.length - 1, at));
    while (ys[found] == null && found + direction >= 0 && found + direction < xs.length) found += direction;
    chart.at = found;
    const { min, max } = chart.plot.scales.x, x = xs[found];
    if (x < min || x > max) {
      const half = (max - min) / 2;
      zoomTo(chart, { min: x - half, max: x + half });
    }
    const top = ys[found] == null ? 0 : chart.plot.valToPos(ys[found], "y");
    chart.plot.setCursor({ left: chart.plot.valToPos(x, "x"), top });
    chart.readout.textContent = tell(chart, found);
    speak(chart, tell(chart, found));
  }

  function chooseLine(chart, direction) {
    const count = chart.names.length;
    chart.line = (chart.line + direction + count) % count;
    moveTo(chart, chart.at ?? chart.data[0].length - 1, -1);
  }

  function pressKey(chart, event) {
    if (event.ctrlKey || event.altKey || event.metaKey || !chart.plot || !chart.data[0].length) return;
    const last = chart.data[0].length - 1, at = chart.at ?? last;
    const page = Math.max(1, Math.round(last / 10));
    const act = {
      ArrowLeft: () => moveTo(chart, at - (chart.at == null ? 0 : 1), -1),
      ArrowRight: () => moveTo(chart, at + 1, 1),
      PageUp: () => moveTo(chart, at - page, -1),
      PageDown: () => moveTo(chart, at + page, 1),
      Home: () => moveTo(chart, 0, 1),
      End: () => moveTo(chart, last, -1),
      ArrowUp: () => chooseLine(chart, -1),
      ArrowDown: () => chooseLine(chart, 1),
      "+": () => zoomBy(chart, 0.5),
      "=": () => zoomBy(chart, 0.5),
      "-": () => zoomBy(chart, 2),
      "0": () => zoomWhole(chart),
      Escape: () => zoomWhole(chart),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  // ---- drawing ----

  function make(tag, properties, ...inside) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...inside);
    return made;
  }

  function findColours(chart) {
    return Array.from({ length: colours }, (_, at) => {
      const probe = chart.drawing.appendChild(make("i", { className: `series-${at}`, hidden: true }));
      const found = getComputedStyle(probe).color;
      probe.remove();
      return found;
    });
  }

  function makeSeries(chart) {
    const palette = findColours(chart), panel = getComputedStyle(chart.drawing.closest("figure")).backgroundColor;
    return chart.names.map((name, line) => ({
      label: name,
      stroke: palette[line % colours],
      width: chart.names.length > fewLines ? 1 : 1.5,
      dash: dashes[line % dashes.length],
      points: chart.names.length > 1
        ? { show: true, paths: drawMarks, stroke: palette[line % colours], fill: panel, width: 1.5 }
        : { show: () => false, filter: listLone, size: 8, fill: palette[0] },
    }));
  }

  function makeOptions(chart) {
    const style = getComputedStyle(chart.drawing.closest("figure").querySelector(".summary"));
    const ink = style.color, grid = { stroke: `color-mix(in srgb, ${ink} 22%, transparent)`, width: 1 };
    const font = `12px ${style.fontFamily}`, isTime = chart.drawing.dataset.axis === "time";
    const axis = { stroke: ink, grid, ticks: grid, font };
    return {
      width: chart.room.clientWidth, height: chart.room.clientHeight,
      legend: { show: false },
      focus: { alpha: 0.25 },
      cursor: {
        sync: isTime ? { key: "windlass-time", setSeries: false } : undefined,
        drag: { x: true, y: false, setScale: false },
        focus: { prox: chart.names.length > 1 ? 12 : -1 },
        bind: { dblclick: () => () => { zoomWhole(chart); return null; } },
      },
      padding: [null, isTime ? 28 : null, null, null],
      scales: { x: { time: isTime, range: (_, min, max) => [min, max] }, y: { range: (_, min, max) => axes.findHeight(min, max) } },
      axes: [isTime ? { ...axis, size: 44, space: 80, incrs: axes.timeSteps, values: axes.tellClocks } : { ...axis, size: 32, values: axes.tellTicks }, { ...axis, size: 58, values: axes.tellTicks }],
      series: [{}, ...makeSeries(chart)],
      hooks: {
        setCursor: [(u) => { if (u.cursor.idx != null && u.cursor.left >= 0) chart.readout.textContent = tell(chart, u.cursor.idx); }],
        setSeries: [(_, line) => { if (line) chart.line = line - 1; }],
        setSelect: [(u) => takeSelection(chart, u)],
      },
    };
  }

  function takeSelection(chart, u) {
    if (u.select.width < 4) return;
    const view = { min: u.posToVal(u.select.left, "x"), max: u.posToVal(u.select.left + u.select.width, "x") };
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    zoomTo(chart, view);
  }

  // Lines that share their x are laid side by side as they are; others are joined.
  function align(chart, series) {
    const found = chart.names.map((name) => series[name] || { x: [], y: [] });
    const first = found[0].x;
    const isSame = found.every(({ x }) => x.length === first.length && x.every((one, at) => one === first[at]));
    return isSame ? [first, ...found.map(({ y }) => y)] : uPlot.join(found.map(({ x, y }) => [x, y]));
  }

  function draw(chart) {
    if (chart.plot) chart.plot.destroy();
    chart.room.replaceChildren();
    chart.plot = new uPlot(makeOptions(chart), chart.data, chart.room);
    zoomTo(chart, chart.view);
  }

  function makeLegend(chart) {
    return make("ul", { className: "lines" }, ...chart.names.map((name, line) => {
      const shape = `<path d="M0 6H30" stroke-dasharray="${dashes[line % dashes.length].join(" ")}"/>`;
      const swatch = make("span", { className: `series-${line % colours}` });
      swatch.innerHTML = `<svg viewBox="0 0 30 12" aria-hidden="true">${shape}<path class="mark"/></svg>`;
      swatch.querySelector(".mark").setAttribute("d", describeMark(line % markKinds));
      const button = make("button", { type: "button" }, swatch, name);
      button.setAttribute("aria-pressed", "true");
      button.addEventListener("click", () => {
        const show = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(show));
        chart.plot.setSeries(line + 1, { show });
      });
      return make("li", {}, button);
    }));
  }

  // The same outline for the legend, which is no canvas.
  function describeMark(kind) {
    const words = [];
    const pen = {
      moveTo: (x, y) => words.push(`M${x} ${y}`), lineTo: (x, y) => words.push(`L${x} ${y}`), closePath: () => words.push("Z"),
      arc: (x, y, size) => words.push(`a${size} ${size} 0 1 0 ${-2 * size} 0a${size} ${size} 0 1 0 ${2 * size} 0`),
    };
    addMark(pen, kind, 15, 6, 3.5);
    return words.join("");
  }

  function open(drawing) {
    const button = (words, label, act) => {
      const made = make("button", { type: "button" }, words);
      made.setAttribute("aria-label", label);
      made.addEventListener("click", act);
      return made;
    };
    const chart = { drawing, names: JSON.parse(drawing.dataset.names), data: [[]], line: 0, at: null, view: null, asked: 0 };
    chart.room = make("div", { className: "plot", id: `plot-${drawing.id}`, tabIndex: 0 });
    chart.room.setAttribute("role", "application");
    chart.room.setAttribute("aria-roledescription", "chart");
    chart.room.setAttribute("aria-labelledby", drawing.dataset.title);
    chart.readout = make("p", { className: "readout" });
    chart.readout.setAttribute("aria-hidden", "true");
    chart.said = make("p", { className: "unseen said" });
    chart.said.setAttribute("role", "status");
    chart.reset = button("whole", "whole: show all of it", () => zoomWhole(chart));
    chart.help = make("span", { id: `help-${drawing.id}` }, "arrow keys read, + and − zoom, 0 shows all");
    chart.room.setAttribute("aria-describedby", `${drawing.dataset.summary} ${chart.help.id}`);
    const tools = make("div", { className: "tools" }, button("+", "zoom in", () => zoomBy(chart, 0.5)), button("−", "zoom out", () => zoomBy(chart, 2)), chart.reset, chart.help);
    drawing.replaceChildren(chart.room, chart.readout, tools, chart.said);
    if (chart.names.length > 1) drawing.append(makeLegend(chart));
    chart.room.addEventListener("keydown", (event) => pressKey(chart, event));
    new ResizeObserver(() => chart.plot && chart.plot.setSize({ width: chart.room.clientWidth, height: chart.room.clientHeight })).observe(chart.room);
    charts.set(drawing.id, chart);
    return chart;
  }

  // New points are taken in without drawing anew from nothing: no flicker, and cursor and zoom stay.
  function take(chart, series) {
    const data = align(chart, series);
    if (!chart.plot) {
      chart.data = data;
      draw(chart);
      return;
    }
    if (data[0].length === chart.data[0].length && data[0].at(-1) === chart.data[0].at(-1)) return;
    const x = chart.at == null ? null : chart.data[0][chart.at];
    chart.data = data;
    chart.plot.setData(data, false);
    if (x != null) chart.at = chart.plot.valToIdx(x);
    zoomTo(chart, chart.view);
  }

  async function renew() {
    const due = [...charts.values()].filter((one) => Date.now() - one.asked >= 1000 * Number(one.drawing.dataset.rest));
    const sources = new Map();
    for (const chart of due) {
      const source = chart.drawing.dataset.source;
      chart.asked = Date.now();
      if (!sources.has(source)) sources.set(source, fetch(source).then((answer) => answer.ok ? answer.json() : null, () => null));
    }
    await Promise.all(due.map(async (chart) => {
      const told = await sources.get(chart.drawing.dataset.source);
      if (told && chart.drawing.isConnected) take(chart, told.series);
    }));
    document.documentElement.dataset.drawn = "yes"; // for tests
  }

  function begin() {
    for (const [id, chart] of charts) {
      if (chart.drawing.isConnected) continue;
      if (chart.plot) chart.plot.destroy();
      charts.delete(id);
    }
    for (const drawing of document.querySelectorAll(".drawing[data-source]")) if (!charts.has(drawing.id)) open(drawing);
    return renew();
  }

  // What was opened stays open when the page is renewed.
  let opened = [];
  document.addEventListener("htmx:beforeSwap", () => { opened = [...document.querySelectorAll("details[open][id]")].map((one) => one.id); });
  document.addEventListener("htmx:afterSwap", () => {
    for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
    begin();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { for (const chart of charts.values()) if (chart.plot) draw(chart); });
  begin();
})();
