"use strict";
// Which line is best: sentences, a table and a picture for the chosen budget.

(() => {
  const section = document.getElementById("answers");
  const holder = document.getElementById("answer-data");
  if (!holder) return;
  // JSON has no infinite numbers.
  const infinite = (_, value) => (value === "Infinity" || value === "-Infinity" ? Number(value) : value);
  const data = JSON.parse(holder.textContent, infinite), curves = JSON.parse(document.getElementById("curve-data").textContent);
  const form = section.querySelector("form"), controls = form.elements, slider = controls.stop;
  const figure = section.querySelector(".front figure");
  const [LEFT, RIGHT, TOP, BOTTOM, HEIGHT] = [40, 12, 10, 36, 260];
  const digits = data.unit ? 1 : 3;
  const shown = (value) => (value === null ? "–" : Number.isFinite(value) ? fixed(value, digits).replace("-", "−") : value > 0 ? "∞" : "−∞");
  const span = (low, high) => (low === null || high === null ? "" : `${shown(low)}–${shown(high)}`);
  const cost = (value) => (value === null ? "–" : fixed(value, 1));

  function make(tag, parent, text, attributes = {}) {
    const node = parent.appendChild(document.createElement(tag));
    if (text !== undefined) node.textContent = text;
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
  }

  function draw(tag, parent, attributes, text) {
    const node = parent.appendChild(document.createElementNS("http://www.w3.org/2000/svg", tag));
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    return node;
  }

  // All boxes of the page have one scale: from the least to the greatest value of the metric, or of what is drawn.
  const ends = Object.values(data.boxes).flatMap(([box, dots]) => [...box, ...dots]).filter(Number.isFinite);
  const drawn = ends.length ? ends : [0, 1];
  const [least, most] = [data.range[0] ?? Math.min(...drawn), data.range[1] ?? Math.max(...drawn)];
  const along = (value) => 4 + (192 * (value - least)) / (most - least || 1);

  function box(cell, [[first, low, middle, high, last], dots]) {
    const svg = draw("svg", cell, { class: "box", viewBox: "0 0 200 24", role: "img",
      "aria-label": `median ${shown(middle)}, half from ${shown(low)} to ${shown(high)}` });
    const at = (value) => along(value === null || value > most ? most : Math.max(value, least));
    draw("path", svg, { d: `M${at(first)},12H${at(last)}` });
    draw("rect", svg, { x: at(low), y: 6, width: Math.max(at(high) - at(low), 1), height: 12 });
    dots.forEach((value, n) => Number.isFinite(value) && draw("circle", svg, { cx: along(value), cy: 12 + ((n * 7) % 11) - 5, r: 2 }));
    draw("path", svg, { class: "median", d: `M${at(middle)},5V19` });
  }

  function named(row, line) {
    for (const key of ["model", "prompter"]) {
      const cell = make("th", row, line[key] + (key === "prompter" && line.which ? ` (${line.which})` : ""), { scope: "row" });
      if (key === "model" && line.seen) make("span", make("sup", cell, "†", { title: "trained on this data" }), " trained on this data", { class: "unseen" });
    }
  }

  // The best value is bold; those that cannot be told from it are underlined, and both are said.
  function standing(body, one) {
    const row = make("tr", body), line = data.lines[one.line], [value, low, high] = one.value;
    make("td", row, String(one.rank), { class: "number" });
    named(row, line);
    const alike = one.behind && one.behind[4] === false;
    const cell = make("td", row, shown(value), { class: `number ${one.rank === 1 ? "best" : alike ? "alike" : ""}` });
    if (one.note) cell.append(" "), make("sup", cell, one.note);
    if (one.rank === 1 || alike) make("span", cell, one.rank === 1 ? " best" : " not told from the best", { class: "unseen" });
    make("span", cell, one.infinite || span(low, high), { class: "interval" });
    const behind = make("td", row, one.mixed ? "±∞" : one.behind ? shown(one.behind[0]) : "–", { class: "number" });
    const within = one.behind ? [span(one.behind[1], one.behind[2]), one.behind_infinite] : [];
    make("span", behind, within.filter(Boolean).join("; "), { class: "interval" });
    make("td", row, one.behind ? one.behind[3] : "–", { class: "number" });
    const spent = make("td", row, cost(one.spent), { class: "number" });
    if (one.over) make("span", spent, `${one.over} cost more`, { class: "interval" });
    box(make("td", row), data.boxes[one.state]);
  }

  function outside(body, [number, least]) {
    const row = make("tr", body, undefined, { class: "out" });
    make("td", row, "–", { class: "number" });
    named(row, data.lines[number]);
    make("td", row, "–", { class: "number" }), make("td", row, "–", { class: "number" }), make("td", row, "–", { class: "number" });
    make("td", row, `${cost(least)} at least`, { class: "number" });
    make("td", row, "not within this budget");
  }

  // Effort is drawn on the scale of log(1 + effort), which has a 0.
  function front(unit, limit) {
    figure.replaceChildren();
    const column = 6 + curves.efforts.findIndex((effort) => effort.name === unit.name), on = new Set(unit.front);
    const points = curves.points.map((point, n) => ({ x: point[column], y: point[3], line: point[1], round: point[2], set: point[0], on: on.has(n) }))
      .filter((point) => point.set === 0 && point.x !== null && point.y !== null && data.compared.includes(point.line));
    const width = Math.max(280, figure.clientWidth);
    const svg = draw("svg", figure, { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": `${data.title} against ${unit.name}; the front is listed below` });
    if (!points.length) return;
    const xs = points.map((point) => point.x), ys = points.map((point) => point.y), span = Math.max(...ys) - Math.min(...ys) || 0.1;
    const low = Math.min(...ys) - span / 12, high = Math.max(...ys) + span / 12, from = Math.log1p(Math.min(...xs) * 0.9), to = Math.log1p(Math.max(...xs) * 1.1 + 0.1);
    const x = (value) => LEFT + ((Math.log1p(value) - from) / (to - from)) * (width - LEFT - RIGHT);
    const y = (value) => TOP + ((high - value) / (high - low)) * (HEIGHT - TOP - BOTTOM);
    const power = 10 ** Math.floor(Math.log10(span)), step = [0.2, 0.5, 1, 2].map((size) => size * power).find((size) => span / size <= 5);
    for (let n = Math.ceil(low / step); n * step <= high; n++) {
      draw("line", svg, { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(n * step), y2: y(n * step) });
      draw("text", svg, { class: "tick", x: LEFT - 6, y: y(n * step) + 4, "text-anchor": "end" }, (n * step).toFixed(Math.max(0, Math.ceil(-Math.log10(step) - 1e-9))));
    }
    let last = -Infinity;
    for (const value of [0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 1000, 2000, 5000, 10000]) {
      const at = x(value);
      if (at < LEFT - 1 || at > width - RIGHT - 8 || at - last < 26) continue;
      draw("line", svg, { class: "grid", x1: at, x2: at, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM + 4 });
      draw("text", svg, { class: "tick", x: (last = at), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }, String(value));
    }
    draw("text", svg, { class: "tick", x: width - RIGHT, y: HEIGHT - 4, "text-anchor": "end" }, unit.name);
    if (Number.isFinite(limit) && limit >= Math.min(...xs) && limit <= Math.max(...xs)) draw("path", svg, { class: "limit", d: `M${x(limit)},${TOP}V${HEIGHT - BOTTOM}` });
    const line = unit.front.map((n) => curves.points[n]).map((point) => [x(point[column]), y(point[3])]);
    if (line.length) draw("path", svg, { class: "line", d: `M${line.map(([px, py], n) => (n ? `H${px}V${py}` : `${px},${py}`)).join("")}` });
    for (const point of points.sort((a, b) => a.on - b.on)) {
      const mark = draw("circle", svg, { class: point.on ? "on" : "other", cx: x(point.x), cy: y(point.y), r: point.on ? 4.5 : 3 });
      const whose = data.lines[point.line];
      draw("title", mark, {}, `${whose.model} with ${whose.prompter}, round ${point.round}: ${data.title} ${shown(point.y)} at ${cost(point.x)} ${unit.name}`);
    }
  }

  // The stop that the link names, if there is such a one.
  function linked(stops, otherwise) {
    const found = stops.findIndex((stop) => stop.label === view.get("stop"));
    return found < 0 ? otherwise : found;
  }

  function follow() {
    const { stops, start } = data.units[Number(controls.unit.value)];
    slider.value = linked(stops, start);
    show(true);
  }

  function show(said) {
    const number = Number(controls.unit.value), unit = data.units[number], at = Number(slider.value), stop = unit.stops[at];
    slider.nextElementSibling.textContent = stop.label;
    slider.setAttribute("aria-valuetext", stop.label);
    for (const one of section.querySelectorAll("[data-stop]")) one.classList.toggle("chosen", one.dataset.stop === `${number},${at}`);
    for (const one of section.querySelectorAll("[data-unit]")) one.classList.toggle("chosen", Number(one.dataset.unit) === number);
    const body = document.getElementById("board").tBodies[0];
    body.replaceChildren();
    for (const one of stop.rows) standing(body, one);
    for (const one of stop.outside) outside(body, one);
    section.querySelector(".more").textContent = stop.more ? `${stop.more} more lines are in the tables below.` : "";
    front(unit, Number(stop.label));
    if (said) section.querySelector("[role=status]").textContent = section.querySelector(`[data-stop="${number},${at}"] p`)?.textContent ?? "";
  }

  for (const radio of controls.unit.length ? controls.unit : [controls.unit])
    radio.addEventListener("change", () => {
      const { stops, start } = data.units[Number(controls.unit.value)];
      slider.max = stops.length - 1, slider.value = linked(stops, start), slider.disabled = stops.length === 1;
      show(true);
    });
  slider.addEventListener("input", () => {
    view.set({ stop: data.units[Number(controls.unit.value)].stops[Number(slider.value)].label }, "answers");
    show(true);
  });
  view.on(["stop"], follow);
  form.addEventListener("submit", (event) => event.preventDefault());
  let width = 0;
  new ResizeObserver(() => figure.clientWidth !== width && ((width = figure.clientWidth), show(false))).observe(figure);
  follow();
})();
