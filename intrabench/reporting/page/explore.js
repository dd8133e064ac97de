"use strict";
// Labels, cases and targets as one table: filtered, searched, sorted, shown a page at a time, saved as CSV.

(async () => {
  const section = document.getElementById("explore"), holder = document.getElementById("explore-data");
  if (!holder) return;
  const PAGE = 50; // rows in the document at any time, however many there are
  const MANY = 12; // lines that are shown side by side at once
  const HEADS = { label: "Label", dataset: "Data set", case: "Case", target: "Target", targets: "Targets" };
  const table = document.getElementById("explored"), controls = section.querySelector("form").elements;
  const [back, next, save] = ["back", "next", "csv"].map((name) => section.querySelector(`button[name=${name}]`));
  const status = section.querySelector("[role=status]");
  const data = JSON.parse(new TextDecoder().decode(await inflated(holder.textContent)));
  const viewed = new Set([...document.querySelectorAll("#viewer [name=target] option")].map((option) => option.dataset.key));
  const order = new Intl.Collator(undefined, { numeric: true });
  const unique = (values) => [...new Set(values)].sort(order.compare);
  const nameOf = (line) => `${line.prompter}, ${line.model}${line.notes ? ` (${line.notes})` : ""}`;
  let level, columns, rows; // the level, the columns that are shown, the rows that pass, in order

  for (const level of data.levels) {
    const names = Object.values(level.keys);
    level.values = level.values.map((values) => values.map((value) => (typeof value === "string" ? Number(value) : value)) /* JSON has no infinite numbers */);
    level.count = names[0].length;
    level.text = names[0].map((_, row) => names.map((name) => name[row]).join("\n").toLowerCase());
  }

  // Which lines are the columns: all, those of a prompter, or those of a model.
  function choices() {
    const groups = [];
    if (data.lines.length <= MANY) groups.push(new Option("all lines", ""));
    for (const [key, title] of [["prompter", "All models with"], ["model", "All prompters with"]]) {
      const group = document.createElement("optgroup");
      group.label = title;
      group.append(...unique(data.lines.map((line) => line[key])).map((name) => new Option(name, `${key} ${name}`)));
      groups.push(group);
    }
    controls.columns.replaceChildren(...groups);
  }

  function linesShown() {
    const [key, name] = controls.columns.value.split(/ (.*)/s), other = key === "prompter" ? "model" : "prompter";
    return data.lines.flatMap((line, number) => {
      if (!controls.columns.value) return [{ number, head: nameOf(line) }];
      return line[key] === name ? [{ number, head: line[other] + (line.notes ? ` (${line.notes})` : "") }] : [];
    });
  }

  // A filter by the values of a column; it is hidden if there is nothing to choose from.
  function filter(select, values) {
    const names = unique(values ?? []);
    select.replaceChildren(new Option("all", ""), ...names.map((name) => new Option(name, `=${name}`)));
    select.closest("label").hidden = names.length < 2;
  }

  function choose() {
    level = data.levels.find((one) => one.name === controls.level.value);
    const kept = [controls.set.value, controls.label.value];
    filter(controls.set, level.keys.dataset);
    filter(controls.label, level.name === "target" ? level.keys.label : []);
    [controls.set, controls.label].forEach((select, n) => (select.value = kept[n], select.selectedIndex < 0 && (select.value = "")));
  }

  function fill() {
    const several = (key) => new Set(level.keys[key]).size > 1;
    columns = [
      ...Object.entries(level.keys).filter(([key], n) => !n || key === "target" || several(key)).map(([key, values]) => ({ head: HEADS[key], values })),
      ...Object.entries(level.counts).map(([key, values]) => ({ head: HEADS[key], values, numeric: true })),
      ...linesShown().map(({ number, head }) => ({ head, values: level.values[number], fewer: level.fewer?.[number], numeric: true, line: number })),
    ];
    const words = controls.search.value.toLowerCase().split(/\s+/), [set, label] = [controls.set, controls.label].map((one) => one.value.slice(1));
    const limit = controls.limit.value === "" ? null : Number(controls.limit.value), scores = columns.filter((column) => column.line !== undefined);
    const poor = (value) => value !== null && (data.best === "high" ? value <= limit : value >= limit);
    rows = Array.from({ length: level.count }, (_, row) => row).filter((row) =>
      words.every((word) => level.text[row].includes(word)) && (!set || level.keys.dataset[row] === set) &&
      (!label || level.keys.label[row] === label) && (limit === null || scores.some((column) => poor(column.values[row]))));
    sort();
    show();
  }

  function sorting() {
    const [head, direction] = (view.get("sort") ?? "").split(/ (?=up$|down$)/);
    return { column: columns.find((one) => one.head === head), up: direction !== "down" };
  }

  function sort() {
    const { column, up } = sorting();
    if (!column) return;
    const { values, numeric } = column, sign = up ? 1 : -1;
    rows.sort((a, b) => {
      const [p, q] = [values[a], values[b]];
      if (p === null || q === null) return (p === null) - (q === null); // what has no value comes last
      return sign * (numeric ? p - q || 0 : order.compare(p, q));
    });
  }

  const text = (value) => (value === null ? "–" : Math.abs(value) === Infinity ? (value > 0 ? "∞" : "−∞") : fixed(value, data.digits));
  const shown = (value, targets) => text(value) + (targets ? ` (${targets})` : "");

  function show() {
    const pages = Math.max(1, Math.ceil(rows.length / PAGE)), page = Math.min(Math.max(Number(view.get("page") ?? 1) || 1, 1), pages) - 1;
    const here = rows.slice(page * PAGE, (page + 1) * PAGE);
    head();
    table.tBodies[0].replaceChildren(...here.map(line));
    status.textContent = rows.length ? `Rows ${page * PAGE + 1} to ${page * PAGE + here.length} of ${rows.length}` : "No row passes.";
    back.disabled = page === 0;
    next.disabled = page === pages - 1;
    [back.dataset.page, next.dataset.page] = [page, page + 2];
    save.disabled = !rows.length;
  }

  function head() {
    const { column, up } = sorting(), focused = [...table.tHead.querySelectorAll("button")].indexOf(document.activeElement);
    const row = document.createElement("tr");
    columns.forEach((one, n) => {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.className = [one.numeric && "number", stays(n)].filter(Boolean).join(" ");
      if (one === column) cell.ariaSort = up ? "ascending" : "descending";
      const button = cell.appendChild(document.createElement("button"));
      button.type = "button";
      button.append(...one.head.split(/(?<=[:,+/])/).flatMap((part) => [part, document.createElement("wbr")]));
      button.addEventListener("click", () => {
        const rising = one === column ? !up : !one.numeric || data.best === "high"; // the worst is looked for first
        view.go({ sort: `${one.head} ${rising ? "up" : "down"}`, page: null }, "explore");
      });
      row.append(cell);
    });
    table.tHead.replaceChildren(row);
    watchWidths(table);
    if (focused >= 0) row.cells[focused]?.firstChild.focus();
  }

  const stays = (n) => (n === 0 ? "stay0" : n === 1 && level.name === "target" ? "stay1" : "");

  function line(row) {
    const made = document.createElement("tr");
    columns.forEach((one, n) => {
      const cell = made.appendChild(document.createElement(stays(n) ? "th" : "td"));
      if (stays(n)) cell.scope = "row";
      cell.className = [one.numeric && "number", stays(n)].filter(Boolean).join(" ");
      const value = one.values[row], target = one.line === undefined || value === null ? null : targetOf(row);
      const text = one.line === undefined ? String(value) : shown(value, one.fewer?.[row]);
      cell[target ? "appendChild" : "append"](target ? link(target, one.line, text) : text);
    });
    return made;
  }

  // The target of a row that the viewer has; of a case, any.
  function targetOf(row) {
    const { dataset, case: scan, target } = level.keys;
    if (level.name === "label") return null;
    const key = `${dataset[row]}/${scan[row]}/${target ? target[row] : ""}`;
    return target ? (viewed.has(key) ? key : null) : [...viewed].find((one) => one.startsWith(key)) ?? null;
  }

  function link(target, line, text) {
    const anchor = document.createElement("a"), values = { target, answer: nameOf(data.lines[line]), round: null, at: null };
    anchor.href = `#viewer?${new URLSearchParams({ target, answer: values.answer })}`;
    anchor.textContent = text;
    anchor.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      view.go(values, "viewer", true);
    });
    return anchor;
  }

  const first = () => (view.following || view.set({ page: null }, "explore"), fill());
  choices();
  choose();
  for (const radio of controls.level.length ? controls.level : [controls.level]) radio.addEventListener("change", () => (choose(), first()));
  for (const control of [controls.columns, controls.set, controls.label]) control.addEventListener("change", first);
  for (const control of [controls.search, controls.limit]) control.addEventListener("input", first);
  section.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  for (const button of [back, next]) button.addEventListener("click", () => view.go({ page: button.dataset.page === "1" ? null : button.dataset.page }, "explore"));
  save.addEventListener("click", () =>
    saveCsv(`${level.name}s`, [columns.map((one) => one.head), ...rows.map((row) => columns.map((one) => (one.values[row] === null ? null : String(one.values[row]))))]));
  fill();
  for (const name of ["columns", "set", "label", "search", "limit"]) view.bind(controls[name], name);
  view.on(["sort", "page"], fill);
})();
