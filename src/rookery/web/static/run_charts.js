// Charts with hover, zoom and a common cursor, in the place of the drawings that the server made.
// Dragging zooms, a double click shows everything again. Fed by /api/v1/runs/{id}/samples and tune.

const live = document.getElementById("live");
const api = `/api/v1/runs/${live.dataset.run}`;
const PAUSE = 15000; // between two fetches, however fast games come in
const HIGH = 200;
const WIDEST = 2.5;
const PATHS = 40; // lines that an eye can still follow
const charts = new Map();
let chosen = "";

function colour(name, alpha = 1) {
  const probe = document.createElement("i");
  probe.style.color = `var(--${name})`;
  live.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return alpha === 1 ? found : found.replace("rgb(", "rgba(").replace(")", `, ${alpha})`);
}

const fixed = (digits) => (_, value) => (value == null ? "–" : value.toFixed(digits));
const counted = (_, value) => (value == null ? "–" : Math.round(value).toLocaleString("en"));

function axis(more = {}) {
  return { stroke: colour("soft"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false }, font: "12px system-ui", size: 44, ...more };
}

function line(label, name, more = {}) {
  return { label, stroke: colour(name), width: 2, points: { show: false }, value: fixed(2), ...more };
}

// Early estimates go anywhere: unless somebody zooms in, bands up to WIDEST times that of the last
// one set the scale (as pages/charts.py does).
function steady(u) {
  const [from, to] = u.series[0].idxs ?? [0, u.data[0].length - 1];
  const all = from === 0 && to === u.data[0].length - 1;
  const wide = (place) => u.data[3][place] - u.data[2][place];
  const counts = (place) => place >= from && place <= to && (!all || wide(place) <= WIDEST * wide(to));
  const edges = [2, 3].map((series) => u.data[series].filter((_, place) => counts(place)));
  const low = Math.min(0, ...edges[0]), high = Math.max(0, ...edges[1]);
  return [low - 0.05 * (high - low), high + 0.05 * (high - low)];
}

const base = (figure) => ({
  width: Math.max(240, figure.clientWidth),
  height: HIGH,
  cursor: { sync: { key: "run" }, drag: { x: true, y: false } },
  legend: { live: true },
  scales: { x: { time: false } },
  axes: [axis({ size: 28 }), axis()],
});

function eloChart(figure, samples) {
  const shown = samples.filter((one) => one.elo);
  const own = live.querySelector("[data-elo]")?.dataset.elo.split(" ").map(Number);
  if (own?.length === 3 && shown.length) shown.at(-1).elo = own;
  const options = base(figure);
  options.scales.y = { range: steady };
  const edge = { stroke: "transparent", width: 0, points: { show: false }, value: fixed(2) };
  options.series = [{ label: "games", value: counted }, line("Elo", "accent"), { label: "low", ...edge }, { label: "high", ...edge }];
  options.bands = [{ series: [3, 2], fill: colour("accent", 0.16) }];
  return [options, [shown.map((one) => one.games), ...[0, 1, 2].map((place) => shown.map((one) => one.elo[place]))]];
}

function llrChart(figure, samples) {
  const [lower, upper] = live.querySelector("[data-bounds]").dataset.bounds.split(" ").map(Number);
  const options = base(figure);
  const bound = (label, name) => line(label, name, { width: 1, dash: [4, 4] });
  options.scales.y = { range: (_, low, high) => [Math.max(lower - 1.5, Math.min(low, lower) - 0.3), Math.min(upper + 1.5, Math.max(high, upper) + 0.3)] };
  options.series = [{ label: "games", value: counted }, line("LLR", "accent"), bound("pass", "up"), bound("fail", "down")];
  return [options, [samples.map((one) => one.games), samples.map((one) => one.llr), samples.map(() => upper), samples.map(() => lower)]];
}

function speedChart(figure, samples) {
  const step = Math.max(1, Math.floor(samples.length / 48));
  const kept = samples.filter((_, place) => place % step === 0);
  const at = kept.map((one) => Date.parse(one.time) / 1000);
  const rates = kept.map((one, place) => place && at[place] > at[place - 1] ? 60 * (one.games - kept[place - 1].games) / (at[place] - at[place - 1]) : null);
  const options = base(figure);
  options.scales = { x: { time: true }, y: { range: (_, __, high) => [0, (high || 1) * 1.1] }, cores: { range: (_, __, high) => [0, (high || 1) * 1.1] } };
  options.cursor.sync.key = "time";
  const long = at.at(-1) - at[0] > 2 * 86400;
  const form = new Intl.DateTimeFormat("en-GB", long ? { day: "numeric", month: "short" } : { hour: "2-digit", minute: "2-digit" });
  options.axes[0].values = (_, marks) => marks.map((mark) => form.format(mark * 1000));
  options.axes.push(axis({ side: 1, scale: "cores", grid: { show: false } }));
  options.series = [{ label: "time", value: (_, mark) => (mark == null ? "–" : new Date(mark * 1000).toLocaleString("en-GB", { dateStyle: "short", timeStyle: "short" })) }, line("games a minute", "accent", { value: fixed(1) }), line("cores", "soft", { scale: "cores", width: 1, dash: [4, 4], value: counted })];
  return [options, [at, rates, kept.map((one) => one.cores)]];
}

function pathChart(figure, tune) {
  const share = (one) => (one.maximum - one.minimum || 1) / 100;
  const moved = (one) => Math.abs(one.now - one.start) / share(one);
  const one = tune.parameters.find((each) => each.name === chosen);
  const some = one ? [one] : [...tune.parameters].sort((a, b) => moved(b) - moved(a)).slice(0, PATHS);
  const options = base(figure);
  const value = (each) => one ? (theta) => theta : (theta) => (theta - each.start) / share(each);
  options.legend.show = some.length <= 12;
  options.cursor.focus = { prox: 16 };
  options.focus = { alpha: 0.25 };
  options.series = [{ label: "iteration", value: counted }, ...some.map((each, place) => line(each.name, "accent", { stroke: some.length > 1 ? `hsl(${(place * 137) % 360} 60% 50%)` : colour("accent"), width: 1.5 }))];
  return [options, [[0, ...tune.iterations, tune.iteration], ...some.map((each) => [each.start, ...each.path, each.now].map(value(each)))]];
}

function draw(name, make, found) {
  const figure = document.getElementById(`chart-${name}`);
  if (!figure || (found.length ?? 2) < 2) return;
  const [options, data] = make(figure, found);
  const before = charts.get(name);
  if (before && before.series.length === options.series.length && before.chosen === chosen) {
    const { min, max } = before.scales.x;
    const all = min === before.data[0][0] && max === before.data[0].at(-1);
    before.setData(data, all);
    return;
  }
  before?.destroy();
  figure.querySelector("svg")?.remove();
  figure.dataset.keep = "";
  const chart = new uPlot(options, data, figure);
  chart.chosen = chosen;
  charts.set(name, chart);
}

function offerParameters(tune) {
  const figure = document.getElementById("chart-paths");
  if (!figure || figure.querySelector("select")) return;
  const select = document.createElement("select");
  select.setAttribute("aria-label", "Parameter");
  select.append(new Option("all, in % of their range", ""), ...tune.parameters.map((each) => new Option(each.name, each.name)));
  select.addEventListener("change", () => { chosen = select.value; draw("paths", pathChart, tune); });
  figure.querySelector("figcaption").append(select);
}

async function refresh() {
  const [samples, tune] = await Promise.all(["samples", "tune"].map((name) => name === "tune" && !document.getElementById("chart-paths") ? null : fetch(`${api}/${name}`).then((answer) => answer.ok ? answer.json() : null)));
  if (samples?.samples.length > 1) for (const [name, make] of [["elo", eloChart], ["llr", llrChart], ["speed", speedChart]]) draw(name, make, samples.samples);
  if (tune) { draw("paths", pathChart, tune); offerParameters(tune); }
}

let timer = 0;
const later = () => { timer ||= setTimeout(() => { timer = 0; if (!document.hidden) refresh(); }, PAUSE); };
refresh();
new MutationObserver(later).observe(document.getElementById("games"), { childList: true, characterData: true, subtree: true });
addEventListener("resize", () => charts.forEach((chart) => chart.setSize({ width: chart.root.parentElement.clientWidth, height: HIGH })));
document.addEventListener("themechange", () => { charts.forEach((chart) => chart.destroy()); charts.clear(); refresh(); });
