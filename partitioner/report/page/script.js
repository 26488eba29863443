// Makes the heads of tables buttons that sort: by the numbers in `data-v` where the column has them, else by text. Once more turns the
// order round; equal rows keep theirs. The page needs none of this to be read.
"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const number = head.classList.contains("number");
      const first = number ? "descending" : "ascending";
      const other = number ? "ascending" : "descending";
      const order = head.getAttribute("aria-sort") === first ? other : first;
      const sign = order === "ascending" ? 1 : -1;
      const rows = Array.from(body.rows, (row) => {
        const cell = row.cells[column];
        return { row, key: cell.hasAttribute("data-v") ? Number(cell.dataset.v) : cell.textContent };
      });
      rows.sort((a, b) => sign * (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
      body.append(...rows.map((item) => item.row));
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
    });
  });
}
