"use strict";
// Tables that sort by a click or a key on a head.

function sortBy(table, column, direction) {
  const body = table.tBodies[0];
  const key = (row) => row.cells[column].dataset.value;
  const numeric = table.tHead.rows[0].cells[column].classList.contains("number");
  const compare = (a, b) => {
    const [p, q] = [key(a), key(b)];
    if (p === undefined || q === undefined) return (p === undefined) - (q === undefined); // what has no value comes last
    return direction * (numeric ? p - q || 0 : p.localeCompare(q, undefined, { numeric: true }));
  };
  body.append(...[...body.rows].sort(compare));
}

for (const button of document.querySelectorAll("table.sortable th button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement;
    const first = head.classList.contains("number") ? "descending" : "ascending"; // the largest number is looked for first
    const next = { ascending: "descending", descending: "ascending" }[head.getAttribute("aria-sort")] ?? first;
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", next);
    sortBy(head.closest("table"), head.cellIndex, next === "ascending" ? 1 : -1);
  });
}

// Every table can be saved, with all its digits.
for (const table of document.querySelectorAll("table.sortable")) {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "save", textContent: "Download as CSV" });
  button.setAttribute("aria-label", `Download as CSV: ${table.id}`);
  button.addEventListener("click", () => {
    const heads = [...table.tHead.rows[0].cells], numeric = heads.map((head) => head.classList.contains("number"));
    const field = (cell, n) => (numeric[n] ? cell.dataset.value : cell.dataset.value ?? cell.textContent.trim());
    saveCsv(table.id, [heads.map((head) => head.textContent), ...[...table.tBodies[0].rows].map((row) => [...row.cells].map(field))]);
  });
  document.getElementById(`${table.id}-caption`)?.append(" ", button);
}

// Where the second column that stays in place begins.
const widths = new ResizeObserver((changed) => {
  for (const { target } of changed) target.closest("table")?.style.setProperty("--first", `${target.offsetWidth}px`);
});
const watchWidths = (table) => table.querySelectorAll("thead .stay0").forEach((head) => widths.observe(head));
document.querySelectorAll("table").forEach(watchWidths);

// Paper has no folds.
const unfolded = [];
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details:not([open])")) (part.open = true), unfolded.push(part);
});
addEventListener("afterprint", () => unfolded.splice(0).forEach((part) => (part.open = false)));
