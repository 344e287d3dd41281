"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);

  // Colours that begin with "@" are properties of the page's style.
  function coloured(value, style) {
    if (typeof value === "string" && value.startsWith("@")) return style.getPropertyValue("--" + value.slice(1)).trim();
    if (Array.isArray(value)) return value.map((each) => coloured(each, style));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, coloured(each, style)]));
  }

  function axis(own, style) {
    const line = style.getPropertyValue("--line").trim();
    return { gridcolor: line, zerolinecolor: line, linecolor: line, fixedrange: true, automargin: true, ...own };
  }

  function draw(place) {
    const style = getComputedStyle(document.documentElement);
    const chart = coloured(charts[Number(place.dataset.chart)], style);
    const narrow = place.clientWidth < 520;
    const layout = {
      ...chart.layout,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: style.getPropertyValue("--ink").trim(), family: "system-ui, sans-serif", size: narrow ? 11 : 13 },
      hoverlabel: {
        bgcolor: style.getPropertyValue("--card").trim(),
        font: { color: style.getPropertyValue("--ink").trim() },
      },
      margin: { l: 50, r: 10, t: 10, b: 40 },
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", bgcolor: "rgba(0,0,0,0)" },
      dragmode: false,
      hovermode: "closest",
    };
    for (const key of Object.keys(chart.layout).filter((name) => /^[xy]axis/.test(name))) {
      layout[key] = axis(chart.layout[key], style);
    }
    layout.width = place.clientWidth;
    Plotly.react(place, chart.data, layout, { displayModeBar: false });
    if (place.classList.contains("square")) square(place, chart.layout.yaxis.domain);
  }

  // As high as makes the plotting area as wide as high; the legend above it takes as many rows as it needs.
  function square(place, [from, to]) {
    for (let more = 3; more > 0; more -= 1) {
      const { w, h } = place._fullLayout._size;
      const missing = w / (to - from) - h;
      if (Math.abs(missing) < 1) return;
      Plotly.relayout(place, { height: place._fullLayout.height + missing });
    }
  }

  const places = [...document.querySelectorAll("[data-chart]")];
  const drawAll = () => places.forEach(draw);
  const widths = new Map();
  const resized = new ResizeObserver((found) => {
    for (const { target } of found) {
      if (widths.get(target) === target.clientWidth) continue;
      widths.set(target, target.clientWidth);
      draw(target);
    }
  });
  places.forEach((place) => {
    widths.set(place, place.clientWidth);
    draw(place);
    resized.observe(place);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  matchMedia("print").addEventListener("change", drawAll);

  // Printed, short tables that are folded away are opened; long ones would be pages of figures.
  const opened = new Set();
  addEventListener("beforeprint", () => {
    for (const each of document.querySelectorAll("details:not([open])")) {
      if (each.querySelectorAll("tbody tr").length > 30) continue;
      each.open = true;
      opened.add(each);
    }
  });
  addEventListener("afterprint", () => {
    opened.forEach((each) => { each.open = false; });
    opened.clear();
  });

  // What a name means, below it: while the mouse is over it, or on tap, click or Enter until the next elsewhere.
  for (const button of document.querySelectorAll("button.meaning")) {
    const meaning = button.popoverTargetElement;
    let held = false;
    button.addEventListener("click", () => { held = true; });
    button.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") meaning.showPopover(); });
    button.addEventListener("pointerleave", () => { if (!held) meaning.hidePopover(); });
    meaning.addEventListener("beforetoggle", (event) => {
      if (event.newState === "closed") held = false;
      const { left, bottom } = button.getBoundingClientRect();
      meaning.style.left = `${left + scrollX}px`;
      meaning.style.top = `${bottom + scrollY + 4}px`;
    });
    meaning.addEventListener("toggle", () => {
      const { right } = meaning.getBoundingClientRect();
      const over = right - document.documentElement.clientWidth + 8;
      if (over > 0) meaning.style.left = `${Math.max(parseFloat(meaning.style.left) - over, 8)}px`;
    });
  }

  // Sorting: by what a cell says of its value, else by its text; a second time the other way round.
  const names = new Intl.Collator(undefined, { numeric: true });
  function value(row, column) {
    const cell = row.cells[column];
    return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
  }
  function compare(a, b) {
    if (typeof a === "number" && typeof b === "number") return Number.isNaN(a) - Number.isNaN(b) || a - b;
    return names.compare(String(a), String(b));
  }
  for (const table of document.querySelectorAll("table[data-sortable]")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const turned = head.ariaSort === "ascending" ? -1 : 1;
        heads.forEach((other) => { other.ariaSort = null; });
        head.ariaSort = turned > 0 ? "ascending" : "descending";
        const body = table.tBodies[0];
        const keyed = [...body.rows].map((row) => [value(row, column), row]);
        keyed.sort(([a], [b]) => turned * compare(a, b));
        body.append(...keyed.map(([, row]) => row));
      });
    });
  }

  for (const field of document.querySelectorAll("input[data-searches]")) {
    const table = document.getElementById(field.dataset.searches);
    const status = document.querySelector(`[data-found="${field.dataset.searches}"]`);
    const rows = [...table.tBodies[0].rows];
    const words = rows.map((row) => row.cells[0].textContent.toLowerCase());
    field.addEventListener("input", () => {
      const wanted = field.value.toLowerCase();
      let found = 0;
      rows.forEach((row, at) => {
        row.hidden = !words[at].includes(wanted);
        found += row.hidden ? 0 : 1;
      });
      status.textContent = wanted ? `${found} of ${rows.length}` : "";
    });
  }
})();
