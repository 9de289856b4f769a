for (const head of document.querySelectorAll(".fleet thead th")) {
  head.tabIndex = 0;
  const sort = () => {
    const body = head.closest("table").tBodies[0];
    const at = head.cellIndex;
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const value = (row) => {
      const text = row.cells[at].textContent;
      return at ? parseFloat(text) : text;
    };
    const missing = (v) => v !== v;
    const order = (a, b) => {
      const [x, y] = [value(a), value(b)];
      if (missing(x) || missing(y)) return missing(x) - missing(y);
      return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1);
    };
    body.append(...[...body.rows].sort(order));
  };
  head.addEventListener("click", sort);
  head.addEventListener("keydown", (event) => {
    if (event.key === "Enter") sort();
  });
}
