"use strict";
// The strip of slices.

const KNOB = 18; // pixels: the length of the knob of the slider beside the strip, as in people.css

// Beside the slider of the slices: those to be seen, and of them those seen.
class Strip {
  constructor(canvas) { this.canvas = canvas; }

  draw(count, [low, high], seen) {
    const { clientWidth: wide, clientHeight: high_, canvas = this.canvas } = this.canvas;
    const sharp = window.devicePixelRatio || 1, pen = canvas.getContext("2d"), style = getComputedStyle(canvas);
    const edge = (slice) => KNOB / 2 + (count > 1 ? 1 - (slice - 0.5) / (count - 1) : 0.5) * (high_ - KNOB);
    (canvas.width = wide * sharp), (canvas.height = high_ * sharp);
    pen.scale(sharp, sharp);
    pen.fillStyle = style.getPropertyValue("--rule");
    pen.fillRect(wide / 2 - 0.5, 0, 1, high_);
    const [top, bottom] = [Math.max(0, edge(high)), Math.min(high_, edge(low))];
    pen.fillStyle = style.getPropertyValue("--ground");
    pen.fillRect(0, top, wide, bottom - top);
    pen.fillStyle = style.getPropertyValue("--link");
    for (let z = low; z < high; z++) if (seen.has(z)) pen.fillRect(0, edge(z + 1), wide, Math.max(1, edge(z) - edge(z + 1) + 0.2));
    pen.strokeStyle = style.getPropertyValue("--muted");
    pen.strokeRect(0.5, top + 0.5, wide - 1, Math.max(2, bottom - top - 1));
  }
}
