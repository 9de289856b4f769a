// What a reader of the page would see, gathered in one pass: a function of the window's width in pixels, called by
// tests/browser/run. The window's own innerWidth will not do: on a phone it grows with what sticks out.
(width) => {
  const visible = (element) => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && getComputedStyle(element).visibility !== "hidden";
  };
  const shown = (element) => element.checkVisibility();
  const name = (element) => {
    const text = (element.textContent || "").trim().slice(0, 40);
    return `<${element.tagName.toLowerCase()} class="${element.getAttribute("class") || ""}"> ${text}`;
  };

  // Drawings that are shown, and what is wrong with them: charts of lines, of which each is drawn twice, and maps.
  const drawn = (kind) => [...document.querySelectorAll(`svg.${kind}[role="img"]`)].filter(shown);
  const wrongWith = (svg) => {
    const wrong = [];
    if (!visible(svg)) wrong.push(`${name(svg)}: no size`);
    const frame = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      if (!(box.width > 0 && box.height >= 8)) wrong.push(`${name(text)}: unreadable, ${box.height} px high`);
      if (box.left < frame.left - 1 || box.right > frame.right + 1) wrong.push(`${name(text)}: outside its drawing`);
    }
    const labels = (svg.getAttribute("aria-labelledby") || "").split(" ").map((id) => document.getElementById(id));
    if (labels.length !== 2 || labels.some((label) => !label || !label.textContent)) wrong.push(`${name(svg)}: not named`);
    return wrong;
  };
  const charts = drawn("chart");
  const body = parseFloat(getComputedStyle(document.body).fontSize);
  const badCharts = charts.flatMap((svg) => {
    const wrong = wrongWith(svg);
    const lines = [...svg.querySelectorAll("path.line")];
    if (lines.length === 0) wrong.push(`${name(svg)}: no line`);
    const letters = 12 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    if (letters > body) wrong.push(`${name(svg)}: its letters have ${letters} px, those of the page ${body}`);
    for (const mark of svg.querySelectorAll("path.line, circle, line.mark")) {
      if (!mark.querySelector("title")?.textContent) wrong.push(`${name(svg)}: a ${mark.tagName} without a title`);
    }
    for (const line of lines) {
      if (!(line.getTotalLength() > 10)) wrong.push(`${name(svg)}: a line of no length`);
      if (getComputedStyle(line).stroke === "none") wrong.push(`${name(svg)}: a line without colour`);
    }
    return wrong;
  });
  const maps = [...document.querySelectorAll("table.heat")].filter(shown);
  // A legend has every shade, also those that no cell of its map has.
  const keys = [...document.querySelectorAll('.key[class*=" h"]')];
  const shades = new Map(keys.map((key) => [key.className.split(" ")[1], getComputedStyle(key).backgroundColor]));
  const badMaps = maps.flatMap((map) => {
    const wrong = [];
    if (!map.getAttribute("aria-label")) wrong.push(`${name(map)}: not named`);
    const cells = [...map.querySelectorAll('td[class^="h"]')];
    if (cells.length === 0) wrong.push(`${name(map)}: no cell`);
    for (const cell of cells) {
      const fill = getComputedStyle(cell).backgroundColor;
      shades.set(cell.className, fill);
      if (fill === "rgba(0, 0, 0, 0)") wrong.push(`${name(map)}: cells without a shade`);
      if (!visible(cell)) wrong.push(`${name(map)}: cells without a size`);
    }
    const box = map.closest(".scroll");
    if (!box || box.tabIndex !== 0) wrong.push(`${name(map)}: in no box that scrolls by keyboard`);
    const told = cells[0]?.textContent || map.closest("figure").parentElement.querySelector("details table");
    if (!told) wrong.push(`${name(map)}: no figures of it`);
    return wrong;
  });
  // Letters against what lies behind them: WCAG 2.2, 1.4.3, at least 4.5 to 1 (3 to 1 for large ones).
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const channels = (color) => {
    if (!known.has(color)) known.set(color, read(color));
    return known.get(color);
  };
  const read = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = ([r, g, b]) => {
    const linear = [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const color = channels(getComputedStyle(e).backgroundColor);
      if (color[3] === 255) return color;
    }
    return [255, 255, 255, 255];
  };
  const faint = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !shown(element) || ["title", "desc"].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const ink = channels(element instanceof SVGElement ? style.fill : style.color);
    const [high, low] = [luminance(ink), luminance(behind(element))].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < (large ? 3 : 4.5)) faint.add(`${name(element)}: ${ratio.toFixed(2)} to 1`);
  }

  // Shades are told apart by their light, so that no eye for colours is needed.
  const light = [...shades.keys()].sort().map((shade) => [shade, luminance(channels(shades.get(shade)))]);
  for (let at = 1; at < light.length; at++) {
    const [high, low] = [light[at - 1][1], light[at][1]].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 1.2) badMaps.push(`shades ${light[at - 1][0]} and ${light[at][0]} are alike: ${ratio.toFixed(2)} to 1`);
  }

  // Boxes that stick out of the page. Those inside a box that scrolls on its own may.
  const out = [...document.body.querySelectorAll("*")].filter((element) => {
    if (!shown(element) || element.closest(".scroll") !== null && !element.matches(".scroll")) return false;
    return element.getBoundingClientRect().right > width + 1;
  }).slice(0, 5).map(name);

  // A click on the head of a table of a fleet sorts it: the first script of the page did not load where it does not.
  const sorts = () => {
    const head = document.querySelector(".fleet thead th:last-child");
    head?.click();
    return head?.hasAttribute("aria-sort") ?? false;
  };

  for (const piece of document.querySelectorAll(".piece")) {
    if (!piece.title) badCharts.push(`${name(piece.closest("li"))}: a bar without a title`);
  }

  // Links stay on the page, and the contents lead to each section.
  const lost = [...document.querySelectorAll("a")].map((a) => a.getAttribute("href") || "")
    .filter((href) => !href.startsWith("#") || !document.getElementById(href.slice(1)));
  const sections = [...document.querySelectorAll("main > section")];
  if (sections.length > 1) {
    lost.push(...sections.filter((s) => !document.querySelector(`nav a[href="#${CSS.escape(s.id)}"]`)).map(name));
  }

  // A box that scrolls says so.
  const silent = [...document.querySelectorAll(".scroll")].filter((box) => {
    if (!shown(box) || box.scrollWidth <= box.clientWidth + 1) return false;
    const hint = box.previousElementSibling;
    const told = hint && hint.matches(".hint") && shown(hint);
    return !told && !getComputedStyle(box).backgroundImage.includes("gradient");
  }).map(name);

  // What is closed has no height; paper cannot be clicked.
  const closed = [...document.querySelectorAll("details:not(#all *)")].filter((details) => {
    // Hints of scrolling, and matrices wider than paper, are for screens.
    const inside = [...details.children].slice(1).filter((element) => !element.matches(".hint, .screen"));
    return inside.some((element) => element.getBoundingClientRect().height === 0);
  }).map(name);

  return {
    lost,
    silent,
    closed,
    heading: (document.querySelector("h1") || {}).textContent || "",
    text: document.body.innerText.length,
    charts: charts.length,
    allCharts: document.querySelectorAll('svg.chart[role="img"]').length,
    maps: maps.length,
    badCharts: [...badCharts, ...badMaps],
    faint: [...faint],
    out,
    scrollWidth: document.documentElement.scrollWidth,
    ground: getComputedStyle(document.body).backgroundColor,
    scripts: document.scripts.length,
    sortable: document.querySelector(".fleet thead th") ? 1 : 0,
    sorted: sorts(),
    resources: performance.getEntriesByType("resource").map((entry) => entry.name),
  };
}
