"use strict";
// The view that a link keeps, in the part of the address after #: `#viewer?target=spine_mr/mr-6/disc.1&round=2`. Before the question mark
// stands the section that was used last, after it what was chosen there and elsewhere; what is as at first does not stand there.
//
//   view.get("round")                     the text of the link, or null
//   view.set({ round: 2 }, "viewer")      changes the link; null takes a name out. For sliders and other small steps.
//   view.go({ target: "a" }, "viewer")    the same as a step that the browser's back button takes back; whoever follows the names is called.
//                                         With `true` as third argument it also scrolls to the section.
//   view.on(["round"], follow)            calls follow() when one of the names changes: by go, back, forward, or an edited address
//   view.bind(control, "dataset")         keeps a select, an input, or a list of radio buttons in the link, and follows the link. Whoever
//                                         listens to the control's change or input hears of both. What it holds then is its default.
//   view.following                        whether such a change comes from the link and not from the reader
//
// In the template, `data-view=NAME` on a select, an input, or a fieldset of radio buttons is enough: it is bound when the page has loaded.

const view = (() => {
  let { section, chosen } = read();
  let following = false;
  let waiting = 0; // browsers refuse too many changes a second, as a slider makes
  const followers = [];

  function read() {
    const [section, rest = ""] = location.hash.slice(1).split(/\?(.*)/s);
    return { section: decode(section), chosen: new Map(new URLSearchParams(rest)) };
  }

  function decode(text) {
    try { return decodeURIComponent(text); } catch { return text; }
  }

  // Written with few escapes: people read and send these.
  const escaped = (text) => encodeURIComponent(text).replace(/%(?:2F|3A|2C|3D)/g, decodeURIComponent).replaceAll("%20", "+");

  function address() {
    const rest = [...chosen].map(([name, value]) => `${escaped(name)}=${escaped(value)}`).join("&");
    return `#${section}${rest && `?${rest}`}`;
  }

  function change(values, to) {
    section = to ?? section;
    for (const [name, value] of Object.entries(values)) {
      if (value === null) chosen.delete(name);
      else chosen.set(name, String(value));
    }
  }

  function write(how = "replaceState") {
    clearTimeout(waiting);
    waiting = 0;
    if (address() !== (location.hash || "#")) history[how](null, "", address());
  }

  function set(values, to) {
    change(values, to);
    waiting ||= setTimeout(write, 250);
  }

  function go(values, to, scrolls = false) {
    if (waiting) write();
    const before = new Map(chosen);
    change(values, to);
    write("pushState");
    tell(before);
    if (scrolls) show();
  }

  function tell(before) {
    for (const [names, follow] of followers) if (names.some((name) => before.get(name) !== chosen.get(name))) follow();
  }

  function show(behavior) {
    document.getElementById(section)?.scrollIntoView({ behavior });
  }

  function follow() {
    clearTimeout(waiting);
    waiting = 0;
    const before = chosen;
    ({ section, chosen } = read());
    tell(before);
    show("instant");
  }

  function bind(control, name) {
    const radios = control.tagName ? null : [...control];
    const one = radios?.[0] ?? control;
    const current = () => (radios ? radios.find((radio) => radio.checked)?.value : control.type === "checkbox" ? String(control.checked) : control.value);
    const first = current();
    const put = () => {
      const value = chosen.get(name) ?? first;
      if (value === current()) return;
      const changed = radios ? radios.find((radio) => radio.value === value) : control;
      if (!changed || (control.options && ![...control.options].some((option) => option.value === value))) return; // of another report
      if (radios) changed.checked = true;
      else if (control.type === "checkbox") control.checked = value === "true";
      else control.value = value;
      following = true;
      for (const kind of ["input", "change"]) changed.dispatchEvent(new Event(kind, { bubbles: true }));
      following = false;
    };
    const slides = ["range", "search", "text", "number"].includes(one.type);
    for (const node of radios ?? [control])
      node.addEventListener(slides ? "input" : "change", () => {
        const value = current() === first ? null : current();
        if (value === (chosen.get(name) ?? null)) return;
        (slides ? set : go)({ [name]: value }, node.closest("section[id]")?.id);
      });
    followers.push([[name], put]);
    put();
  }

  addEventListener("popstate", follow);
  addEventListener("pagehide", () => waiting && write());
  addEventListener("DOMContentLoaded", () => {
    for (const node of document.querySelectorAll("[data-view]"))
      bind(node.tagName === "FIELDSET" ? node.querySelectorAll("input") : node, node.dataset.view);
  });
  addEventListener("load", () => section && requestAnimationFrame(() => show("instant"))); // once all is as high as it will be
  // Links to sections keep what was chosen.
  addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go({}, link.hash.slice(1), true);
  });

  return { get: (name) => chosen.get(name) ?? null, set, go, bind, on: (names, called) => followers.push([names, called]), get following() { return following; } };
})();
