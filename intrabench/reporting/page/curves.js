"use strict";
// The score that leads against effort: a panel per model or prompter, a curve per line, a point per round.

(() => {
  const section = document.getElementById("curves");
  const data = JSON.parse(document.getElementById("curve-data").textContent);
  const panels = section.querySelector(".panels");
  const tip = section.querySelector(".tip");
  const controls = section.querySelector(".controls").elements;

  const MARKS = [
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0", // circle
    "M-3.5,-3.5h7v7h-7z",
    "M0,-4.6L4.4,3.4H-4.4z",
    "M0,-5L5,0L0,5L-5,0z",
    "M0,4.6L4.4,-3.4H-4.4z",
  ];
  const DASHES = ["", "7 3", "2 3"];
  const COLOURS = 7;
  const [LEFT, RIGHT, TOP, BOTTOM, HEIGHT] = [34, 12, 8, 34, 300];

  function draw(tag, attributes, parent, text) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    parent?.append(node);
    return node;
  }

  const unique = (values) => [...new Set(values)].sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
  const short = (value) => value.toLocaleString("en", { maximumSignificantDigits: value < 100 ? 2 : 3 });

  // The numbers 1, 2 and 5 times powers of ten from `low` to `high`: the scale of effort is logarithmic.
  function ticks(low, high) {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
      for (const digit of [1, 2, 5]) {
        const value = Number(`${digit}e${power}`);
        if (value >= low && value <= high) found.push(value);
      }
    return found;
  }

  function scales(points, width) {
    const xs = points.map((point) => point.x), ys = points.flatMap((point) => [point.low ?? point.y, point.high ?? point.y]);
    const low = Math.min(...xs) / 1.25, high = Math.max(...xs) * 1.25;
    const [least, most] = [Math.min(...ys), Math.max(...ys)];
    const step = [0.01, 0.02, 0.05, 0.1, 0.2].find((size) => most - least <= 5 * size) ?? 0.2;
    const floor = Math.floor(least / step) * step, roof = Math.max(Math.ceil(most / step), Math.floor(least / step) + 1) * step;
    const x = (value) => LEFT + ((Math.log(value) - Math.log(low)) / (Math.log(high) - Math.log(low))) * (width - LEFT - RIGHT);
    const y = (value) => TOP + ((roof - value) / (roof - floor)) * (HEIGHT - TOP - BOTTOM);
    return { x, y, low, high, floor, roof, step };
  }

  function axes(svg, scale, width, name) {
    for (let n = 0, value = scale.floor; value <= scale.roof + 1e-9; value = scale.floor + ++n * scale.step) {
      const y = scale.y(value);
      draw("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y, y2: y }, svg);
      draw("text", { class: "tick", x: LEFT - 6, y: y + 4, "text-anchor": "end" }, svg, value.toFixed(Math.max(1, Math.ceil(-Math.log10(scale.step) - 1e-9))));
    }
    let last = -Infinity;
    for (const value of ticks(scale.low, scale.high)) {
      const x = scale.x(value);
      draw("line", { class: "grid", x1: x, x2: x, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM + 4 }, svg);
      const text = draw("text", { class: "tick", x, y: HEIGHT - BOTTOM + 15, "text-anchor": "middle" }, svg, short(value)), half = text.getBBox().width / 2;
      if (x - half < last + 6 || x + half > width) text.remove();
      else last = x + half;
    }
    draw("text", { class: "tick", x: width - RIGHT, y: HEIGHT - 3, "text-anchor": "end" }, svg, name);
    draw("text", { class: "tick", x: LEFT + 4, y: TOP + 10 }, svg, data.title);
  }

  // Places that a curve goes through, near enough to each other for no name to fit between them.
  function covered(points) {
    const places = points.map((point) => [point.px, point.py]);
    points.slice(1).forEach((point, n) => {
      const count = Math.ceil(Math.hypot(point.px - points[n].px, point.py - points[n].py) / 10);
      for (let k = 1; k < count; k++) places.push([0, 1].map((axis) => (places[n][axis] * (count - k) + places[n + 1][axis] * k) / count));
    });
    return places;
  }

  // Names beside the curves' last points, at the first place that nothing else covers; what finds none is listed below.
  function label(svg, series, scale, width) {
    const taken = series.flatMap((one) => covered(one.points).map(([x, y]) => [x - 5, y - 5, x + 5, y + 5]));
    taken.push([LEFT, TOP, LEFT + 32, TOP + 12]); // the name of the axis
    const left = [];
    for (const one of [...series].sort((a, b) => a.end.py - b.end.py)) {
      const text = draw("text", { "aria-hidden": "true" }, svg, one.name);
      const { width: wide } = text.getBBox(), high = 12, { px, py } = one.end;
      const free = [0, -13, 13].flatMap((shift) => [[px + 9, py + shift], [px - 9 - wide, py + shift], [px - wide / 2, py + shift]])
        .map(([x, y]) => [x, y - high / 2, x + wide, y + high / 2])
        .find((box) => box[0] >= LEFT && box[2] <= width && box[1] >= 0 && box[3] <= HEIGHT - BOTTOM &&
          !taken.some((other) => box[0] - 3 < other[2] && box[2] + 3 > other[0] && box[1] < other[3] && box[3] > other[1]));
      if (!free) { text.remove(); left.push(one); continue; }
      taken.push(free);
      text.setAttribute("x", free[0]), text.setAttribute("y", free[1] + high - 2);
      one.group.append(text);
    }
    return left.sort((a, b) => a.style - b.style);
  }

  function curve(svg, one, scale) {
    const group = draw("g", { class: "series", style: `--colour: var(--s${one.style % COLOURS})` }, svg);
    for (const point of one.points) (point.px = scale.x(point.x)), (point.py = scale.y(point.y)), (point.series = one);
    const path = one.points.map((point) => `${point.px.toFixed(1)},${point.py.toFixed(1)}`).join("L");
    const sure = one.points.filter((point) => point.low !== null);
    const edge = (end) => sure.map((point) => `${point.px.toFixed(1)},${scale.y(point[end]).toFixed(1)}`);
    if (sure.length > 1) draw("path", { class: "band", d: `M${[...edge("high"), ...edge("low").reverse()].join("L")}Z` }, group);
    draw("path", { d: `M${path}`, "stroke-dasharray": DASHES[one.style % DASHES.length] }, group);
    for (const point of one.points) {
      if (point.low !== null) draw("path", { class: "bar", d: `M${point.px},${scale.y(point.low)}V${scale.y(point.high)}` }, group);
      point.node = draw("g", { class: "point", tabindex: -1, role: "img", "aria-label": describe(point), transform: `translate(${point.px} ${point.py})` }, group);
      draw("path", { class: "mark", d: MARKS[one.style % MARKS.length] }, point.node);
    }
    one.group = group;
    one.end = one.points.at(-1);
  }

  const describe = (point) =>
    `${point.series?.name ?? point.name}\n${point.round ? `after ${point.round} correction${point.round > 1 ? "s" : ""}` : "after the first prompts"}\n` +
    `${data.title} ${fixed(point.y, 3)}${point.low === null ? "" : ` (${point.low.toFixed(2)}–${point.high.toFixed(2)})`}\n` +
    data.efforts.map((effort, n) => `${effort.name} ${point.efforts[n] === null ? "–" : short(point.efforts[n])}`).join("\n");

  function panel(title, lines, names, effort, every) {
    const figure = document.createElement("figure");
    const heading = figure.appendChild(document.createElement("h3"));
    heading.textContent = title;
    panels.insertBefore(figure, tip);
    const width = Math.max(280, figure.clientWidth);
    const svg = draw("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "group", tabindex: 0,
      "aria-label": `${title}: ${data.title} against ${data.efforts[effort].name}. Arrow keys go from point to point.` }, figure);
    const points = lines.flatMap((line) => line.points);
    const scale = scales(every, width);
    axes(svg, scale, width, data.efforts[effort].name);
    for (const line of lines) line.style = names.indexOf(line.name);
    for (const line of [...lines].sort((a, b) => b.points.length - a.points.length)) curve(svg, line, scale); // single points on top
    const unlabelled = label(svg, lines, scale, width);
    if (unlabelled.length) legend(figure, unlabelled);
    listen(svg, lines, points);
  }

  function legend(figure, lines) {
    const list = figure.appendChild(document.createElement("ul"));
    list.className = "unlabelled";
    for (const line of lines) {
      const entry = list.appendChild(document.createElement("li"));
      const key = draw("svg", { viewBox: "0 0 34 12", "aria-hidden": "true" }, entry);
      const group = draw("g", { class: "series", style: `--colour: var(--s${line.style % COLOURS})` }, key);
      draw("path", { d: "M1,6H33", "stroke-dasharray": DASHES[line.style % DASHES.length] }, group);
      draw("path", { class: "mark", d: MARKS[line.style % MARKS.length], transform: "translate(17 6)" }, group);
      entry.append(" ", line.name);
    }
  }

  function show(svg, point) {
    svg.classList.toggle("dim", Boolean(point));
    for (const group of svg.querySelectorAll(".lit")) group.classList.remove("lit");
    tip.hidden = !point;
    if (!point) return;
    point.series.group.classList.add("lit");
    tip.textContent = describe(point);
    const box = point.node.getBoundingClientRect(), frame = panels.getBoundingClientRect();
    tip.style.left = `${Math.max(0, Math.min(box.right - frame.left + 6, frame.width - tip.offsetWidth))}px`;
    tip.style.top = `${box.bottom - frame.top + 6}px`;
  }

  function listen(svg, lines, points) {
    const nearest = (event) => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const away = (point) => Math.hypot(point.px - at.x, point.py - at.y);
      const found = points.reduce((best, point) => (away(point) < away(best) ? point : best));
      return away(found) < 40 ? found : null;
    };
    svg.addEventListener("pointermove", (event) => show(svg, nearest(event)));
    svg.addEventListener("pointerleave", () => show(svg, null));
    svg.addEventListener("focusin", (event) => show(svg, points.find((point) => point.node === event.target) ?? null));
    svg.addEventListener("focusout", () => show(svg, null));
    svg.addEventListener("keydown", (event) => {
      if (event.key === "Escape") return show(svg, null);
      const along = { ArrowRight: 1, ArrowLeft: -1 }[event.key] ?? 0, across = { ArrowDown: 1, ArrowUp: -1 }[event.key] ?? 0;
      if (!along && !across) return;
      event.preventDefault();
      const now = points.find((point) => point.node === document.activeElement);
      if (!now) return points[0].node.focus();
      const line = lines.at((lines.indexOf(now.series) + across) % lines.length);
      line.points.at(Math.min(Math.max(now.series.points.indexOf(now) + along, 0), line.points.length - 1)).node.focus();
    });
  }

  function redraw() {
    for (const figure of panels.querySelectorAll("figure")) figure.remove();
    tip.hidden = true;
    const dataset = controls.dataset.selectedIndex, effort = Number(controls.effort.value);
    const [facet, other] = controls.facet.value === "model" ? ["model", "prompter"] : ["prompter", "model"];
    const named = data.lines.map((line) => ({ facet: line[facet], name: line[other] + (line.notes ? ` (${line.notes})` : ""), points: [] }));
    for (const [set, line, round, y, low, high, ...efforts] of data.points)
      if (set === dataset && efforts[effort] > 0)
        named[line].points.push({ name: named[line].name, round, y, low, high, efforts, x: efforts[effort] });
    const drawn = named.filter((line) => line.points.length);
    const names = unique(drawn.map((line) => line.name));
    const every = drawn.flatMap((line) => line.points); // all panels have one scale, to be compared
    for (const title of unique(drawn.map((line) => line.facet))) panel(title, drawn.filter((line) => line.facet === title), names, effort, every);
    section.querySelector(".empty").hidden = drawn.length > 0;
    const others = data.datasets.length > 1 ? "other data sets and efforts" : "other efforts";
    section.querySelector(".paper").textContent = `Data set: ${data.datasets[dataset]}. The file itself also draws ${others}.`;
  }

  let width = 0;
  new ResizeObserver(() => panels.clientWidth !== width && ((width = panels.clientWidth), redraw())).observe(panels);
  for (const control of controls) control.addEventListener("change", redraw);
})();
