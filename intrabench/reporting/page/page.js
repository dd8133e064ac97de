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

// Paper has no folds.
const unfolded = [];
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details:not([open])")) (part.open = true), unfolded.push(part);
});
addEventListener("afterprint", () => unfolded.splice(0).forEach((part) => (part.open = false)));
