(() => {
const tip = document.getElementById("tip"), all = (s, f) => document.querySelectorAll(s).forEach(f);
function show(lines, x, y) {
  tip.replaceChildren(...lines.map((t) => { const p = document.createElement("div"); p.textContent = t; return p; }));
  tip.hidden = false;
  const w = tip.offsetWidth, h = tip.offsetHeight, room = document.documentElement.clientWidth;
  tip.style.left = Math.max(8, Math.min(x + 12, scrollX + room - w - 8)) + "px";
  tip.style.top = (y - h - 12 < scrollY ? y + 16 : y - h - 12) + "px";
}
const hide = () => { tip.hidden = true; };
const keyed = (el, go, off, at) => {
  el.addEventListener("pointerleave", off); el.addEventListener("blur", off);
  el.addEventListener("focus", () => { if (el.matches(":focus-visible")) go(at()); });
  el.addEventListener("keydown", (e) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1, PageUp: 10, PageDown: -10, Home: -1e9, End: 1e9 }[e.key];
    if (step) { go(at() + step); e.preventDefault(); } else if (e.key === "Escape") off();
  });
};
all("[data-chart]", (el) => {
  const d = JSON.parse(el.dataset.chart);
  if (!d.marks) return;
  let at = 0, ring;
  function go(k) {
    at = Math.max(0, Math.min(d.marks.length - 1, k));
    if (!ring) { ring = document.createElement("i"); ring.className = "knob"; el.append(ring); }
    const [fx, fy, text] = d.marks[at], r = el.getBoundingClientRect();
    ring.hidden = false; ring.style.left = 100 * fx + "%"; ring.style.top = 100 * (1 - fy) + "%";
    show([text], r.left + scrollX + fx * r.width, r.top + scrollY + (1 - fy) * r.height);
  }
  const move = (e) => {
    const r = el.getBoundingClientRect(), far = (m) => Math.hypot(m[0] * r.width - e.clientX + r.left, (1 - m[1]) * r.height - e.clientY + r.top);
    go(d.marks.reduce((best, m, k) => far(m) < far(d.marks[best]) ? k : best, 0));
  };
  el.addEventListener("pointermove", move); el.addEventListener("pointerdown", move);
  keyed(el, go, () => { hide(); if (ring) ring.hidden = true; }, () => at);
});
all("[data-chart]", (el) => {
  const d = JSON.parse(el.dataset.chart);
  if (d.marks) return;
  const [x0, x1] = d.xr, [y0, y1] = d.yr, marks = [];
  const of = (v) => v === null ? "\u2013" : d.pc ? (100 * v).toFixed(v < .1 || v > .99 ? 1 : 0) + "%" : v.toFixed(3).replace("-", "\u2212");
  const mark = (c) => { const i = document.createElement("i"); i.className = c; el.append(i); marks.push(i); return i; };
  let at = Math.floor(d.x.length / 2), bar, knobs;
  function go(k) {
    at = Math.max(0, Math.min(d.x.length - 1, k));
    bar ??= mark("cross"); knobs ??= d.series.map(() => mark("knob"));
    marks.forEach((m) => { m.hidden = false; });
    const fx = (d.x[at] - x0) / (x1 - x0), fy = (v) => Math.max(0, Math.min(1, (v - y0) / (y1 - y0)));
    bar.style.left = 100 * fx + "%";
    knobs.forEach((m, k) => { const v = d.series[k].y[at]; m.hidden = v === null; m.style.left = 100 * fx + "%"; m.style.top = 100 * (1 - fy(v)) + "%"; });
    const r = el.getBoundingClientRect(), top = d.series[0].y[at];
    show([d.of + " " + of(d.x[at]), ...d.series.map((s) => s.name + " " + of(s.y[at]) + (s.lo && s.lo[at] !== null ? " (" + of(s.lo[at]) + " to " + of(s.hi[at]) + ")" : ""))],
      r.left + scrollX + fx * r.width, r.top + scrollY + (1 - fy(top)) * r.height);
  }
  const off = () => { hide(); marks.forEach((m) => { m.hidden = true; }); };
  const move = (e) => {
    const r = el.getBoundingClientRect(), v = x0 + (e.clientX - r.left) / r.width * (x1 - x0);
    go(d.x.reduce((best, x, k) => Math.abs(x - v) < Math.abs(d.x[best] - v) ? k : best, 0));
  };
  el.addEventListener("pointermove", move); el.addEventListener("pointerdown", move);
  keyed(el, go, off, () => at);
});
all(".tip", (b) => {
  const on = () => { const r = b.getBoundingClientRect(); show([b.dataset.tip], r.left + scrollX - 12, r.top + scrollY); b.setAttribute("aria-expanded", "true"); };
  const off = () => { hide(); b.setAttribute("aria-expanded", "false"); };
  ["pointerenter", "focus", "click"].forEach((e) => b.addEventListener(e, on));
  ["pointerleave", "blur"].forEach((e) => b.addEventListener(e, off));
  b.addEventListener("keydown", (e) => { if (e.key === "Escape") off(); });
});
const value = (row, c) => {
  const text = row.cells[c].textContent.trim().replace(/,/g, "").replace(/\u2212/g, "-").replace(/^> /, ""), x = parseFloat(text);
  return text.startsWith("\u2013") || text === "" ? null : Number.isNaN(x) ? text : x;
};
all("table.sort", (t) => t.querySelectorAll("thead th").forEach((th, c) => th.querySelector("button")?.addEventListener("click", () => {
  const rows = [...t.tBodies[0].rows], before = th.getAttribute("aria-sort"), words = rows.some((r) => typeof value(r, c) === "string");
  const up = before ? before === "descending" : words;
  t.querySelectorAll("th[aria-sort]").forEach((x) => x.removeAttribute("aria-sort"));
  th.setAttribute("aria-sort", up ? "ascending" : "descending");
  const order = (a, b) => a === null ? 1 : b === null ? -1 : (words ? String(a).localeCompare(String(b), undefined, { numeric: true }) : a - b) * (up ? 1 : -1);
  t.tBodies[0].append(...rows.map((r) => [value(r, c), r]).sort((p, q) => order(p[0], q[0])).map((p) => p[1]));
})));
all(".copy", (b) => {
  if (!navigator.clipboard) return;
  b.hidden = false;
  b.addEventListener("click", () => navigator.clipboard.writeText(b.parentNode.querySelector("code").textContent).then(() => { b.textContent = "Copied"; setTimeout(() => { b.textContent = "Copy"; }, 1500); }));
});
})();
