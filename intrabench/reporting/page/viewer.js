"use strict";
// The viewer: planes of a target's window, answers and prompts round by round.

(() => {
  const section = document.getElementById("viewer");
  const form = section?.querySelector(".chosen-target");
  if (!form) return;
  const { target: targetBox, session: sessionBox, range: rangeBox, round: roundBar } = form.elements;
  const planes = [...section.querySelectorAll(".planes figure")].map((figure, axis) => new Plane(figure, axis));
  const lines = JSON.parse(document.getElementById("curve-data").textContent).lines;
  const state = document.getElementById("state");
  let now; // the target that is shown, decoded
  let at = [0, 0, 0];

  async function bits(text, count) {
    const packed = await inflated(text), unpacked = new Uint8Array(count);
    for (let n = 0; n < count; n++) unpacked[n] = (packed[n >> 3] >> (7 - (n & 7))) & 1;
    return unpacked;
  }

  async function open(id) {
    const view = JSON.parse(document.getElementById(id).textContent);
    const [depth, height, width] = view.shape, count = depth * height * width;
    view.scan = await inflated(view.scan);
    if (!view.colour) // each voxel was stored as the difference to the one on its left
      for (let n = 0; n < count; n++) if (n % width) view.scan[n] += view.scan[n - 1];
    view.truth = await bits(view.truth, count);
    for (const session of view.sessions)
      for (const round of session.rounds)
        for (const name of ["answer", "others"]) round[name] = round[name] && (await bits(round[name], count));
    return view;
  }

  const options = (box, names) => box.replaceChildren(...names.map((name, n) => new Option(name, n)));
  const session = () => now.sessions[sessionBox.selectedIndex];
  const round = () => session().rounds[roundBar.value];
  const label = (one) => `${lines[one.line].prompter}, ${lines[one.line].model}${lines[one.line].notes ? ` (${lines[one.line].notes})` : ""}`;
  const dice = (value) => (value === null ? "no Dice" : `Dice ${fixed(value, 3)}`);

  const key = (option) => option?.dataset.key;
  const shownKey = () => key(targetBox.selectedOptions[0]);
  const whose = (one) => label(one) + (now.seeds ? `, seed ${one.seed}` : "");

  async function chooseTarget() {
    const id = targetBox.value;
    try {
      const view = await open(id);
      if (id === targetBox.value) showTarget(view); // else another one was chosen meanwhile
    } catch (error) {
      state.textContent = `This browser cannot show it: ${error.message}`;
      throw error;
    }
  }

  function showTarget(view) {
    if (!now) listen();
    now = view;
    now.seeds = new Set(now.sessions.map((one) => one.seed)).size > 1;
    options(sessionBox, now.sessions.map((one) => `${whose(one)}: ${dice(one.rounds.at(-1).dice)}`));
    options(rangeBox, (now.presets ?? []).map((range) => range.name));
    rangeBox.selectedIndex = now.preset ?? -1;
    rangeBox.closest("label").hidden = now.colour;
    for (const node of section.querySelectorAll(".sides")) node.hidden = now.photo;
    section.querySelector(".slices").hidden = now.photo && now.shape[0] === 1;
    fit();
    restore();
  }

  // Target, answer, round and place as the link says, where it says so.
  function follow() {
    const wanted = [...targetBox.options].findIndex((option) => key(option) === view.get("target"));
    const before = targetBox.selectedIndex;
    targetBox.selectedIndex = Math.max(wanted, 0);
    if (!now || targetBox.selectedIndex !== before) chooseTarget();
    else restore();
  }

  function restore() {
    sessionBox.selectedIndex = Math.max(now.sessions.findIndex((one) => whose(one) === view.get("answer")), 0);
    chooseSession();
    const round = now && session().rounds.findIndex((one) => String(one.round) === view.get("round"));
    if (round >= 0) roundBar.value = round;
    const place = (view.get("at") ?? "").split(",").map(Number);
    at = place.length === 3 && place.every(Number.isFinite) ? place.map(inWindow) : centre(now, slicesOf(session()));
    show();
  }

  const inWindow = (voxel, axis) => clamp(Math.floor((voxel - now.origin[axis]) / now.factor[axis]), axis);

  // One scale for all planes, as large as fits three of them into a row of 28 rem height.
  function fit() {
    const [depth, height, width] = now.shape.map((count, axis) => count * now.spacing[axis]);
    for (const plane of planes) plane.fit(now, 640 / Math.max(depth, height, width));
    const row = now.photo ? width : 2 * width + height;
    section.querySelector(".planes").style.maxWidth = `min(72rem, ${(28 * row) / Math.max(height, now.photo ? 0 : depth)}rem)`;
  }

  function chooseSession() {
    roundBar.max = session().rounds.length - 1;
    roundBar.value = roundBar.max;
    roundBar.closest("label").hidden = roundBar.max === "0";
    const first = slicesOf(session()), figures = section.querySelector(".planes");
    if (figures.firstElementChild !== planes[first].figure) figures.append(...[planes[first], ...planes.filter(({ axis }) => axis !== first)].map(({ figure }) => figure));
    for (const node of [form.elements["show-others"].closest("label"), section.querySelector(".key .others")]) node.hidden = !session().others;
  }

  // The axis across the slices in which the user of a session read the scan.
  const slicesOf = ({ plane }) => AXES[plane][0];

  // The slice across an axis in which the target is largest, and the middle of the target there.
  function centre(view, axis) {
    const [, height, width] = view.shape, where = (n) => [Math.floor(n / (height * width)), Math.floor(n / width) % height, n % width];
    const areas = new Array(view.shape[axis]).fill(0), sums = areas.map(() => [0, 0, 0]);
    view.truth.forEach((bit, n) => {
      if (!bit) return;
      const place = where(n), slice = place[axis];
      areas[slice]++;
      place.forEach((index, other) => (sums[slice][other] += index));
    });
    const slice = areas.indexOf(Math.max(...areas));
    return sums[slice].map((sum, other) => (other === axis ? slice : Math.round(sum / (areas[slice] || 1))));
  }

  function show() {
    const wanted = (name) => form.elements[`show-${name}`].checked;
    const shown = {
      range: now.colour ? null : now.presets[rangeBox.selectedIndex],
      target: wanted("target") && now.truth,
      answer: wanted("answer") && round().answer,
      errors: wanted("errors") && round().answer,
      others: wanted("others") && round().others,
      given: wanted("prompts") ? kept(session().rounds.slice(0, Number(roundBar.value) + 1)).map((one) => one.given) : [],
      cross: wanted("cross"),
    };
    for (const plane of planes) plane.draw(now, at, shown);
    tell();
  }

  function kept(rounds) {
    return rounds.filter((_, at) => !rounds[at + 1]?.undoes);
  }

  function tell() {
    const { round: number, status, error, interactions, seconds_human: seconds, answer, given, typed, undoes } = round();
    const count = given.reduce((sum, one) => sum + one.points.length + one.boxes.length + one.strokes.length, typed.length);
    form.querySelector("output").textContent = `${number} of ${session().rounds.at(-1).round}`;
    const parts = [
      `${label(session())}, ${number ? `after ${number} correction${number > 1 ? "s" : ""}` : "after the first prompts"}: ${dice(round().dice)}, ` +
        `${interactions} interactions and ${seconds} s of the user so far, ${count} prompt${count === 1 ? "" : "s"} in this round.`,
    ];
    if (typed.length) parts.push(`Typed: ${typed.map((text) => `“${text}”`).join(", ")}.`);
    if (undoes) parts.push("The correction before was taken back.");
    const together = session().others;
    if (together) parts.push(`Prompted together with ${together} other target${together > 1 ? "s" : ""}.`);
    if (error) parts.push(`${status}: ${error}`);
    if (!answer) parts.push("The answer was not kept; run the command with --save-masks, and it is shown here.");
    if (amounts(round())) parts.push(amounts(round()));
    if (Math.max(...now.factor) > 1)
      parts.push(now.photo ? `Shown in pixels of ${now.factor[2]} × ${now.factor[1]}.` : `Shown in voxels of ${[...now.spacing].reverse().map((mm) => mm.toFixed(1)).join(" × ")} mm.`);
    if (now.played > now.sessions.length) parts.push(`${now.sessions.length} of ${now.played} sessions on this target are here.`);
    state.textContent = parts.join(" ");
    const others = targetBox.length - 1;
    section.querySelector(".paper").textContent = `Target: ${targetBox.selectedOptions[0].text}, of ${now.dataset}. ` +
      `The file itself also shows ${others ? `${others} other target${others > 1 ? "s" : ""}, ` : ""}all slices, rounds and answers.`;
  }

  // How large the errors are: of pictures and films in pixels, which have no size.
  function amounts({ answer, too_much: tooMuch, missed }) {
    if (!answer || tooMuch === null || missed === null) return "";
    const size = (voxels) => (now.photo ? `${fixed(voxels, 0)} pixels` : `${(voxels * now.voxel_ml).toPrecision(3)} ml`);
    return `Too much: ${size(tooMuch)}; missed: ${size(missed)}.`;
  }

  // Goes from prompt to prompt of the round: their slices are otherwise hard to find.
  let visited = -1;
  function nextPrompt() {
    const places = round().given.flatMap((given) => [
      ...given.points.map((point) => point.slice(0, 3)),
      ...given.boxes.map((box) => [0, 1, 2].map((axis) => (box[axis] + box[axis + 3] - 1) / 2)),
      ...given.strokes.map((stroke) => stroke.points[stroke.points.length >> 1]),
    ]);
    if (!places.length) return;
    visited = (visited + 1) % places.length;
    at = places[visited].map(inWindow);
    keepPlace();
    show();
  }

  function keepPlace() {
    view.set({ at: at.map((index, axis) => planes[axis].place(index, axis)).join(",") }, "viewer");
  }

  const clamp = (index, axis) => Math.min(Math.max(index, 0), now.shape[axis] - 1);
  function listen() {
    for (const plane of planes)
      plane.listen((moved) => {
        for (const [axis, index] of Object.entries(moved)) at[axis] = clamp(index, axis);
        keepPlace();
        show();
      });
    sessionBox.addEventListener("change", () => view.go({ target: shownKey(), answer: whose(session()), round: null }, "viewer"));
    roundBar.addEventListener("input", () => {
      visited = -1;
      const last = roundBar.value === roundBar.max;
      view.set({ target: shownKey(), answer: whose(session()), round: last ? null : round().round }, "viewer");
      show();
    });
    form.querySelector("button").addEventListener("click", nextPrompt);
    for (const control of [rangeBox, ...form.querySelectorAll("[type=checkbox]")]) control.addEventListener("change", show);
  }

  // Another target keeps whose answer is shown, and has other places.
  targetBox.addEventListener("change", () => {
    const chosen = targetBox.selectedOptions[0];
    targetBox.selectedIndex = [...targetBox.options].findIndex((option) => option.value === now?.id);
    view.go({ target: key(chosen), round: null, at: null }, "viewer");
  });
  view.on(["target", "answer", "round", "at"], follow);

  // The pictures: those that pass the filters, worst first; one of them opens its target.
  const filters = document.getElementById("thumbnail-filters"), pictures = [...section.querySelectorAll(".thumbnails li")];
  function filterPictures() {
    const { dataset, label, limit } = filters.elements, most = limit.value === "" ? Infinity : Number(limit.value);
    for (const one of pictures)
      one.hidden = !((dataset?.value || one.dataset.dataset) === one.dataset.dataset && (label?.value || one.dataset.label) === one.dataset.label && Number(one.dataset.dice) <= most);
    filters.querySelector("[role=status]").textContent = `${pictures.filter((one) => !one.hidden).length} of ${pictures.length}`;
  }
  for (const one of pictures)
    one.firstElementChild.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      const chosen = [...targetBox.options].find((option) => option.value === event.currentTarget.dataset.id);
      view.go({ target: key(chosen), round: null, at: null }, "viewer");
      form.scrollIntoView();
    });
  if (filters) {
    filters.addEventListener("input", filterPictures);
    filters.addEventListener("submit", (event) => event.preventDefault());
    filterPictures();
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  follow(); // at once, because what was never scrolled to may be printed
})();
