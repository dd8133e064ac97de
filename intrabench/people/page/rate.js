"use strict";
// The page of a rater: which mask comes next, the form, the keys, the time.

(() => {
  const form = $("answer"), strip = new Strip($("strip")), view = new View($("viewer"), drawn);
  const times = { first: null, slice: null, job: null };
  let study, stock, outbox, openings = 0, now = null; // now: the mask that is rated

  const asks = (question) => study.questions.includes(question);
  const trouble = (error) => put("trouble", !error ? "" : passing(error) ? "The server does not answer. Trying again." : error.message);

  function fail(error) {
    if (error.name === "AbortError") return;
    if (error.status === 401 || error.status === 403) error.message = "The server does not know this link. Open the link that it printed when it was started. Answers that are not sent yet are kept in this browser.";
    if (study) trouble(Object.assign(error, { status: error.status ?? 400 }));
    else note("The rating cannot start", [error.message], null);
    if (!(error instanceof Refused)) throw error;
  }

  // Only what lies before the eyes counts as time.
  function tick() {
    if (!now) return;
    const moment = performance.now();
    if (now.since !== null && !now.teaching) now[now.on ? "active" : "paused"] += moment - now.since;
    if (now.since !== null) Object.assign(now, { since: moment, on: looking() });
    put("time", clock(now.active / 1000));
  }

  // ---- Which mask is next.
  const key = ({ training, place, id }) => `${training ? "t" : ""}${place} ${id}`;

  function remaining() {
    const kept = outbox.read(), settled = outbox.settled(study.done);
    const training = study.trained || kept.trained ? [] : study.training.map((id, place) => ({ training: true, place, id })).slice(kept.practised);
    return [...training, ...study.order.map((id, place) => ({ training: false, place, id })).filter(({ place }) => !settled.has(place))];
  }

  async function open(step, began = performance.now()) {
    const turn = ++openings;
    keep();
    now = null;
    status();
    for (const id of ["viewer", "answer"]) $(id).hidden = !step;
    $("finished").hidden = Boolean(step);
    if (!step) return finish();
    $("send").disabled = true;
    const job = await stock.job(step.id);
    if (turn !== openings) return;
    const volume = stock.volume(job.case, view.volume);
    for (const other of stock.volumes.values()) if (other !== volume && !other.complete) other.stop();
    now = { ...step, job, began, last: null, since: null, on: false, teaching: false };
    fill(outbox.read().drafts[key(step)]);
    put("label", job.label);
    put("send", "Send");
    $("send").disabled = $("choices").disabled = false;
    $("feedback").hidden = true;
    $("remark").hidden = step.training;
    say("");
    view.show(volume, job, start(job));
    status();
    volume.load(view.at[0]).then(() => prefetch(turn)).catch(fail);
  }
  const next = (began) => open(remaining()[0], began).catch(fail);

  // Where the mask is largest, else where something was marked, else the middle.
  function start({ masks, marks: { points, boxes, strokes }, see, case: code }) {
    const { shape } = study.cases[code], [box] = boxes;
    const spot = masks.find((mask) => !mask.empty)?.middle ?? points.find((point) => point[3])?.slice(0, 3) ?? strokes[0]?.points[0] ??
      (box ? [0, 1, 2].map((axis) => (box[axis] + box[axis + 3]) / 2) : [(see[0] + see[1]) / 2, shape[1] / 2, shape[2] / 2]);
    return spot.map((place, axis) => Math.min(Math.max(Math.floor(place), 0), shape[axis] - 1));
  }

  async function prefetch(turn) {
    const step = remaining().find((one) => !now || key(one) !== key(now));
    if (!step || turn !== openings) return;
    const job = await stock.job(step.id);
    if (turn === openings && job.case !== view.volume.code) await stock.volume(job.case, view.volume).load(start(job)[0]);
  }

  function finish() {
    view.volume = null;
    put("time", "0:00");
    $("finished").querySelector("p").textContent = window.BUNDLE ? "Save your answers and hand in the file." : "You may close this page, unless it says above that answers are not sent yet.";
  }

  // After each picture.
  function drawn(asked) {
    if (!now) return;
    const [z] = view.at, here = view.volume.has(z), moment = performance.now(), { see } = now.job;
    if (here) {
      times.first ??= moment;
      if (now.began) (times.job = moment - now.began), (now.began = 0);
      else if (z !== now.last && asked) times.slice = moment - asked;
    }
    if (here && looking()) {
      if (now.since === null) Object.assign(now, { since: moment, on: true });
      if (now.last !== null && now.last !== z) now.views++;
      now.last = z;
      if (view.mode !== "off") now.seen.add(z), now.shown.add(view.side);
    }
    strip.draw(view.volume.info.shape[0], see, now.seen);
    put("seen", `${see[1] - see[0] - left().length} of ${see[1] - see[0]} slices seen`);
    $("empty").hidden = !view.masks[view.side].empty;
  }

  const left = () => Array.from({ length: now.job.see[1] - now.job.see[0] }, (_, n) => now.job.see[0] + n).filter((z) => !now.seen.has(z));

  function nextUnseen() {
    const unseen = left();
    if (!unseen.length) return say("All slices are seen.");
    if (view.mode === "off") view.setMode("outline");
    view.move({ 0: unseen.find((z) => z > view.at[0]) ?? unseen[0] });
  }

  // ---- The form.
  function build() {
    document.title = study.title;
    put("title", study.title);
    put("who", study.rater);
    $("save").hidden = !window.BUNDLE;
    $("examples").hidden = !study.gallery;
    const press = (name, value, text, words) => make("label", { className: "press" }, make("input", { type: "radio", name, value, ariaLabel: words }), text);
    const choices = (type, name, list) => list.map(({ id, key: letter, name: text }) =>
      make("label", { className: "choice" }, make("input", { type, name, value: id }), make("kbd", {}, letter), make("span", {}, text)));
    for (const name of ["score", "pair", "clinical"]) $(name).hidden = !asks(name);
    for (const { from, to, text } of study.scale ?? []) {
      const scores = Array.from({ length: to - from + 1 }, (_, n) => from + n);
      $("score").append(make("div", { className: "band" }, make("div", { className: "row" }, ...scores.map((score) => press("score", score, score, `${score}: ${text}`))), make("span", {}, text)));
    }
    $("errors").hidden = asks("pair") || !study.errors?.length;
    if (!$("errors").hidden) $("errors").append(...choices("checkbox", "errors", study.errors));
    if (asks("clinical")) $("clinical").append(...choices("radio", "clinical", study.clinical));
    if (asks("pair")) {
      put("what", "Two masks of");
      $("sides").hidden = false;
      $("sides").querySelector("div").append(press("side", 0, "A", "Mask A"), press("side", 1, "B", "Mask B"));
      $("sides").addEventListener("input", () => setSide(Number(form.elements.side.value)));
      $("pair").append(...choices("radio", "pair", [{ id: "a", key: "1", name: "Mask A" }, { id: "b", key: "2", name: "Mask B" }, { id: "tie", key: "3", name: "Both alike" }]));
    }
    $("reasons").append(...study.skips.map(({ id, name }, n) => make("button", { value: id }, make("kbd", {}, n + 1), ` ${name}`)));
    $("skip").hidden = !study.skips.length;
    bind();
  }

  function setSide(side) {
    view.side = Math.min(side, view.masks.length - 1);
    form.elements.side[view.side].checked = true;
    view.render();
  }

  function fill(draft = {}) {
    form.elements.comment.value = draft.comment ?? "";
    for (const input of form.querySelectorAll("input")) input.checked = input.name === "errors" ? Boolean(draft.errors?.includes(input.value)) : String(draft[input.name] ?? (input.name === "side" ? 0 : "")) === input.value;
    Object.assign(now, { seen: new Set(draft.seen), shown: new Set(draft.shown), views: draft.views ?? 0, active: 1000 * (draft.seconds ?? 0), paused: 1000 * (draft.paused_seconds ?? 0) });
  }

  function currentAnswer() {
    tick();
    const data = new FormData(form), when = (name) => (asks(name) ? data.get(name) : null);
    return {
      score: Number(when("score")) || null, clinical: when("clinical"), pair: when("pair"), errors: data.getAll("errors"), comment: (data.get("comment") ?? "").trim(),
      seconds: Math.round(now.active) / 1000, paused_seconds: Math.round(now.paused) / 1000, seen: [...now.seen].sort((a, b) => a - b), views: now.views,
    };
  }

  // Outlasts a closed tab, so that work on a mask is not begun anew.
  function keep() {
    if (!now || now.teaching || now.since === null) return;
    const draft = { ...currentAnswer(), shown: [...now.shown] };
    outbox.change((kept) => (kept.drafts[key(now)] = draft));
  }

  function lacking(answer) {
    if (asks("score") && !answer.score) return "Choose a score.";
    if (asks("pair") && !answer.pair) return "Choose A, B, or both alike.";
    if (asks("clinical") && !answer.clinical) return "Answer the clinical question.";
    const unseen = left().map((z) => z + 1), many = unseen.length > 1;
    if (unseen.length) return `${unseen.length} slice${many ? "s are" : " is"} not seen yet: ${unseen.slice(0, 6).join(", ")}${unseen.length > 6 ? ", …" : ""}. N goes there.`;
    return now.job.masks.length > 1 && now.shown.size < 2 ? "Look at both masks: T shows the other one." : "";
  }

  function send(skip = null) {
    if (!now) return;
    const began = performance.now(), step = now;
    if (now.teaching) return taught(began);
    const answer = currentAnswer(), wanting = skip ? "" : lacking(answer);
    if (wanting) return say(wanting);
    if (skip) Object.assign(answer, { score: null, clinical: null, pair: null, errors: [] });
    if (now.training) return teach(answer);
    const body = { id: uuid(), place: now.place, job: now.id, ...answer, skip };
    now = null;
    outbox.send("answers", body, (kept) => {
      delete kept.drafts[key(step)];
      kept.last = { place: step.place, undone: false, answer: { ...body, shown: [...step.shown] } };
    });
    next(began);
  }

  // After a mask for practice: what was expected.
  function teach({ score }) {
    const { text, from, to } = now.job.feedback ?? {}, expected = from === to ? from : `${from} to ${to}`;
    now.teaching = true;
    put("verdict", score && from != null ? `Your score is ${score}, ${score >= from && score <= to ? "as expected" : "not as expected"}: ${expected}` : "About this mask");
    $("feedback").querySelector("p").textContent = text ?? "";
    $("feedback").hidden = false;
    $("choices").disabled = true;
    put("send", "Next");
    say("Look again if you like, then go on with Enter.");
    $("feedback").focus();
  }

  function taught(began) {
    const step = now;
    outbox.change((kept) => ((kept.practised = step.place + 1), delete kept.drafts[key(step)]));
    if (!remaining()[0]?.training) endPractice();
    next(began);
  }

  function endPractice() {
    if (window.BUNDLE) outbox.change((kept) => (kept.trained = true));
    else outbox.send("trained", {}, (kept) => (kept.trained = true));
    if (study.training.length) note("Practice is over", [`Now ${remaining().length} masks follow, without feedback.`], "Start"), tick();
  }

  function undo() {
    const taken = outbox.last(study.done);
    if (!taken || now?.training) return say("There is no answer to take back.");
    const step = { training: false, place: taken.place, id: study.order[taken.place] };
    keep();
    now = null;
    outbox.send("undo", { id: uuid(), place: taken.place }, (kept) => {
      kept.last = { ...taken, undone: true };
      kept.drafts[key(step)] = taken.answer;
    });
    open(step).then(() => say("Your last answer is taken back. Send it again.")).catch(fail);
  }

  function onChange({ accepted, done, refused, error }) {
    if (done) study.done = done;
    else if (accepted?.name === "answers") study.done = [...study.done, accepted.body.place];
    status();
    if (!refused) return;
    const { name, body } = refused, again = name === "answers" && error.status === 422;
    if (again) outbox.change((kept) => ((kept.drafts[key({ place: body.place, id: body.job })] = body), (kept.last = kept.last?.place === body.place ? null : kept.last)));
    reload(name === "answers" && !again ? "That mask was answered in another tab." : error.message).catch(fail);
  }

  async function reload(text) {
    study.done = (await patiently("study", {}, trouble)).done;
    if (now ? !now.training && outbox.settled(study.done).has(now.place) : $("viewer").hidden && remaining().length) await open(remaining()[0]);
    status();
    say(text);
  }

  // Progress, what waits, and what can be done.
  function status() {
    const settled = outbox.settled(study.done).size, total = study.order.length, step = now ?? remaining()[0], { failing } = outbox;
    put("count", step?.training ? `Practice ${step.place + 1} of ${study.training.length}` : `${settled} of ${total} rated`);
    Object.assign($("bar"), step?.training ? { max: study.training.length, value: step.place } : { max: Math.max(total, 1), value: settled });
    const { saved } = outbox.read(), n = window.BUNDLE ? outbox.answers().filter(({ id }) => !saved.includes(id)).length : outbox.waiting;
    const alarm = n && (window.BUNDLE || failing || n > 1), lost = outbox.memory && " This browser cannot keep them: leave this page open.";
    put("unsent", alarm ? `${n} answer${n > 1 ? "s" : ""} not ${window.BUNDLE ? "saved" : "sent"} yet.${lost || ""}` : "");
    if (failing && !passing(failing)) fail(failing);
    $("undo").disabled = !outbox.last(study.done) || Boolean(step?.training);
  }

  async function save() {
    const answers = outbox.answers(), text = JSON.stringify(answers), signature = await signed(study.secret, text);
    const href = URL.createObjectURL(new Blob([JSON.stringify({ study: study.id, rater: study.rater, answers: text, signature }, null, 1)], { type: "application/json" }));
    make("a", { href, download: `answers-${study.rater.replace(/[^\p{L}\p{N}._-]+/gu, "-")}.json` }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60000);
    outbox.change((kept) => (kept.saved = answers.map(({ id }) => id)));
    status();
  }

  // Made of references of this study, when they are asked for.
  async function showExamples() {
    if (!study.gallery) return;
    if (!$("of-scores").children.length) {
      const { scores, errors, no_errors: none } = await patiently("gallery", {}, trouble);
      const figures = (list, head) => list.map((one) => make("figure", {}, make("img", { src: one.picture, alt: "" }), make("figcaption", {}, make("b", {}, head(one)), ` ${one.text} `, make("span", { className: "muted" }, `Dice ${one.dice.toFixed(2)}`))));
      $("of-scores").append(...figures(scores, ({ score }) => score));
      $("of-errors").append(...figures(errors, ({ id }) => study.errors.find((each) => each.id === id)?.key.toUpperCase() ?? ""));
      $("of-none").append(...figures(none, () => ""));
    }
    showDialog("showing");
  }

  const pause = () => (note("Pause", ["The time stands still."], "Go on"), tick());
  function showDialog(id) {
    if (id === "skipping" && (!now || now.teaching || !study.skips.length)) return;
    $(id).returnValue = "";
    $(id).showModal();
    tick();
  }

  // ---- Keys: what is shown, what it means, what each key does. The letters of the study come first; a key that clashes with one is left out.
  function table() {
    const pick = (name, list) => Object.fromEntries(list.map(([letter, value]) => [letter.toLowerCase(), () => form.querySelector(`[name=${name}][value="${CSS.escape(value)}"]`)?.click()]));
    const letters = (list) => list.map(({ id, key: letter }) => [letter, id]), shown = (list) => list.map(({ key: letter }) => letter.toUpperCase()).join(" ");
    const errors = $("errors").hidden ? [] : study.errors, clinical = asks("clinical") ? study.clinical : [];
    const scores = asks("score") ? study.scale.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, n) => from + n)) : [];
    const shift = (dx, dy) => () => view.pan(view.panes[view.active], dx, dy);
    return [
      scores.length && ["1 … 9, 0", "score 1 to 9, 10", pick("score", scores.map((score) => [String(score % 10), String(score)]))],
      errors.length && [shown(errors), "what is wrong, on and off", pick("errors", letters(errors))],
      clinical.length && [shown(clinical), "clinical use", pick("clinical", letters(clinical))],
      asks("pair") && ["1 2 3", "mask A, mask B, both alike", pick("pair", [["1", "a"], ["2", "b"], ["3", "tie"]])],
      asks("pair") && ["T", "show the other mask", { t: () => setSide(1 - view.side) }],
      ["Enter", "send", { Enter: () => send() }],
      ["Backspace", "take back the last answer, once", { Backspace: undo }],
      ["/", "comment; Esc leaves it", { "/": () => $("remark").hidden || form.elements.comment.focus() }],
      study.skips.length && ["S", "skip, with a reason", { s: () => showDialog("skipping") }],
      ["N", "next slice not seen yet", { n: nextUnseen }],
      ["Home End", "top and bottom of what must be seen", { Home: () => view.move({ 0: now.job.see[1] - 1 }), End: () => view.move({ 0: now.job.see[0] }) }],
      ...keysOf(view),
      ["Shift + arrows", "move the picture", { "shift ArrowUp": shift(0, 40), "shift ArrowDown": shift(0, -40), "shift ArrowLeft": shift(40, 0), "shift ArrowRight": shift(-40, 0) }],
      ["Space", "pause", { " ": pause }],
      study.gallery && ["B", "examples for scores and errors", { b: () => showExamples().catch(fail) }],
      ["H", "this help", { h: () => showDialog("helping"), "?": () => showDialog("helping") }],
    ].filter(Boolean);
  }

  function bind() {
    const inside = ({ id }, key) => id === "skipping" && /^[1-9]$/.test(key) && $("reasons").children[key - 1]?.click();
    bindKeys(table(), (key) => now || ["Backspace", " ", "h", "?"].includes(key), inside);
    releaseFocus();
    form.addEventListener("submit", (event) => (event.preventDefault(), send()));
    $("tools").addEventListener("submit", (event) => event.preventDefault());
    for (const [id, does] of [["undo", undo], ["pause", pause], ["save", () => save().catch(fail)], ["unseen", () => now && nextUnseen()], ["help", () => showDialog("helping")], ["examples", () => showExamples().catch(fail)], ["skip", () => showDialog("skipping")]]) $(id).addEventListener("click", does);
    for (const dialog of document.querySelectorAll("dialog")) dialog.addEventListener("close", () => (tick(), view.render()));
    $("skipping").addEventListener("close", ({ target }) => target.returnValue && send(target.returnValue));
    document.addEventListener("visibilitychange", () => (tick(), keep(), view.render()));
    window.addEventListener("pagehide", keep);
    setInterval(tick, 500);
    setInterval(keep, 5000);
  }

  async function begin() {
    if (!window.BUNDLE && !token) return note("The rating cannot start", ["This page needs the whole link that the server printed when it was started."], null);
    const busy = (error) => error && note("One moment", [passing(error) ? "The server does not answer. Trying again." : error.message], null);
    const got = await patiently("study", {}, busy);
    outbox = new Outbox(`intrabench rate: ${got.rater}: ${got.id}`, onChange);
    study = { ...got, done: got.done ?? [] };
    stock = new Stock(study.cases, trouble);
    view.neurological = study.orientation === "neurological";
    build();
    outbox.flush();
    if (study.closed) return note("This study is closed", ["No more answers are taken. Thank you."], null);
    const steps = remaining(), [first] = steps;
    if ($("note").open) $("note").close();
    if (!study.trained && !study.training.length && !outbox.read().trained) endPractice();
    if (first) note(study.title, [
      first.training ? `${study.training.length - first.place} masks for practice come first; after each you are told what was expected. Then ${study.order.length} masks follow.` : `${steps.length} of ${study.order.length} masks are left.`,
      "Look at every slice of the marked range, then answer. Your answers are kept at once: you may stop at any time.",
      "Everything can be done with keys: H lists them.",
    ], first.training || steps.length === study.order.length ? "Start" : "Go on");
    await open(first);
  }

  // For tests and benchmarks; forget: measure the next slice and the next job anew.
  window.rating = {
    forget: () => Object.assign(times, { slice: null, job: null }),
    state: () => ({
      place: now?.place ?? null, job: now?.id ?? null, training: now?.training ?? false, teaching: now?.teaching ?? false, at: [...(view.at ?? [])], seen: now?.seen.size ?? 0, left: now ? left().length : 0,
      loaded: view.volume ? view.volume.count / view.volume.have.length : 0, memory: [...(stock?.volumes.keys() ?? [])], whole: [...(stock?.volumes.values() ?? [])].every((volume) => volume.complete), side: view.side, mode: view.mode, waiting: outbox?.waiting ?? 0, finished: !$("finished").hidden, // milliseconds:
      firstDraw: times.first, sliceDraw: times.slice, jobDraw: times.job,
    }),
  };
  begin().catch(fail);
})();
