"use strict";
// Data that the page holds compressed, how its numbers are written, and files that it hands out.

async function inflated(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// A number with so many decimals, as the tables of the page have it: what lies in the middle becomes even (18.25 is 18.2).
function fixed(value, digits) {
  const size = 10 ** digits, doubled = value * size * 2;
  const middle = Number.isInteger(value * 2 ** (digits + 1)) && Math.abs(doubled % 2) === 1;
  return (middle ? (2 * Math.round(doubled / 4)) / size : value).toFixed(digits);
}

const CSV_QUOTED = /[",\r\n]/;
const CSV_FORMULA = /^[=+\-@\t\r]/;

// Saves rows of texts and numbers as NAME.csv; null is an empty field. A text that a spreadsheet would take for a formula
// gets an apostrophe in front.
function saveCsv(name, rows) {
  const plain = (value) => (typeof value === "string" && CSV_FORMULA.test(value) && isNaN(value) ? `'${value}` : value ?? "");
  const field = (value) => (CSV_QUOTED.test((value = plain(value))) ? `"${value.replaceAll('"', '""')}"` : value);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([rows.map((row) => row.map(field).join(",") + "\n").join("")], { type: "text/csv" }));
  link.download = `${name}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
