"use strict";
// One plane of a window: the scan, outlines, prompts. Needs the decoded data of a target; knows nothing of controls.

const TARGET = "#56b4e9", ANSWER = "#f0a800", OTHERS = "#cc79a7", BACKGROUND_CLICK = "#ff7043", HAND = "#ffffff", DERIVED = "#b8bec5";
const TOO_MUCH = "#e69f00bf", MISSED = ["#0072b2b3", "#cfe8ff"]; // orange, and blue with stripes: told apart without colours, too
const ENDS = ["S", "A", "R"]; // what lies at the top and on the left: all axes run backwards on a screen
const OPPOSITE = { A: "P", R: "L", L: "R", S: "I" };
const AXES = { axial: [0, 1, 2], coronal: [1, 0, 2], sagittal: [2, 0, 1] }; // which of them are slices, rows and columns of a scan that is read in a plane

class Plane {
  constructor(figure, axis) {
    this.figure = figure;
    this.axis = axis;
    this.canvas = figure.querySelector("canvas");
    this.slider = figure.querySelector("input");
    this.output = figure.querySelector("output");
    this.pen = this.canvas.getContext("2d");
    this.lay("axial");
  }

  // Which axes of the array are rows and columns: as radiologists see a plane, whichever one the scan is read in.
  lay(plane) {
    this.sides = AXES[plane];
    [this.row, this.column] = [0, 1, 2].filter((other) => other !== this.axis).sort((one, other) => this.sides[one] - this.sides[other]);
  }

  // Takes the size of the window; `scale` is in pixels per millimetre, one for all planes.
  fit(view, scale) {
    this.figure.hidden = view.photo && this.axis > 0;
    this.forwards = view.photo;
    this.step = view.spacing.map((mm) => mm * scale);
    [this.canvas.height, this.canvas.width] = [this.row, this.column].map((axis) => Math.max(1, Math.round(view.shape[axis] * this.step[axis])));
    this.figure.style.flexGrow = this.canvas.width;
    this.view = view;
    this.name = view.photo ? (view.shape[0] > 1 ? "frame" : "picture") : `${this.canvas.dataset.name} slice`;
    this.slider.parentElement.querySelector("span").textContent = this.name;
    this.slider.max = view.shape[this.axis] - 1;
    this.slider.closest("label").hidden = view.shape[this.axis] === 1;
    this.small = new OffscreenCanvas(view.shape[this.column], view.shape[this.row]);
  }

  listen(moved) {
    this.slider.addEventListener("input", () => moved({ [this.axis]: Number(this.slider.value) }));
    let turned = 0; // pixels: a notch of a wheel is about 100, a finger on a trackpad sends many small turns
    this.canvas.addEventListener("wheel", (event) => {
      const next = this.index - Math.sign(event.deltaY);
      if (next < 0 || next >= this.view.shape[this.axis]) return; // at the end the page scrolls on
      event.preventDefault();
      turned += event.deltaMode ? 100 * Math.sign(event.deltaY) : event.deltaY;
      if (Math.abs(turned) < 50) return;
      turned = 0;
      moved({ [this.axis]: next });
    }, { passive: false });
    const point = (event) => {
      const box = this.canvas.getBoundingClientRect();
      const place = (fraction, axis) => Math.floor((this.forwards ? fraction : 1 - fraction) * this.view.shape[axis]);
      moved({
        [this.row]: place((event.clientY - box.top) / box.height, this.row),
        [this.column]: place((event.clientX - box.left) / box.width, this.column),
      });
    };
    this.canvas.addEventListener("pointerdown", point);
    this.canvas.addEventListener("click", () => this.slider.focus({ preventScroll: true }));
    this.canvas.addEventListener("pointermove", (event) => event.buttons & 1 && point(event));
  }

  // Pixel of an edge of voxels: voxel n lies between the edges n and n + 1 of the window.
  x(edge) { return (this.forwards ? edge : this.view.shape[this.column] - edge) * this.step[this.column]; }
  y(edge) { return (this.forwards ? edge : this.view.shape[this.row] - edge) * this.step[this.row]; }

  draw(view, at, { range, target, answer, errors, others, given, cross }) {
    this.index = at[this.axis];
    this.slider.value = this.index;
    this.output.value = `${this.place(this.index, this.axis)}`;
    this.scan(view, range);
    if (errors) this.errors(view.truth, errors);
    if (others) this.outline(others, OTHERS, [3, 5]);
    if (target) this.outline(target, TARGET, []);
    if (answer) this.outline(answer, ANSWER, [9, 6]);
    given.forEach((turns, n) => turns.forEach((turn) => this.prompts(turn, n === given.length - 1)));
    if (cross) this.cross(at);
    if (!view.photo) this.ends();
    const present = [target && "target", answer && "answer"].filter((name, n) => name && this.some([target, answer][n]));
    this.canvas.setAttribute("aria-label", `${this.name.replace(" slice", "")} ${this.output.value}: ${present.join(" and ") || "no outline"} in this plane`);
  }

  // The voxel of the whole scan that is in the middle of a voxel of the window.
  place(index, axis) { return this.view.origin[axis] + index * this.view.factor[axis] + (this.view.factor[axis] >> 1); }

  offset(row, column) {
    const where = [];
    (where[this.axis] = this.index), (where[this.row] = row), (where[this.column] = column);
    return (where[0] * this.view.shape[1] + where[1]) * this.view.shape[2] + where[2];
  }

  some(mask) {
    for (let row = 0; row < this.view.shape[this.row]; row++)
      for (let column = 0; column < this.view.shape[this.column]; column++) if (mask[this.offset(row, column)]) return true;
    return false;
  }

  scan(view, range) {
    const [height, width] = [view.shape[this.row], view.shape[this.column]];
    const grey = range && view.levels.map((value) => (255 * (value - range.low)) / (range.high - range.low)); // clamped by the array below
    const picture = new ImageData(width, height);
    for (let row = 0, n = 0; row < height; row++)
      for (let column = 0; column < width; column++, n += 4) {
        const from = this.offset(...(this.forwards ? [row, column] : [height - 1 - row, width - 1 - column]));
        for (let part = 0; part < 3; part++) picture.data[n + part] = grey ? grey[view.scan[from]] : view.scan[3 * from + part];
        picture.data[n + 3] = 255;
      }
    this.small.getContext("2d").putImageData(picture, 0, 0);
    this.pen.drawImage(this.small, 0, 0, this.canvas.width, this.canvas.height);
  }

  // What the answer has too much, and what it misses.
  errors(truth, answer) {
    const [tooMuch, missed] = [new Path2D(), new Path2D()], [height, width] = [this.view.shape[this.row], this.view.shape[this.column]];
    for (let row = 0; row < height; row++)
      for (let column = 0; column < width; column++) {
        const at = this.offset(row, column);
        if (truth[at] === answer[at]) continue;
        const [x, y] = [column, row].map((edge, n) => Math.min(...[edge, edge + 1].map((one) => (n ? this.y(one) : this.x(one)))));
        (answer[at] ? tooMuch : missed).rect(x, y, this.step[this.column], this.step[this.row]);
      }
    for (const [path, style] of [[tooMuch, TOO_MUCH], [missed, MISSED[0]], [missed, this.stripes()]]) {
      this.pen.fillStyle = style;
      this.pen.fill(path);
    }
  }

  stripes() {
    const tile = new OffscreenCanvas(12, 12), pen = tile.getContext("2d");
    pen.strokeStyle = MISSED[1];
    pen.lineWidth = 2;
    pen.beginPath();
    for (const start of [-6, 6, 18]) pen.moveTo(start - 8, 14), pen.lineTo(start + 8, -2);
    pen.stroke();
    return this.pen.createPattern(tile, "repeat");
  }

  // The border of a mask, as closed lines along edges of voxels, so that dashes run on.
  outline(mask, colour, dash) {
    const [height, width] = [this.view.shape[this.row], this.view.shape[this.column]];
    const inside = (row, column) => row >= 0 && column >= 0 && row < height && column < width && mask[this.offset(row, column)];
    const next = new Map(); // from a corner to the ends of the edges that leave it, with the mask on their right
    const edge = (row, column, toRow, toColumn) => {
      const corner = row * (width + 1) + column;
      next.set(corner, [...(next.get(corner) ?? []), toRow * (width + 1) + toColumn]);
    };
    for (let row = 0; row < height; row++)
      for (let column = 0; column < width; column++) {
        if (!inside(row, column)) continue;
        if (!inside(row - 1, column)) edge(row, column, row, column + 1);
        if (!inside(row, column + 1)) edge(row, column + 1, row + 1, column + 1);
        if (!inside(row + 1, column)) edge(row + 1, column + 1, row + 1, column);
        if (!inside(row, column - 1)) edge(row + 1, column, row, column);
      }
    const path = new Path2D();
    while (next.size) {
      const first = next.keys().next().value;
      const walk = (corner) => [this.x(corner % (width + 1)), this.y(Math.floor(corner / (width + 1)))];
      path.moveTo(...walk(first));
      for (let corner = first; ; ) {
        const ends = next.get(corner);
        const to = ends.pop();
        if (!ends.length) next.delete(corner);
        if (to === first) break;
        path.lineTo(...walk(to));
        corner = to;
      }
      path.closePath();
    }
    this.stroke(path, colour, 3, dash);
  }

  // Bright on a dark seam, to be seen on any grey.
  stroke(path, colour, width, dash = []) {
    this.pen.setLineDash(dash);
    for (const [style, wide] of [["#000a", width + 2], [colour, width]]) {
      this.pen.strokeStyle = style;
      this.pen.lineWidth = wide;
      this.pen.stroke(path);
    }
    this.pen.setLineDash([]);
  }

  // Prompts where they cross the plane; those of earlier rounds are fainter.
  prompts({ points, boxes, strokes }, latest) {
    const { origin, factor } = this.view;
    const inWindow = (value, axis) => (value - origin[axis]) / factor[axis];
    const here = (voxel) => Math.floor(inWindow(voxel, this.axis)) === this.index;
    const spot = (voxel) => [this.x(inWindow(voxel[this.column] + 0.5, this.column)), this.y(inWindow(voxel[this.row] + 0.5, this.row))];
    this.pen.globalAlpha = latest ? 1 : 0.45;
    for (const box of boxes) {
      const [low, high] = [box.slice(0, 3), box.slice(3, 6)].map((corner) => corner.map(inWindow));
      if (this.index + 1 <= low[this.axis] || this.index >= high[this.axis]) continue;
      const [left, right, top, bottom] = [this.x(low[this.column]), this.x(high[this.column]), this.y(low[this.row]), this.y(high[this.row])];
      const path = new Path2D();
      const flat = [0, 1, 2].find((axis) => box[axis + 3] - box[axis] === 1); // drawn in one slice across this axis:
      if (flat === this.row) for (const x of [left, right]) path.moveTo(x, top), path.lineTo(x, bottom); // of its side
      else if (flat === this.column) for (const y of [top, bottom]) path.moveTo(left, y), path.lineTo(right, y); // only the ends, which hide nothing
      else path.rect(left, top, right - left, bottom - top);
      this.stroke(path, box[6] ? HAND : DERIVED, 2, box[6] ? [] : [3, 4]);
    }
    for (const { points: voxels, label, closed } of strokes) {
      const path = new Path2D();
      let drawn = false;
      voxels.forEach((voxel, n) => {
        if (!here(voxel[this.axis])) return void (drawn = false);
        if (drawn) path.lineTo(...spot(voxel));
        else path.moveTo(...spot(voxel)), path.lineTo(...spot(voxel).map((value) => value + 0.1));
        drawn = true;
      });
      if (closed && voxels.every((voxel) => here(voxel[this.axis]))) path.closePath();
      this.pen.lineCap = "round";
      this.stroke(path, label ? HAND : BACKGROUND_CLICK, 7);
      this.pen.lineCap = "butt";
    }
    for (const point of points) if (here(point[this.axis])) this.click(...spot(point), point[3], point[4]);
    this.pen.globalAlpha = 1;
  }

  // A plus for the target, a cross for background; small when it was derived, not clicked.
  click(x, y, label, hand) {
    const size = hand ? 8 : 5, turn = label ? 0 : Math.PI / 4;
    const path = new Path2D();
    for (const angle of [turn, turn + Math.PI / 2]) {
      path.moveTo(x - size * Math.cos(angle), y - size * Math.sin(angle));
      path.lineTo(x + size * Math.cos(angle), y + size * Math.sin(angle));
    }
    this.stroke(path, label ? (hand ? HAND : DERIVED) : BACKGROUND_CLICK, hand ? 4 : 3);
  }

  // Where the other planes are.
  cross(at) {
    this.pen.fillStyle = "#fff6";
    this.pen.fillRect(this.x(at[this.column] + 0.5), 0, 1, this.canvas.height);
    this.pen.fillRect(0, this.y(at[this.row] + 0.5), this.canvas.width, 1);
  }

  borders() { return [this.row, this.column].map((axis) => ENDS[this.sides[axis]]); }

  ends() {
    this.pen.font = "bold 20px system-ui, sans-serif";
    this.pen.fillStyle = "#fff";
    this.pen.strokeStyle = "#000";
    this.pen.lineWidth = 3;
    this.pen.textAlign = "center";
    this.pen.textBaseline = "middle";
    const [top, left] = this.borders(), { width, height } = this.canvas;
    for (const [text, x, y] of [[top, width / 2, 14], [OPPOSITE[top], width / 2, height - 14], [left, 14, height / 2], [OPPOSITE[left], width - 14, height / 2]]) {
      this.pen.strokeText(text, x, y);
      this.pen.fillText(text, x, y);
    }
  }
}
