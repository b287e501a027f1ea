"use strict";
// A click on a heading sorts its table: numbers by value, the largest first; texts by the alphabet.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  for (const [column, head] of [...table.tHead.rows[0].cells].entries()) {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const isNumber = head.classList.contains("number");
      const down = head.ariaSort ? head.ariaSort !== "descending" : isNumber;
      const textOf = (row) => row.cells[column].firstChild?.textContent.trim() ?? "";
      // What is no number stands last.
      const numberOf = (row) => (Number.isNaN(parseFloat(textOf(row))) ? (down ? -Infinity : Infinity) : parseFloat(textOf(row)));
      const compare = isNumber ? (a, b) => numberOf(a) - numberOf(b) || 0 : (a, b) => textOf(a).localeCompare(textOf(b));
      body.append(...[...body.rows].sort((a, b) => (down ? compare(b, a) : compare(a, b))));
      for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
      head.ariaSort = down ? "descending" : "ascending";
    });
  }
}
