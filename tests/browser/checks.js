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

  // Drawings that are shown, and what is wrong with them.
  const charts = [...document.querySelectorAll('svg[role="img"]')].filter(shown);
  const badCharts = charts.flatMap((svg) => {
    const wrong = [];
    if (!visible(svg)) wrong.push(`${name(svg)}: no size`);
    const lines = [...svg.querySelectorAll("path.line")];
    if (lines.length === 0) wrong.push(`${name(svg)}: no line`);
    for (const line of lines) {
      if (!(line.getTotalLength() > 10)) wrong.push(`${name(svg)}: a line of no length`);
      if (getComputedStyle(line).stroke === "none") wrong.push(`${name(svg)}: a line without colour`);
    }
    const frame = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      if (!(box.width > 0 && box.height >= 8)) wrong.push(`${name(text)}: unreadable, ${box.height} px high`);
      if (box.left < frame.left - 1 || box.right > frame.right + 1) wrong.push(`${name(text)}: outside its drawing`);
    }
    const labels = (svg.getAttribute("aria-labelledby") || "").split(" ").map((id) => document.getElementById(id));
    if (labels.length !== 2 || labels.some((label) => !label || !label.textContent)) wrong.push(`${name(svg)}: not named`);
    return wrong;
  });

  // Letters against what lies behind them: WCAG 2.2, 1.4.3, at least 4.5 to 1 (3 to 1 for large ones).
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const channels = (color) => {
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

  // Boxes that stick out of the page. Those inside a box that scrolls on its own may.
  const out = [...document.body.querySelectorAll("*")].filter((element) => {
    if (!shown(element) || element.closest(".scroll") !== null && !element.matches(".scroll")) return false;
    return element.getBoundingClientRect().right > width + 1;
  }).slice(0, 5).map(name);

  return {
    heading: (document.querySelector("h1") || {}).textContent || "",
    text: document.body.innerText.length,
    charts: charts.length,
    allCharts: document.querySelectorAll('svg[role="img"]').length,
    badCharts,
    faint: [...faint],
    out,
    scrollWidth: document.documentElement.scrollWidth,
    ground: getComputedStyle(document.body).backgroundColor,
    scripts: document.scripts.length,
    resources: performance.getEntriesByType("resource").map((entry) => entry.name),
  };
}
