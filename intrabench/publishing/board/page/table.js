"use strict";
// The page of a table: scores of other metrics and at budgets, filters, and an address for each choice and each line.

(() => {
  const data = JSON.parse(document.getElementById("table-data").textContent);
  const table = document.getElementById("lines");
  const controls = document.querySelector("#ranks .controls").elements;
  const lines = new Map(data.lines.map((line) => [line.id, line]));
  const rows = [...table.tBodies[0].rows];

  const finite = (value) => (value === null || value === undefined ? null : Number(value)); // JSON has no infinite numbers
  const merit = (value, best) => (best === "high" ? value : best === "low" ? -value : -Math.abs(value));
  const digits = (value) => (Math.abs(value) === Infinity ? (value > 0 ? "∞" : "−∞") : value.toFixed(3).replace("-", "−"));
  const words = (select) => select.selectedOptions[0]?.textContent ?? "";

  function score(line, column) {
    const { unit, budget } = controls;
    if (!budget.value) return (line.means[column.id] ?? []).map(finite);
    return [finite(line.budgets[column.id]?.[unit.value]?.[data.budgets[unit.value].indexOf(Number(budget.value))]), null, null];
  }

  // Budgets exist for scores that grow from 0 only.
  function offer() {
    const { column, unit, budget } = controls;
    const has = data.lines.some((line) => line.budgets[column.value]);
    const before = budget.value, limits = has ? data.budgets[unit.value] ?? [] : [];
    budget.replaceChildren(new Option("no limit", ""), ...limits.map((value) => new Option(value.toLocaleString("en"), value)));
    budget.value = limits.includes(Number(before)) && before ? before : "";
    budget.disabled = unit.disabled = !limits.length;
  }

  function show() {
    const column = data.columns[controls.column.selectedIndex];
    const kept = (line) => ["model", "prompter", "status"].every((name) => !controls[name].value || line[name] === controls[name].value);
    const scores = new Map(data.lines.map((line) => [line.id, score(line, column)]));
    const ranked = data.lines.filter((line) => kept(line) && line.status === "ranked" && scores.get(line.id)[0] != null);
    // As in statistics.infinite: the fewest infinite values first, then the mean over the others.
    const order = (line) => {
      const infinite = controls.budget.value ? undefined : line.infinite[column.id];
      const others = infinite ? infinite.others : scores.get(line.id)[0];
      return [merit(infinite ? infinite.net : 0, column.best), others === null ? -Infinity : merit(others, column.best)];
    };
    const orders = ranked.map(order);
    const better = (one, other) => one[0] > other[0] || (one[0] === other[0] && one[1] > other[1]);
    for (const row of rows) {
      const line = lines.get(row.id), [value, low, high] = scores.get(row.id);
      const beyond = controls.budget.value ? undefined : line.infinite[column.id];
      row.hidden = !kept(line);
      const rank = ranked.includes(line) ? 1 + orders.filter((other) => better(other, order(line))).length : null;
      write(row.cells[0], rank, rank ?? "–");
      const link = document.createElement("a");
      link.href = `#${row.id}`;
      link.textContent = row.cells[0].textContent;
      link.setAttribute("aria-label", rank ? `rank ${rank}, address of this line` : "no rank, address of this line");
      row.cells[0].replaceChildren(link);
      const misses = controls.budget.value ? undefined : line.misses[column.id];
      const within = [low == null ? "" : `${low.toFixed(2)}–${high.toFixed(2)}`, misses].filter(Boolean).join("; ");
      write(row.cells[1], value ?? null, value == null ? "–" : digits(value), beyond ? beyond.words : within);
    }
    const { unit, budget } = controls;
    document.getElementById("score-says").textContent =
      `${column.id} ${budget.value ? `with at most ${words(budget)} ${words(unit)}` : "after the last round"}. ${counted()}`;
    for (const head of table.tHead.rows[0].cells) head.removeAttribute("aria-sort");
    table.tHead.rows[0].cells[0].setAttribute("aria-sort", "ascending");
    sortBy(table, 0, 1);
  }

  // Lines without a rank stand below the others, where a long table hides them.
  function counted() {
    const shown = rows.filter((row) => !row.hidden).map((row) => lines.get(row.id).status);
    const count = (status) => shown.filter((one) => one === status).length;
    return `${shown.length} of ${rows.length} lines: ${count("ranked")} ranked, below them ${count("withheld")} withheld and ${count("incomplete")} incomplete${count("copy") ? `, ${count("copy")} of copies` : ""}.`;
  }

  function write(cell, value, text, interval = "") {
    if (value === null) delete cell.dataset.value;
    else cell.dataset.value = value;
    cell.textContent = text;
    if (!interval) return;
    const below = cell.appendChild(document.createElement("span"));
    below.className = "interval";
    below.textContent = interval;
  }

  const plain = [...controls].map((control) => control.value); // what is not part of an address
  function remember() {
    const chosen = [...controls].filter((control, n) => control.value !== plain[n]).map((control) => [control.name, control.value]);
    history.replaceState(null, "", chosen.length ? `#${new URLSearchParams(chosen)}` : location.pathname);
  }

  function restore() {
    if (lines.has(location.hash.slice(1))) return;
    const parameters = new URLSearchParams(location.hash.slice(1));
    for (const control of controls) {
      if (control.name === "budget") offer();
      if (parameters.has(control.name) && [...control.options].some((one) => one.value === parameters.get(control.name))) control.value = parameters.get(control.name);
    }
  }

  // The unit of the curves follows.
  function follow() {
    const radio = document.querySelectorAll("#curves input[name=effort]")[Object.keys(data.budgets).indexOf(controls.unit.value)];
    if (!radio || radio.checked) return;
    radio.checked = true;
    radio.dispatchEvent(new Event("change", { bubbles: true }));
  }

  for (const control of controls)
    control.addEventListener("change", () => (offer(), show(), remember(), control.name === "unit" && follow()));
  addEventListener("hashchange", () => (restore(), offer(), show()));
  restore(), offer(), show();
})();
