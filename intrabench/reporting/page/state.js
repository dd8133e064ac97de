"use strict";
// The view that a link keeps, in the part of the address after #: `#viewer?target=spine_mr/mr-6/disc.1&round=2`. Before the question mark
// stands the section, after it what was chosen. What has not been chosen, or is as at first, does not stand there.
//
//   view.get("round")                  the text of the link, or null
//   view.set({ round: 2 })             changes the link; null takes a name out. For sliders and other small steps.
//   view.go({ target: "a" }, "viewer") the same as a step that the browser's back button takes back; it goes to the section, if one is named
//   view.on(["round"], follow)         calls follow() when one of the names changes by back, forward, or an edited address; not by set and go
//   view.bind(control, "dataset")      keeps a select, an input, or a list of radio buttons in the link, and follows the link. Whoever
//                                      listens to the control's change or input hears of both. What the control holds then is its default.
//
// In the template, `data-view=NAME` on a select, an input, or a fieldset of radio buttons is enough: it is bound when the page has loaded.

const view = (() => {
  let { section, chosen } = read();
  let waiting = 0; // browsers refuse too many changes a second, as a slider makes
  const followers = [];

  function read() {
    const [section, rest = ""] = location.hash.slice(1).split(/\?(.*)/s);
    return { section: decode(section), chosen: new Map(new URLSearchParams(rest)) };
  }

  function decode(text) {
    try { return decodeURIComponent(text); } catch { return text; }
  }

  function address() {
    // Written with few escapes: people read and send these.
    const escaped = (text) => encodeURIComponent(text).replace(/%(?:2F|3A|2C|3D|20)/g, (code) => (code === "%20" ? "+" : decodeURIComponent(code)));
    const rest = [...chosen].map(([name, value]) => `${escaped(name)}=${escaped(value)}`).join("&");
    return `#${section}${rest && `?${rest}`}`;
  }

  function change(values) {
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

  function set(values) {
    change(values);
    waiting ||= setTimeout(write, 250);
  }

  function go(values, to = section) {
    if (waiting) write();
    change(values);
    section = to;
    write("pushState");
    show();
  }

  function show(behavior) {
    document.getElementById(section)?.scrollIntoView({ behavior });
  }

  function follow() {
    clearTimeout(waiting);
    waiting = 0;
    const before = chosen;
    ({ section, chosen } = read());
    for (const [names, called] of followers) if (names.some((name) => before.get(name) !== chosen.get(name))) called();
    show("instant");
  }

  function bind(control, name) {
    const radios = control.length !== undefined && control.tagName !== "SELECT" ? [...control] : null;
    const read = () => (radios ? radios.find((one) => one.checked)?.value : control.type === "checkbox" ? String(control.checked) : control.value);
    const first = read();
    const put = () => {
      const value = chosen.get(name) ?? first;
      if (value === read()) return;
      const changed = radios ? radios.find((one) => one.value === value) : control;
      if (!changed || (control.options && ![...control.options].some((one) => one.value === value))) return; // of another report
      if (radios) changed.checked = true;
      else if (control.type === "checkbox") control.checked = value === "true";
      else control.value = value;
      for (const kind of ["input", "change"]) changed.dispatchEvent(new Event(kind, { bubbles: true }));
    };
    const slides = ["range", "search", "text", "number"].includes(control.type);
    for (const one of radios ?? [control])
      one.addEventListener(slides ? "input" : "change", () => {
        const value = read() === first ? null : read();
        if (value === (chosen.get(name) ?? null)) return;
        if (slides) set({ [name]: value });
        else go({ [name]: value }, section);
      });
    followers.push([[name], put]);
    put();
  }

  addEventListener("popstate", follow);
  addEventListener("pagehide", () => waiting && write());
  addEventListener("DOMContentLoaded", () => {
    for (const node of document.querySelectorAll("[data-view]"))
      bind(node.tagName === "FIELDSET" ? node.querySelectorAll("input") : node, node.dataset.view);
    // Links to sections keep what was chosen.
    for (const link of document.querySelectorAll('a[href^="#"]'))
      link.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        go({}, link.hash.slice(1));
      });
    show("instant");
  });

  return { get: (name) => chosen.get(name) ?? null, set, go, bind, on: (names, called) => followers.push([names, called]) };
})();
