// The parts of charts: numbers as the pages write them, colours of the theme, lines, axes.
// run_charts.js uses them as globals, because addresses contain digests and modules can't import.

const HIGH = 200;

function colour(name, alpha = 1) {
  const probe = document.createElement("i");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return alpha === 1 ? found : found.replace("rgb(", "rgba(").replace(")", `, ${alpha})`);
}

const fixed = (digits) => (_, value) => (value == null ? "–" : value.toFixed(digits));
const counted = (_, value) => (value == null ? "–" : Math.round(value).toLocaleString("en"));
const fromZero = (_, __, high) => [0, (high || 1) * 1.1];

// 12.4 Mnps, and 12.5 M beside an axis, as pages/formatting.py writes them.
const prefixOf = (value) => [[1e9, "G"], [1e6, "M"], [1e3, "k"]].find(([factor]) => value >= factor) ?? [1, ""];

function nps(_, value) {
  if (value == null) return "–";
  const [factor, prefix] = prefixOf(value);
  return `${(value / factor).toFixed(factor === 1 || value >= 100 * factor ? 0 : 1)} ${prefix}nps`;
}

function shortened(value) {
  const [factor, prefix] = prefixOf(value);
  return `${+(value / factor).toFixed(2)} ${prefix}`.trim();
}

// A line and the two edges of its band, which are the next two series.
function withInterval(u, value, series, at) {
  if (value == null) return "–";
  const [low, high] = [1, 2].map((more) => u.data[series + more][at].toFixed(2));
  return low === high ? value.toFixed(2) : `${value.toFixed(2)} [${low}, ${high}]`;
}

// The legend shows the last point while no cursor is on the chart.
const orLast = (write) => (u, value, series, at) => {
  const shown = at ?? u.data[series].length - 1;
  return write(u, u.data[series][shown], series, shown);
};

const edge = { class: "edge", stroke: "transparent", width: 0, points: { show: false } };

function axis(more = {}) {
  return { stroke: colour("soft"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false }, font: "12px system-ui", size: 44, ...more };
}

function line(label, name, more = {}) {
  return { label, stroke: colour(name), width: 2, points: { show: false }, value: fixed(2), ...more };
}

const widthOf = (figure) => Math.max(240, figure.clientWidth);
const base = (figure) => ({
  width: widthOf(figure),
  height: HIGH,
  cursor: { sync: { key: "run" }, drag: { x: true, y: false } },
  legend: { live: true, markers: { width: 0, fill: (u, number) => u.series[number].stroke(u, number) } },
  scales: { x: { time: false } },
  axes: [axis({ size: 28 }), axis()],
});

function overTime(figure, at) {
  const options = base(figure);
  options.scales = { x: { time: true }, y: { range: fromZero } };
  options.cursor.sync.key = "time";
  const long = at.at(-1) - at[0] > 2 * 86400;
  const form = new Intl.DateTimeFormat("en-GB", long ? { day: "numeric", month: "short" } : { hour: "2-digit", minute: "2-digit" });
  options.axes[0].values = (_, marks) => marks.map((mark) => form.format(mark * 1000));
  options.series = [{ label: "time", value: (_, mark) => (mark == null ? "–" : new Date(mark * 1000).toLocaleString("en-GB", { dateStyle: "short", timeStyle: "short" })) }];
  return options;
}

const WIDEST = 2.5;

// Early estimates vary widely: unless somebody zooms in, only bands up to WIDEST times as wide as the
// last one determine the scale (as in pages/charts.py).
function steady(u) {
  const [from, to] = u.series[0].idxs ?? [0, u.data[0].length - 1];
  const all = from === 0 && to === u.data[0].length - 1;
  const wide = (number) => u.data[3][number] - u.data[2][number];
  const counts = (number) => number >= from && number <= to && (!all || wide(number) <= WIDEST * wide(to));
  const edges = [2, 3].map((series) => u.data[series].filter((_, number) => counts(number)));
  const low = Math.min(0, ...edges[0]), high = Math.max(0, ...edges[1]);
  return [low - 0.05 * (high - low), high + 0.05 * (high - low)];
}

// Interaction with a chart: drag to zoom, also by touch, and reset.

const MOVES = { touchstart: "mousedown", touchmove: "mousemove", touchend: "mouseup" };

// A horizontal touch drags like a mouse; a vertical one scrolls the page (touch-action in run.css).
function followFinger(over) {
  for (const [touch, mouse] of Object.entries(MOVES)) {
    over.addEventListener(touch, (event) => {
      const { clientX, clientY } = event.changedTouches[0];
      over.dispatchEvent(new MouseEvent(mouse, { bubbles: true, clientX, clientY, movementX: 1 }));
    }, { passive: true });
  }
}

function showsAll(chart) {
  const { min, max } = chart.scales.x, across = chart.data[0];
  return min == null || (min <= across[0] && max >= across.at(-1));
}

function keepZoom(chart, data) {
  chart.setData(data, showsAll(chart));
}

// All charts that share this cursor were zoomed together.
function showAll(chart) {
  for (const each of chart.cursor.sync.key ? uPlot.sync(chart.cursor.sync.key).plots : [chart]) each.setData(each.data);
}

// As wide as its box, also after a change of the window or of the elements beside it.
function followWidth(box, chart, height) {
  const fit = () => { if (box.clientWidth && widthOf(box) !== chart.width) chart.setSize({ width: widthOf(box), height }); };
  const seen = new ResizeObserver(() => requestAnimationFrame(fit));
  seen.observe(box);
  chart.hooks.destroy = [() => seen.disconnect()];
}

// A chart that replaces a drawing, described by the text with the id `about`. It manages its box
// itself: live.js does not update it.
function place(box, options, data, about) {
  const all = document.createElement("button");
  all.type = "button";
  all.className = "show-all slim plain";
  all.textContent = "Show all";
  all.hidden = true;
  options.hooks = { setScale: [(chart, key) => { if (key === "x") all.hidden = showsAll(chart); }] };
  box.querySelectorAll("svg, .show-all").forEach((each) => each.remove());
  box.dataset.keep = "";
  const chart = new uPlot(options, data, box);
  all.addEventListener("click", () => showAll(chart));
  box.append(all);
  const canvas = chart.root.querySelector("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-labelledby", about);
  chart.over.title = "Drag to zoom, double click for all";
  followFinger(chart.over);
  followWidth(box, chart, options.height);
  return chart;
}

window.chartParts = { HIGH, axis, base, colour, counted, edge, fixed, fromZero, keepZoom, line, nps, orLast, overTime, place, shortened, steady, withInterval };
