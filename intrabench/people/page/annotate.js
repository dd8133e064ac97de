"use strict";
// The page of a person who prompts a model: tools, prompts that are not sent yet, turns, the time.

(() => {
  const strip = new Strip($("strip")), view = new View($("viewer"), drawn);
  const MOVE = { id: "move", name: "nothing: move the cross" }, NAMES = { box2d: "box", box3d: "box through slices" };
  let about, key, tools = [MOVE], tool = MOVE, task = null, shown = null, pending = [], open = null, since = performance.now(), spent = 0, total = 0, busy = false, opened = 0, firstDraw = null;

  const trouble = (error) => put("trouble", !error ? "" : passing(error) && !error.status ? "The server does not answer. Trying again." : error.message);

  function fail(error) {
    if (error.name === "AbortError") return;
    if (error.status === 401 || error.status === 403) error.message = "The server does not know this link. Open the link that it printed when it was started.";
    if (about) put("trouble", error.message);
    else note("This cannot start", [error.message], null);
    if (!(error instanceof Refused)) throw error;
  }

  // Only what lies before the eyes counts as time, and not while the model works.
  let on = false;
  function tick() {
    const moment = performance.now();
    if (on && task) (spent += moment - since), (total += moment - since);
    (since = moment), (on = looking() && !busy);
    put("time", clock(total / 1000));
  }
  function took() {
    tick();
    const seconds = Math.round(spent) / 1000;
    spent = 0;
    return { seconds, at: Date.now() / 1000 };
  }

  // Outlasts a reload: the time, and what is drawn but not sent. What is on its way is kept by `send`.
  const placeOf = (code) => `intrabench annotating: ${about.rater}: ${about.id}: ${code}`;
  function keep() {
    if (!task || !shown) return;
    tick();
    try {
      if (shown.finished) localStorage.removeItem(placeOf(task.code));
      else localStorage.setItem(placeOf(task.code), JSON.stringify({ total, spent, pending: busy ? [] : pending }));
    } catch {
      // no room, or forbidden: the time begins anew after a reload
    }
  }
  const keptOf = (code) => ({ total: 0, spent: 0, pending: [], ...JSON.parse(localStorage.getItem(placeOf(code)) ?? "{}") });

  // ---- What is drawn but not sent.
  const isStroke = ({ shape }) => shape === "stroke" || shape === "loop";
  const nameOf = (kind) => NAMES[kind] ?? kind;
  const floor = (spot) => [1, 2].map((axis) => Math.min(Math.max(Math.floor(spot[axis]), 0), view.volume.info.shape[axis] - 1));
  const rectangle = ([y0, x0], [y1, x1]) => [Math.min(y0, y1), Math.min(x0, x1), Math.max(y0, y1) + 1, Math.max(x0, x1) + 1];

  function add({ kind, label }, place) {
    pending.push({ kind, place, label, ...took() });
    open = null;
    say("");
    changed();
  }

  // At a voxel of a slice: a click, a corner, or the next point of a stroke.
  function place(spot) {
    if (!ready() || tool === MOVE) return;
    const z = view.at[0], here = floor(spot);
    if (tool.shape === "click") return add(tool, [z, ...here]);
    if (open && open.tool !== tool) open = null;
    if (isStroke(tool)) {
      if (open && open.z !== z) open = null;
      open ??= { tool, z, points: [] };
      const last = open.points.at(-1);
      if (!last || last[1] !== here[0] || last[2] !== here[1]) open.points.push([z, ...here]);
    } else if (!open?.from || open.whole) open = { tool, z, from: here, to: here };
    else corner(here);
    changed();
  }

  function corner(here) {
    open.to = here;
    if (tool.shape === "box2d") return add(tool, [open.z, ...rectangle(open.from, here)]);
    open.whole = true;
    say("Go to the other end of the target, and press J or End here.");
    changed();
  }

  // Ends a stroke; sets the other end of a box through slices.
  function end() {
    if (!open || !ready()) return say("There is nothing to end.");
    if (isStroke(open.tool)) {
      if (open.tool.shape === "loop" && open.points.length < 3) return say(`A ${nameOf(open.tool.kind)} needs three points.`);
      return add(open.tool, open.points);
    }
    if (!open.whole) return say("Set the other corner first.");
    const [y0, x0, y1, x1] = rectangle(open.from, open.to), z = [open.z, view.at[0]];
    pending = pending.filter(({ kind }) => kind !== "box3d"); // there is one at most
    add(open.tool, [Math.min(...z), y0, x0, Math.max(...z) + 1, y1, x1]);
  }

  function remove() {
    if (open) open = null;
    else pending.pop();
    changed();
  }

  function changed() {
    const marks = structuredClone(shown.marks), { z, points, from, to } = open ?? {};
    for (const { kind, place, label } of pending) {
      if (kind === "click") marks.points.push([...place, label, true]);
      if (kind === "box2d") marks.boxes.push([place[0], place[1], place[2], place[0] + 1, place[3], place[4], true]);
      if (kind === "box3d") marks.boxes.push([...place, true]);
      const { shape } = tools.find((one) => one.kind === kind);
      if (isStroke({ shape })) marks.strokes.push({ points: place, label, closed: shape === "loop" });
    }
    if (points) marks.strokes.push({ points, label: open.tool.label, closed: false });
    if (from) marks.boxes.push([z, ...rectangle(from, to).slice(0, 2), z + 1, ...rectangle(from, to).slice(2), true]);
    view.marks = marks;
    const names = pending.map(({ kind, label }) => (label ? nameOf(kind) : `${nameOf(kind)} on background`)).concat(open ? [`${nameOf(open.tool.kind)} …`] : []);
    put("pending", names.join(", ") || "nothing");
    status();
    view.render();
  }

  const ready = () => task && shown && !busy && !shown.finished;

  // By pointer: in the first plane the tool draws instead of moving the cross.
  function draw() {
    const [pane] = view.panes, area = pane.canvas.parentElement;
    let down = null;
    const ours = (event) => ready() && tool !== MOVE && event.isPrimary && event.button <= 0 && !event.shiftKey && !event.altKey && !event.ctrlKey;
    const on = (name, does) => area.addEventListener(name, (event) => { if (name === "pointerdown" ? ours(event) : down !== null) event.stopPropagation(), does(event); }, true);
    on("pointerdown", (event) => {
      down = event.pointerId;
      area.setPointerCapture(down);
      if (open && !isStroke(tool) && !open.whole) open = null; // begun by keys
      if (isStroke(tool)) open = null;
      place(pane.under(event));
    });
    on("pointermove", (event) => {
      if (isStroke(tool)) for (const one of event.getCoalescedEvents?.() ?? [event]) place(pane.under(one));
      else if (open && !open.whole) (open.to = floor(pane.under(event))), changed();
    });
    on("pointerup", (event) => {
      down = null;
      if (isStroke(tool)) end();
      else if (open && !open.whole) corner(floor(pane.under(event)));
    });
    area.addEventListener("pointercancel", () => ((down = null), remove()), true);
  }

  // ---- Turns. A change is kept until it is answered, each by itself because there may be other tabs; sent again it has the same id.
  const kept = () => Object.keys(localStorage).filter((name) => name.startsWith(key)).map((name) => JSON.parse(localStorage.getItem(name))).sort((one, other) => one.at - other.at);

  function send(name, body) {
    tick();
    const change = { name, body, at: Date.now() };
    try {
      localStorage.setItem(key + body.id, JSON.stringify(change));
    } catch {
      // no room, or forbidden: then it is kept until this page is closed
    }
    return deliver(change);
  }

  async function deliver({ name, body }) {
    busy = true;
    keep(); // what is sent is kept as a change, and no longer as prompts to send
    status();
    say("The model works …");
    try {
      const got = await patiently(name, { body, signal: new AbortController().signal }, trouble);
      localStorage.removeItem(key + body.id);
      if (task?.code === got.code) await show(got, name === "turn");
      say(got.problem || (got.finished ? "Finished." : name === "reopen" ? "Opened again." : name === "undo" ? "The last turn is taken back." : `The model answered in ${got.model_s.toFixed(1)} s.`));
    } catch (error) {
      localStorage.removeItem(key + body.id);
      trouble(error);
      say("");
      if (error.status !== 422) throw error;
    } finally {
      busy = false;
      tick();
      status();
    }
  }

  function askModel() {
    if (!ready()) return;
    if (open && isStroke(open.tool)) end();
    if (!pending.length) return say("Click or draw something first.");
    send("turn", { code: task.code, id: uuid(), gestures: pending }).catch(fail);
  }

  function undo() {
    if (!ready() || !shown.turns) return say("There is no turn to take back.");
    send("undo", { code: task.code, id: uuid(), ...took() }).catch(fail);
  }

  function finish() {
    if (shown?.finished && !busy) return about.closed ? say("This study is closed.") : send("reopen", { code: task.code, id: uuid(), ...took() }).then(reload).then(status).catch(fail);
    if (!ready() || !shown.turns) return say("Ask the model first.");
    if (pending.length || open) return say("Some prompts are not sent yet: ask the model, or remove them.");
    $("finishing").returnValue = "";
    $("finishing").showModal();
    tick();
  }

  async function finished() {
    await send("finish", { code: task.code, id: uuid(), ...took(), comment: $("comment").value.trim() });
    await reload();
    const next = about.tasks.find(({ state }) => state !== "finished");
    if (next) await begin(next);
    else note("All targets are finished. Thank you.", ["You may close this page."], null);
  }

  // ---- Tasks.
  async function reload() {
    about = await patiently("annotation", {}, trouble);
    $("tasks").replaceChildren(...about.tasks.map(({ code, label, state }, n) => new Option(`${n + 1}. ${label}${state === "new" ? "" : ` (${state})`}`, code, false, code === task?.code)));
  }

  async function begin(next) {
    const turn = ++opened;
    keep();
    $("comment").value = ""; // it was about the task before
    (task = next), (shown = null), (open = null);
    ({ total, spent, pending } = keptOf(next.code));
    choose(tools.find(({ kind, label }) => kind === tool.kind && label)?.id ?? tool.id); // nobody begins with what it is not
    $("tasks").value = next.code;
    put("label", next.label);
    say("Opening the scan …");
    const info = view.volume?.code === next.case ? view.volume.info : await patiently(`case/${next.case}`, {}, trouble);
    const got = await patiently(`task/${next.code}`, {}, trouble);
    if (turn !== opened) return;
    if (view.volume?.code !== next.case) view.volume?.stop();
    const volume = view.volume?.code === next.case ? view.volume : new Volume(next.case, info, trouble);
    const middle = next.middle ?? info.shape.map((count) => Math.floor(count / 2));
    put("where", next.middle ? `the one at the cross, around slice ${next.middle[0] + 1}` : "");
    const masks = [await unpackMask(got.mask)];
    if (turn !== opened) return;
    view.show(volume, { masks, marks: got.marks }, view.volume === volume && !next.middle ? [...view.at] : [...middle]);
    await show(got, false);
    say(got.finished ? "This target is finished." : got.problem || "Draw, then ask the model with Enter.");
    volume.load(view.at[0]).catch(fail);
  }

  async function show(got, sent) {
    const [mask, outline] = await Promise.all([unpackMask(got.mask), got.outline && unpackMask(got.outline)]);
    if (task.code !== got.code) return;
    shown = got;
    if (sent || got.finished) (pending = []), (open = null);
    view.masks = [mask];
    view.reference = outline;
    put("model", got.turns ? `${got.model_s.toFixed(1)} s` : "–");
    changed();
  }

  function status() {
    const done = about.tasks.filter(({ state }) => state === "finished").length;
    put("count", `${done} of ${about.tasks.length} finished`);
    Object.assign($("bar"), { max: Math.max(1, about.tasks.length), value: done });
    $("choices").disabled = $("send").disabled = !ready();
    $("finish").disabled = !ready() && (busy || !shown?.finished || about.closed);
    $("finish").firstChild.data = shown?.finished ? "Open again " : "Finish ";
    $("undo").disabled = !ready() || !shown.turns;
    put("unsent", busy && $("trouble").textContent ? "Your last prompt is kept and sent again." : "");
  }

  function drawn() {
    if (view.volume.has(view.at[0])) firstDraw ??= performance.now();
    const depth = view.volume.info.shape[0], mask = view.masks[0], slices = new Set();
    for (let z = mask.low[0]; z < mask.low[0] + mask.size[0]; z++) slices.add(z);
    strip.draw(depth, [0, depth], slices);
    put("seen", `answer in ${slices.size} ${slices.size === 1 ? "slice" : "slices"}`);
  }

  function choose(name) {
    tool = tools.find(({ id }) => id === name);
    open = null;
    $("answer").querySelector(`[name=tool][value="${name}"]`).checked = true;
    if (shown) changed();
  }

  function shift(dy, dx) {
    const { ways, row, column } = view.panes[0];
    view.move({ [row]: view.at[row] + ways[row] * dy, [column]: view.at[column] + ways[column] * dx });
  }

  function build() {
    document.title = about.title;
    put("title", about.title);
    put("who", about.rater);
    $("strip").setAttribute("aria-label", "Slices with an answer");
    tools = [...about.tools, MOVE];
    tool = tools[0];
    for (const [n, { id, name, prompt }] of tools.entries()) {
      const converted = prompt && !about.takes.includes(prompt) ? " (converted for this model)" : "";
      $("drawing").append(make("label", { className: "choice" }, make("input", { type: "radio", name: "tool", value: id, checked: id === tool.id }), make("kbd", {}, String(n + 1)), make("span", {}, name, make("span", { className: "muted" }, converted))));
    }
    $("drawing").addEventListener("input", ({ target }) => choose(target.value));
    $("tasks").addEventListener("change", ({ target }) => (begin(about.tasks.find(({ code }) => code === target.value)).catch(fail), target.blur()));
    const keymap = bindKeys([
      [`1 … ${tools.length}`, "tools", Object.fromEntries(tools.map(({ id }, n) => [String(n + 1), () => choose(id)]))],
      ["Shift + arrows", "move the cross by a voxel", { "shift ArrowUp": () => shift(-1, 0), "shift ArrowDown": () => shift(1, 0), "shift ArrowLeft": () => shift(0, -1), "shift ArrowRight": () => shift(0, 1) }],
      ["K", "click, corner or point at the cross", { k: () => place(view.at.map((index) => index + 0.5)) }],
      ["J", "end a stroke, or a box through slices", { j: end }],
      ["Esc", "remove what was drawn last", { Escape: remove }],
      ["Enter", "ask the model", { Enter: askModel }],
      ["Backspace", "take the last turn back", { Backspace: undo }],
      ["F", "finish this target, or open it again", { f: finish }],
      ...keysOf(view),
      ["Space", "pause", { " ": () => (note("Pause", ["The time stands still."], "Go on"), tick()) }],
      ["H", "this help", { h: () => ($("helping").showModal(), tick()) }],
    ], (key) => shown || (key > "0" && key <= String(tools.length)) || key === "h" || key === " ");
    releaseFocus();
    $("answer").addEventListener("submit", (event) => (event.preventDefault(), askModel()));
    $("tools").addEventListener("submit", (event) => event.preventDefault());
    for (const [id, name] of [["undo", "Backspace"], ["pause", " "], ["help", "h"], ["place", "k"], ["end", "j"], ["remove", "Escape"], ["finish", "f"]]) $(id).addEventListener("click", keymap.get(name));
    for (const dialog of document.querySelectorAll("dialog")) dialog.addEventListener("close", tick);
    $("finishing").addEventListener("close", ({ target }) => target.returnValue === "yes" && finished().catch(fail));
    document.addEventListener("visibilitychange", () => (tick(), keep()));
    window.addEventListener("pagehide", keep);
    setInterval(tick, 500);
    setInterval(keep, 5000);
    draw();
  }

  async function start() {
    if (!token) return note("This cannot start", ["This page needs the whole link that the server printed when it was started."], null);
    await reload();
    key = `intrabench annotate: ${about.rater}: ${about.id}: `;
    view.neurological = about.orientation === "neurological";
    build();
    for (const change of kept()) await deliver(change); // of an earlier visit
    await reload();
    const next = about.tasks.find(({ state }) => state !== "finished") ?? about.tasks[0];
    if (!next) return note("There is nothing to do", ["No target is in this run."], null);
    if (about.closed) note("This study is closed", ["Nothing can be changed any more. Thank you."], "Look at it");
    await begin(next);
  }

  // For tests, and whoever looks into a problem. where: of a place in the first plane, in pixels of the page.
  window.annotating = {
    state: () => ({
      task: task?.code ?? null, label: task?.label ?? null, pending: pending.length, open: Boolean(open), turns: shown?.turns ?? 0, finished: shown?.finished ?? false, busy, shown: Boolean(shown), waiting: key ? kept().length : 0,
      at: view.at && [...view.at], tool: tool.id, seconds: total / 1000, loaded: view.volume ? view.volume.count / view.volume.have.length : 0, modelSeconds: shown?.model_s ?? null, firstDraw,
      shape: view.volume?.info.shape, area: view.masks?.[0]?.cut(0, view.at[0])?.area ?? 0, outline: view.reference?.cut(0, view.at[0])?.area ?? 0,
    }),
    where: (y, x) => {
      const [pane] = view.panes, { left, top } = pane.canvas.getBoundingClientRect();
      return [left + pane.x(x), top + pane.y(y)];
    },
  };
  start().catch(fail);
})();
