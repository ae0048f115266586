"use strict";
// A column's head sorts its table, empty cells last; long tables have a box that keeps the rows with all words in it.
// Without this script nothing is lost but that.
const LONG = 12; // rows of the longest table without a box
const NUMBER = /^\[?([+\u2212-]?(\d[\d,]*(\.\d+)?|\.\d+))/;
const LEADING = /^\[?[+\u2212-]?(\d[\d,]*(\.\d+)?|\.\d+)( ?%)?(?=$|[\s/,\[(])/; // most cells like this: sorted as numbers
const words = new Intl.Collator("en", { numeric: true });

function value(row, column, numeric) {
  const text = row.cells[column].textContent.trim();
  if (!numeric) return text === "" ? null : text;
  const found = NUMBER.exec(text);
  return found ? Number(found[1].replace(/,/g, "").replace("\u2212", "-")) : null;
}

function sort(head, column) {
  const table = head.closest("table"), body = table.tBodies[0];
  const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  const told = [...body.rows].map((row) => row.cells[column].textContent.trim()).filter((text) => text !== "");
  const numeric = 2 * told.filter((text) => LEADING.test(text)).length > told.length;
  const rows = [...body.rows].map((row) => [value(row, column, numeric), row]);
  rows.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (numeric ? a - b : words.compare(a, b));
  });
  body.append(...rows.map(([, row]) => row));
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
}

const plain = (text) => text.toLowerCase().replaceAll("\u2212", "-");

function filter(table, box, count) {
  const wanted = plain(box.value).split(/\s+/), rows = [...table.tBodies[0].rows];
  for (const row of rows) {
    const text = plain([...row.cells].map((cell) => cell.textContent).join(" "));
    row.hidden = !wanted.every((word) => text.includes(word));
  }
  const shown = rows.filter((row) => !row.hidden).length;
  count.textContent = shown < rows.length ? `${shown} of ${rows.length} rows` : "";
}

function addFilter(table) {
  const label = document.createElement("label"), box = document.createElement("input");
  const count = document.createElement("output");
  box.type = "search";
  box.addEventListener("input", () => filter(table, box, count));
  label.append("Filter rows ", box, " ", count);
  table.setAttribute("aria-label", table.caption.textContent); // the name of the table leaves the box out
  table.caption.append(label);
}

for (const table of document.querySelectorAll("table")) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Sort by this column";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(head, column));
    head.append(button);
  });
  if (table.tBodies[0].rows.length > LONG) addFilter(table);
}

// On paper figures and warnings are whole; what else is folded stays so.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")].filter((part) => part.querySelector("figure") || part.closest(".warned"));
  for (const part of folded) part.open = true;
});
addEventListener("afterprint", () => {
  for (const part of folded) part.open = false;
});
