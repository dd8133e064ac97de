"use strict";
// What all pages have: nodes, messages, and keys.

const $ = (id) => document.getElementById(id);
const put = (id, text) => $(id).textContent === text || ($(id).textContent = text); // a live region says again what is set again
const say = (text) => put("message", text);

const make = (tag, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
};

const looking = () => !document.hidden && !document.querySelector("dialog[open]");
const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds) % 60).padStart(2, "0")}`;

// Over the whole page; without a button where nothing can go on.
function note(title, paragraphs, button) {
  put("note-title", title);
  $("note-text").replaceChildren(...paragraphs.map((text) => make("p", {}, text)));
  put("go", button ?? "");
  $("go").hidden = !button;
  if (!$("note").open) $("note").showModal();
}

// Rows of keys: what is shown, what it means, what each key does.
function keysOf(view) {
  const turn = (by) => () => view.turn(view.active, by);
  return [
    ["↑ ↓", "next slice; Page keys: ten slices", { ArrowUp: turn(1), ArrowDown: turn(-1), PageUp: turn(10), PageDown: turn(-10) }],
    ["← →", "other plane", { ArrowLeft: () => view.activate(view.active - 1), ArrowRight: () => view.activate(view.active + 1) }],
    ["[ ]", "window", { "[": () => view.nextPreset(-1), "]": () => view.nextPreset(1) }],
    [", .", "level", { ",": () => view.level(-0.05, 1), ".": () => view.level(0.05, 1) }],
    ["- =", "width", { "-": () => view.level(0, 1 / 1.1), "=": () => view.level(0, 1.1), "+": () => view.level(0, 1.1) }],
    ["Z X", "zoom out, in", { z: () => view.enlarge(1 / 1.25), x: () => view.enlarge(1.25) }],
    ["C V", "to the mask, whole slice", { c: () => view.closer(), v: () => view.whole() }],
    ["M", "mask: outline, fill, off", { m: () => view.setMode({ outline: "fill", fill: "off", off: "outline" }[view.mode]) }],
    ["O", "opacity", { o: () => view.setOpacity(view.opacity[view.mode] > 0.25 ? view.opacity[view.mode] - 0.2 : 1) }],
    ["P L", "prompts, cross", { p: () => view.toggle("prompts"), l: () => view.toggle("cross") }],
  ];
}

// Has the rows of keys act, and lists them in the help; of two rows with the same key the first has it. may: whether a key acts now.
// inside: what a key does in the open dialog.
function bindKeys(rows, may, inside = () => {}) {
  const keymap = new Map();
  for (const [, , keys] of rows) for (const [name, does] of Object.entries(keys)) if (!keymap.has(name)) keymap.set(name, does);
  const used = rows.filter(([, , keys]) => Object.entries(keys).some(([name, does]) => keymap.get(name) === does));
  $("keys").append(...used.flatMap(([shown, text]) => [make("dt", {}, shown), make("dd", {}, text)]));
  document.addEventListener("keydown", (event) => {
    const open = document.querySelector("dialog[open]");
    const target = event.target.closest("dialog:not([open])") ? document.body : event.target; // the focus leaves a closed dialog a frame later
    const plain = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if ((event.ctrlKey || event.altKey || event.metaKey) && !event.getModifierState("AltGraph")) return;
    if (open) return open.id === "helping" && plain === "h" && !event.repeat ? open.close() : inside(open, plain);
    if (target.matches("textarea")) return event.key === "Escape" && target.blur();
    if (target.matches("select") || (target.matches("[type=range], [type=radio]") && /^(Arrow|Page|Home|End)/.test(event.key))) return;
    if ((event.key === " " && target.matches("button, input:not([type=range])")) || (event.key === "Enter" && target.matches("button"))) return;
    const digit = /^Digit(\d)$/.exec(event.code)?.[1]; // where digits need Shift
    const does = keymap.get(event.shiftKey && event.key.startsWith("Arrow") ? `shift ${event.key}` : plain) ?? keymap.get(digit);
    if (!does) return;
    event.preventDefault();
    if (may(plain) && !(event.repeat && !/^(Arrow|Page)|^[nzx,.=+-]$/.test(plain))) does();
  });
  return keymap;
}

// After a click the keys are those of the page again, not those of what was clicked.
function releaseFocus() {
  let pressed = -Infinity;
  document.addEventListener("pointerdown", () => (pressed = performance.now()), true);
  const release = ({ target }) => performance.now() - pressed < 5000 && !target.closest("dialog, select") && document.activeElement.closest("button, input") && document.activeElement.blur();
  document.addEventListener("click", release);
  document.addEventListener("pointerup", ({ target }) => target.matches("[type=range]") && setTimeout(() => target.blur()));
  document.addEventListener("change", ({ target }) => target.matches("select") && target.blur());
}
