"use strict";
// The page of a person who is shown a target for a moment, and clicks on it: one click for each.

(() => {
  const HOW = {
    text: "the name of what to click", cutout: "what to click, on grey", shifted: "what to click, on grey and at another place",
    silhouette: "the shape of what to click", outline: "the outline of what to click",
  };
  const image = $("picture");
  let about, scene = null, phase = "", since = 0, run = 0;

  const trouble = (error) => put("trouble", !error ? "" : passing(error) ? "The server does not answer. Trying again." : error.message);

  function fail(error) {
    if (error.status === 401 || error.status === 403) error.message = "The server does not know this link. Open the link that it printed when it was started.";
    if (about) put("trouble", error.message);
    else note("This cannot start", [error.message], null);
    if (!(error instanceof Refused)) throw error;
  }

  const device = () => (window.matchMedia("(pointer: coarse)").matches ? "mobile" : "pc");

  function status() {
    const total = about.done + about.left.length;
    put("count", `${about.done} of ${total} clicked`);
    Object.assign($("bar"), { max: Math.max(1, total), value: about.done });
  }

  // As large as fits, with square millimetres.
  function place() {
    if (!scene) return;
    const { clientWidth, clientHeight } = $("stage"), tall = scene.height * scene.aspect;
    const scale = Math.min(clientWidth / scene.width, clientHeight / tall);
    image.style.width = `${scene.width * scale}px`;
    image.style.height = `${tall * scale}px`;
  }

  async function show(source, name) {
    image.hidden = !source;
    $("name").hidden = !name;
    put("name", name ?? "");
    if (source) (image.src = source), await image.decode();
    place();
  }

  // The image, what to click, the image again; then a click counts.
  async function play() {
    const turn = ++run, [first, second, third] = about.seconds.map((seconds) => 1000 * seconds);
    const goesOn = () => turn === run;
    const steps = [
      ["image", scene.picture, null, "Look at the picture.", first],
      ["target", scene.shown, scene.text, "This is what to click.", second],
      ["again", scene.picture, null, "Find it.", third],
    ];
    for (const [name, source, text, told, ms] of steps) {
      phase = name;
      await show(source, text);
      if (!goesOn()) return;
      say(told);
      await wait(ms);
      if (!goesOn()) return;
    }
    phase = "click";
    since = performance.now();
    say("Click on it now.");
  }

  async function next() {
    scene = null;
    status();
    if (!about.left.length) {
      (phase = "end"), (image.hidden = true), say("");
      return note("All targets are clicked. Thank you.", ["You may close this page."], null);
    }
    say("Loading …");
    const code = about.left[0];
    scene = await patiently(`scene/${code}`, {}, trouble);
    await play();
  }

  async function click(event) {
    if (phase !== "click" || !event.isPrimary || event.button > 0) return;
    const seconds = (performance.now() - since) / 1000, { left, top, width, height } = image.getBoundingClientRect();
    const inside = (part, count) => Math.min(Math.max(part, 0), 1 - 1e-9) * count;
    const y = inside((event.clientY - top) / height, scene.height), x = inside((event.clientX - left) / width, scene.width);
    phase = "sent";
    say("Stored.");
    await patiently("click", { body: { code: scene.code, id: uuid(), y, x, seconds, device: device() }, signal: new AbortController().signal }, trouble);
    about.left.shift();
    about.done++;
    await next();
  }

  function pause() {
    if (phase === "end" || !scene) return;
    run++; // what was shown is shown again from its beginning
    phase = "pause";
    image.hidden = $("name").hidden = true;
    note("Pause", ["The picture is shown again from its beginning."], "Go on");
  }

  async function start() {
    if (!token) return note("This cannot start", ["This page needs the whole link that the server printed when it was started."], null);
    about = await patiently("clicking", {}, trouble);
    document.title = about.title;
    put("title", about.title);
    put("who", about.rater);
    status();
    image.addEventListener("pointerdown", (event) => click(event).catch(fail));
    image.addEventListener("contextmenu", (event) => event.preventDefault());
    $("pause").addEventListener("click", pause);
    window.addEventListener("resize", place);
    document.addEventListener("visibilitychange", () => document.hidden && pause());
    $("note").addEventListener("close", () => (scene && phase === "pause" ? play() : next()).catch(fail));
    if (!about.left.length) return next();
    note(about.title, [
      `Each picture is shown for a moment, then ${HOW[about.display]}, then the picture again.`,
      "Click once on what you were shown, wherever you would click to tell a program what you mean.",
    ], "Start");
  }

  // For tests, and whoever looks into a problem. where: of a pixel of the picture, in pixels of the page.
  window.clicking = {
    state: () => ({ phase, code: scene?.code ?? null, left: about?.left.length ?? null, done: about?.done ?? null, name: $("name").textContent, display: about?.display ?? null }),
    where: (y, x) => {
      const { left, top, width, height } = image.getBoundingClientRect();
      return [left + ((x + 0.5) * width) / scene.width, top + ((y + 0.5) * height) / scene.height];
    },
  };
  start().catch(fail);
})();
