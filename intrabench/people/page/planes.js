"use strict";
// The three linked planes of a scan, and their tools. Builds on Plane of reporting/page/plane.js, which comes
// before; knows nothing of questions.

const LOOK = "#3ec6ff"; // of every mask
const REFERENCE = "#8ee04e"; // of a target that may be shown

class Pane extends Plane {
  constructor(figure, axis) {
    super(figure, axis);
    this.pen = this.canvas.getContext("2d", { alpha: false });
  }

  // Takes a scan.
  show({ info }, neurological) {
    this.view = { ...info, origin: [0, 0, 0], factor: [1, 1, 1] }; // as Plane knows it
    this.forwards = info.photo;
    this.lay(info.plane);
    this.ways = [0, 1, 2].map((axis) => (info.photo || (neurological && axis === this.column && ENDS[this.sides[axis]] === "R") ? 1 : -1));
    this.call(["Axial", "Coronal", "Sagittal"][this.sides[this.axis]]);
    this.figure.hidden = this.axis > 0 && (info.photo || info.shape[0] === 1);
    this.slider.max = info.shape[this.axis] - 1;
    this.slider.disabled = info.shape[this.axis] === 1;
    this.small = new OffscreenCanvas(info.shape[this.column], info.shape[this.row]);
    this.picture = new ImageData(info.shape[this.column], info.shape[this.row]);
    this.drawn = null;
  }

  // The plane's name, which depends on the plane in which the scan is read: its slices come first.
  call(name) {
    this.figure.querySelector("figcaption").firstChild.data = `${name} `;
    this.canvas.dataset.name = `${name} plane`;
    this.canvas.setAttribute("aria-label", `${name} plane`);
    this.slider.setAttribute("aria-label", `${name} slice`);
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas;
    const sharp = Math.min(window.devicePixelRatio || 1, 2);
    Object.assign(this, { wide: clientWidth, high: clientHeight, sharp });
    this.canvas.width = Math.max(1, Math.round(clientWidth * sharp));
    this.canvas.height = Math.max(1, Math.round(clientHeight * sharp));
  }

  x(edge) { return this.wide / 2 + this.away(edge, this.column); }
  y(edge) { return this.high / 2 + this.away(edge, this.row); }
  away(edge, axis) { return (edge - this.centre[axis]) * this.ways[axis] * this.step[axis]; }

  // Pixels per millimetre when the whole plane is seen.
  fitting() { return Math.min(...[[this.wide, this.column], [this.high, this.row]].map(([room, axis]) => room / (this.view.shape[axis] * this.view.spacing[axis]))); }

  draw(scene) {
    const { at, volume } = scene, { pen } = this, mask = scene.masks[scene.side];
    this.index = at[this.axis];
    this.slider.value = this.index;
    this.output.value = `${this.index + 1} of ${this.view.shape[this.axis]}`;
    if (this.figure.hidden || !this.wide) return;
    this.centre = scene.centre;
    this.step = this.view.spacing.map((mm) => mm * this.fitting() * scene.zoom);
    pen.setTransform(this.sharp, 0, 0, this.sharp, 0, 0);
    pen.fillStyle = "#000";
    pen.fillRect(0, 0, this.wide, this.high);
    this.scan(volume, scene.table);
    const cut = scene.mode === "off" ? null : mask.cut(this.axis, this.index, this.row, this.column);
    if (cut) this.mask(cut, scene.mode, scene.opacity[scene.mode]);
    const truth = scene.reference?.cut(this.axis, this.index, this.row, this.column);
    if (truth) this.stroke(this.border(truth), REFERENCE, 1.5, [5, 4]);
    if (scene.prompts) this.prompts(scene.marks, true);
    if (scene.cross && !this.view.photo) this.cross(at);
    if (!this.view.photo) this.ends(), this.bar();
    if (this.axis === 0 && !volume.has(this.index)) this.text("Loading …", this.wide / 2, this.high / 2);
    this.canvas.setAttribute("aria-label", `${this.canvas.dataset.name} ${this.output.value}: ${cut ? "mask" : "no mask"} in this plane`);
  }

  // Drawn from the volume only when slice, window or scan have changed; else from the small canvas.
  scan(volume, table) {
    const [height, width] = [this.view.shape[this.row], this.view.shape[this.column]];
    const state = [volume, table, this.index, this.axis ? volume.count : volume.has(this.index)];
    if (!this.drawn || state.some((part, n) => part !== this.drawn[n])) {
      this.drawn = state;
      this.fill(volume, table, height, width);
      this.small.getContext("2d").putImageData(this.picture, 0, 0);
    }
    const [left, top] = [Math.min(this.x(0), this.x(width)), Math.min(this.y(0), this.y(height))];
    this.pen.imageSmoothingEnabled = true;
    this.pen.imageSmoothingQuality = this.step[this.column] < 0.7 ? "high" : "low";
    this.pen.drawImage(this.small, left, top, width * this.step[this.column], height * this.step[this.row]);
  }

  fill(volume, table, height, width) {
    const { words, info: { shape, channels } } = volume, pixels = new Uint32Array(this.picture.data.buffer);
    const stride = [shape[1] * shape[2], shape[2], 1].map((step) => step * channels);
    const [down, along] = [this.ways[this.row] > 0, this.ways[this.column] > 0], step = along ? stride[this.column] : -stride[this.column];
    const across = this.column === 0, missing = across ? [...Array(width).keys()].filter((slice) => !volume.has(slice)) : [];
    for (let row = 0, to = 0; row < height; row++) {
      const real = down ? row : height - 1 - row;
      if (!across && !volume.has(this.axis ? real : this.index)) {
        pixels.fill(0, to, (to += width));
        continue;
      }
      let from = this.index * stride[this.axis] + real * stride[this.row] + (along ? 0 : (width - 1) * stride[this.column]);
      const end = to + width;
      if (channels === 1) for (; to < end; to++, from += step) pixels[to] = table[words[from]];
      else for (; to < end; to++, from += step) pixels[to] = 0xff000000 | (words[from + 2] << 16) | (words[from + 1] << 8) | words[from];
      for (const slice of missing) pixels[along ? end - width + slice : end - 1 - slice] = 0;
    }
  }

  mask(cut, mode, opacity) {
    this.pen.globalAlpha = opacity;
    if (mode === "fill") {
      const small = new OffscreenCanvas(cut.width, cut.height), picture = new ImageData(cut.width, cut.height);
      const pixels = new Uint32Array(picture.data.buffer), { width, height } = cut;
      const [down, along] = [this.ways[this.row] > 0, this.ways[this.column] > 0];
      for (let row = 0, n = 0; row < height; row++)
        for (let column = 0; column < width; column++, n++)
          if (cut.cells[n]) pixels[(down ? row : height - 1 - row) * width + (along ? column : width - 1 - column)] = 0xffffc63e; // LOOK, backwards
      small.getContext("2d").putImageData(picture, 0, 0);
      const [left, top] = [Math.min(this.x(cut.column), this.x(cut.column + width)), Math.min(this.y(cut.row), this.y(cut.row + height))];
      this.pen.imageSmoothingEnabled = false;
      this.pen.drawImage(small, left, top, cut.width * this.step[this.column], cut.height * this.step[this.row]);
    } else {
      this.pen.lineCap = "square"; // closes the corners
      this.stroke(this.border(cut), LOOK, 1.75);
      this.pen.lineCap = "butt";
    }
    this.pen.globalAlpha = 1;
  }

  // Along the edges of voxels, each straight piece a line of its own.
  border({ row, column, height, width, cells }) {
    const path = new Path2D();
    const inside = (r, c) => r >= 0 && c >= 0 && r < height && c < width && cells[r * width + c] === 1;
    const runs = (lines, length, edge, draw) => {
      for (let line = 0; line <= lines; line++)
        for (let n = 0, start = -1; n <= length; n++) {
          const here = n < length && edge(line, n);
          if (here && start < 0) start = n;
          if (!here && start >= 0) draw(line, start, n), (start = -1);
        }
    };
    runs(height, width, (r, c) => inside(r - 1, c) !== inside(r, c), (r, from, to) => (path.moveTo(this.x(column + from), this.y(row + r)), path.lineTo(this.x(column + to), this.y(row + r))));
    runs(width, height, (c, r) => inside(r, c - 1) !== inside(r, c), (c, from, to) => (path.moveTo(this.x(column + c), this.y(row + from)), path.lineTo(this.x(column + c), this.y(row + to))));
    return path;
  }

  // Where the other planes are, with a gap that hides nothing.
  cross(at) {
    const [x, y, gap] = [this.x(at[this.column] + 0.5), this.y(at[this.row] + 0.5), 14];
    this.pen.fillStyle = "#fff8";
    for (const [from, to] of [[0, x - gap], [x + gap, this.wide]]) this.pen.fillRect(from, Math.floor(y), to - from, 1);
    for (const [from, to] of [[0, y - gap], [y + gap, this.high]]) this.pen.fillRect(Math.floor(x), from, 1, to - from);
  }

  text(words, x, y, align = "center") {
    Object.assign(this.pen, { font: "600 13px system-ui, sans-serif", textAlign: align, textBaseline: "middle", fillStyle: "#fff", strokeStyle: "#000", lineWidth: 3, lineJoin: "round" });
    this.pen.strokeText(words, x, y);
    this.pen.fillText(words, x, y);
  }

  // What lies at the top and on the left.
  borders() {
    const [top, left] = super.borders();
    return [top, this.ways[this.column] === this.ways[this.row] ? left : OPPOSITE[left]];
  }

  ends() {
    const [top, left] = this.borders(), { wide, high } = this;
    for (const [letter, x, y] of [[top, wide / 2, 11], [OPPOSITE[top], wide / 2, high - 11], [left, 11, high / 2], [OPPOSITE[left], wide - 11, high / 2]]) this.text(letter, x, y);
  }

  // How long a round number of millimetres is.
  bar() {
    const pixels = this.step[this.column] / this.view.spacing[this.column];
    const length = [200, 100, 50, 20, 10, 5, 2, 1, 0.5].find((mm) => mm * pixels < this.wide / 4) ?? 0.2;
    const path = new Path2D(), y = this.high - 12;
    path.moveTo(12, y - 4), path.lineTo(12, y), path.lineTo(12 + length * pixels, y), path.lineTo(12 + length * pixels, y - 4);
    this.stroke(path, "#fff", 1.5);
    this.text(`${length} mm`, 12, y - 12, "left");
  }

  // The voxel under a pointer, with its fraction.
  under(event) {
    const box = this.canvas.getBoundingClientRect(), spot = [];
    const back = (pixels, axis) => this.centre[axis] + (pixels * this.ways[axis]) / this.step[axis];
    spot[this.row] = back(event.clientY - box.top - this.high / 2, this.row);
    spot[this.column] = back(event.clientX - box.left - this.wide / 2, this.column);
    return spot;
  }

  // Mouse: left moves the cross, middle (or alt) the picture, right (or shift) level and width, the wheel slices, with ctrl the zoom.
  // Fingers: one turns slices, a tap moves the cross, two move and zoom. `does` has move, turn, enlarge, pan and drag.
  listen(does) {
    const { canvas } = this, down = new Map();
    const cross = (event) => does.move(Object.fromEntries(Object.entries(this.under(event)).map(([axis, place]) => [axis, Math.floor(place)])));
    this.slider.addEventListener("input", () => does.move({ [this.axis]: Number(this.slider.value) }));
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    let turned = 0; // pixels: a notch of a wheel is about 100, a finger on a trackpad sends many small turns
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const by = event.deltaMode ? 100 * Math.sign(event.deltaY) : event.deltaY;
      if (event.ctrlKey) return does.enlarge(Math.exp(-by / 300), this.under(event));
      turned += by;
      if (Math.abs(turned) < 50) return;
      does.turn(this.axis, -Math.sign(turned));
      turned = 0;
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      const { clientX: x, clientY: y, pointerType, button } = event;
      const task = pointerType === "touch" ? "touch" : button === 2 || event.shiftKey ? "level" : button === 1 || event.altKey ? "pan" : "cross";
      down.set(event.pointerId, { x, y, task, far: 0, owed: 0 });
      if (down.size > 1) for (const finger of down.values()) finger.far = Infinity; // no tap any more
      if (task === "cross") cross(event);
      if (button === 1) event.preventDefault();
    });
    canvas.addEventListener("pointermove", (event) => {
      const finger = down.get(event.pointerId);
      if (!finger) return;
      const [dx, dy] = [event.clientX - finger.x, event.clientY - finger.y];
      const others = [...down.values()].filter((other) => other !== finger);
      if (finger.task === "cross") cross(event);
      if (finger.task === "level") does.drag(dx, dy);
      if (finger.task === "pan") does.pan(this, dx, dy);
      if (finger.task === "touch" && others.length) {
        const [other] = others, apart = (x, y) => Math.max(20, Math.hypot(x - other.x, y - other.y));
        does.pan(this, dx / 2, dy / 2);
        does.enlarge(apart(event.clientX, event.clientY) / apart(finger.x, finger.y), this.under({ clientX: (event.clientX + other.x) / 2, clientY: (event.clientY + other.y) / 2 }));
      } else if (finger.task === "touch") {
        finger.far += Math.hypot(dx, dy);
        if (finger.far > 8) finger.owed -= dy;
        const slices = Math.trunc(finger.owed / 9); // pixels of a finger for a slice
        if (slices) does.turn(this.axis, slices);
        finger.owed -= 9 * slices;
      }
      Object.assign(finger, { x: event.clientX, y: event.clientY });
    });
    canvas.addEventListener("pointerup", (event) => {
      const finger = down.get(event.pointerId);
      if (finger?.task === "touch" && finger.far <= 8) cross(event);
    });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (event) => down.delete(event.pointerId));
  }
}

// All planes and what is set for them. `drawn` is told of each picture, with the moment when it was asked for.
class View {
  constructor(section, drawn) {
    Object.assign(this, { section, drawn, neurological: false, volume: null, at: [0, 0, 0], centre: [0, 0, 0], zoom: 1, side: 0, active: 0 });
    Object.assign(this, { mode: "outline", opacity: { outline: 1, fill: 0.4 }, prompts: true, cross: true, asked: 0, frame: 0 });
    this.panes = [...section.querySelectorAll("figure")].map((figure, axis) => new Pane(figure, axis));
    this.tools = section.querySelector("form").elements;
    const does = Object.fromEntries(["move", "turn", "enlarge", "pan", "drag"].map((name) => [name, (...args) => this.volume && this[name](...args)]));
    for (const pane of this.panes) pane.listen(does);
    this.listen();
    this.setMode(this.mode);
  }

  listen() {
    const { tools } = this, on = (control, does) => control.addEventListener(control.tagName === "BUTTON" ? "click" : "input", does);
    on(tools.preset, () => this.choose());
    for (const bar of [tools.level, tools.width])
      on(bar, () => {
        const [level, width] = [tools.level, tools.width].map(({ value }) => Number(value));
        this.setRange({ low: level - width / 2, high: level + width / 2 });
      });
    for (const radio of tools.mode) on(radio, () => this.setMode(radio.value));
    on(tools.opacity, () => this.setOpacity(Number(tools.opacity.value)));
    for (const name of ["prompts", "cross"]) on(tools[name], () => this.toggle(name));
    for (const [name, does] of [["smaller", () => this.enlarge(1 / 1.25)], ["larger", () => this.enlarge(1.25)], ["closer", () => this.closer()], ["whole", () => this.whole()]]) on(tools[name], does);
    new ResizeObserver(() => (this.panes.forEach((pane) => pane.resize()), this.volume && this.draw())).observe(this.section.querySelector(".planes"));
  }

  // A scan, masks on it, and where to begin.
  show(volume, job, at) {
    const other = volume !== this.volume;
    Object.assign(this, { volume, masks: job.masks, marks: job.marks, side: 0, at });
    volume.changed = () => volume === this.volume && this.render();
    if (other) this.panes.forEach((pane) => (pane.show(volume, this.neurological), pane.resize())), this.ranges();
    this.activate(0);
    this.whole();
  }

  // Levels and widths that this scan can have.
  ranges() {
    const { presets, preset, channels, dtype, slope, intercept, photo } = this.volume.info, { tools } = this;
    this.presets = presets ?? [];
    for (const node of this.section.querySelectorAll("[data-for=grey]")) node.hidden = channels === 3;
    for (const node of this.section.querySelectorAll("[data-for=scan]")) node.hidden = photo;
    tools.preset.replaceChildren(...this.presets.map(({ name }, n) => new Option(name, n)), new Option("free", -1));
    const ends = this.presets.flatMap(({ low, high }) => [low, high]);
    if (!ends.length) ends.push(...(dtype === "uint8" ? [intercept, 255 * slope + intercept] : [-160, 240]));
    const [low, high] = [Math.min(...ends), Math.max(...ends)];
    Object.assign(tools.level, { min: low, max: high });
    Object.assign(tools.width, { min: (high - low) / 200, max: high - low });
    this.setRange(this.presets[preset] ?? { low, high }, this.presets[preset] ? preset : -1);
  }

  setRange({ low, high }, preset = -1) {
    const { tools } = this, [level, width] = [(low + high) / 2, high - low], digits = width < 10 ? 2 : 0;
    this.range = { low, high };
    this.table = this.volume.table(this.range);
    tools.preset.value = preset;
    for (const [bar, value] of [[tools.level, level], [tools.width, width]]) {
      bar.value = value;
      bar.nextElementSibling.value = value.toFixed(digits);
    }
    this.render();
  }

  choose(preset = Number(this.tools.preset.value)) {
    if (this.presets[preset]) this.setRange(this.presets[preset], preset);
  }

  nextPreset(by) {
    const [now, count] = [Number(this.tools.preset.value), this.presets.length];
    if (count) this.choose(now < 0 ? (by > 0 ? 0 : count - 1) : (now + by + count) % count);
  }

  // Level by a part of the width, width by a factor.
  level(by, stretch) {
    if (this.volume.info.channels === 3) return;
    const { low, high } = this.range, width = Math.max((high - low) * stretch, 1e-3), middle = (low + high) / 2 + by * (high - low);
    this.setRange({ low: middle - width / 2, high: middle + width / 2 });
  }

  drag(dx, dy) { this.level(dy / 400, Math.exp(dx / 250)); }

  move(moved) {
    for (const [axis, index] of Object.entries(moved)) this.at[axis] = Math.min(Math.max(index, 0), this.volume.info.shape[axis] - 1);
    this.render();
  }

  turn(axis, by) { this.move({ [axis]: this.at[axis] + by }); }

  // What lies at `spot` stays there.
  enlarge(factor, spot = this.centre) {
    const zoom = Math.min(Math.max(this.zoom * factor, 0.5), 40);
    this.look(this.centre.map((middle, axis) => (spot[axis] === undefined ? middle : spot[axis] - ((spot[axis] - middle) * this.zoom) / zoom)), zoom);
  }

  pan(pane, dx, dy) {
    this.look(this.centre.map((middle, axis) => middle - (axis === pane.axis ? 0 : ((axis === pane.row ? dy : dx) * pane.ways[axis]) / pane.step[axis])), this.zoom);
  }

  look(centre, zoom) {
    this.centre = centre.map((middle, axis) => Math.min(Math.max(middle, 0), this.volume.info.shape[axis]));
    this.zoom = zoom;
    this.render();
  }

  whole() { this.look(this.volume.info.shape.map((count) => count / 2), 1); }

  // The mask, in about a third of the first plane.
  closer() {
    const { size, low, empty } = this.masks[this.side], { spacing } = this.volume.info, [pane] = this.panes;
    if (empty) return this.look(this.at.map((place) => place + 0.5), 3);
    const large = Math.max(size[1] * spacing[1], size[2] * spacing[2], 10 * spacing[1]);
    this.look(low.map((from, axis) => from + size[axis] / 2), Math.min(Math.max(Math.min(pane.wide, pane.high) / (2.5 * large * pane.fitting()), 1), 40));
  }

  activate(axis) {
    const open = this.panes.filter((pane) => !pane.figure.hidden).length;
    this.active = (axis + open) % open;
    for (const pane of this.panes) pane.figure.classList.toggle("active", open > 1 && pane.axis === this.active);
  }

  setMode(mode) {
    this.mode = this.tools.mode.value = mode;
    this.tools.opacity.disabled = mode === "off";
    this.tools.opacity.value = this.opacity[mode] ?? 1;
    this.render();
  }

  setOpacity(value) {
    if (this.mode === "off") return;
    this.tools.opacity.value = this.opacity[this.mode] = Math.round(10 * value) / 10;
    this.render();
  }

  toggle(name) {
    this[name] = this.tools[name].checked = !this[name];
    this.render();
  }

  render() {
    this.asked ||= performance.now();
    this.frame ||= requestAnimationFrame(() => this.draw());
  }

  draw() {
    const { asked } = this;
    cancelAnimationFrame(this.frame);
    this.frame = this.asked = 0;
    if (!this.volume) return;
    for (const pane of this.panes) pane.draw(this);
    this.drawn(asked);
  }
}
