"use strict";
(() => {
  const table = document.getElementById("students"), body = table.tBodies[0], rows = [...body.rows];
  const sought = document.getElementById("sought"), standing = document.getElementById("standing");
  const shown = document.getElementById("shown");
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

  function filter() {
    const words = sought.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const fits = words.every((word) => row.dataset.sought.includes(word))
        && (!standing.value || row.dataset.standing === standing.value);
      row.hidden = !fits;
      count += fits;
    }
    shown.value = `${count} of ${rows.length}`;
  }

  // Numbers by their value, text by the reader's alphabet; what has no number comes last both ways.
  function sort(column, down) {
    const numeric = rows.some((row) => row.cells[column].dataset.number !== undefined);
    const keys = new Map(rows.map((row) => {
      const cell = row.cells[column];
      return [row, numeric ? parseFloat(cell.dataset.number) : cell.textContent];
    }));
    const sign = down ? -1 : 1;
    const sorted = [...rows].sort((one, other) => {
      const [a, b] = [keys.get(one), keys.get(other)];
      if (!numeric) return sign * collator.compare(a, b);
      if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
      return sign * (a - b);
    });
    body.append(...sorted);
  }

  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = head.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      sort(column, down);
    });
  });
  sought.addEventListener("input", filter);
  standing.addEventListener("change", filter);
  document.querySelector(".tools").hidden = false;
  filter(); // a browser may have kept what was typed
})();
