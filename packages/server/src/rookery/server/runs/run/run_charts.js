// Charts with hover, zoom and a common cursor, which replace the drawings made by the server.
// Their data comes from /api/v1/runs/{id}/samples and tune, and from data attributes.

const { axis, base, colour, counted, edge, fixed, fromZero, keepZoom, line, nps, orLast, overTime, place, shortened, steady, withInterval } = window.chartParts;
const live = document.getElementById("live");
const api = `/api/v1/runs/${live.dataset.run}`;
const PAUSE = 15000; // the least time between two fetches
const PATHS = 40; // the most lines that can be told apart
const charts = new Map();
let chosen = "";

function eloChart(figure, samples) {
  const shown = samples.filter((one) => one.elo);
  const options = base(figure);
  options.scales.y = { range: steady };
  options.series = [{ label: "games", value: counted }, line("Elo", "accent", { value: withInterval }), { ...edge }, { ...edge }];
  options.bands = [{ series: [3, 2], fill: colour("accent", 0.16) }];
  return [options, [shown.map((one) => one.games), ...[0, 1, 2].map((part) => shown.map((one) => one.elo[part]))]];
}

function llrChart(figure, samples) {
  const [lower, upper] = live.querySelector("[data-bounds]").dataset.bounds.split(" ").map(Number);
  const options = base(figure);
  const bound = (label, name) => line(label, name, { width: 1, dash: [4, 4] });
  options.scales.y = { range: (_, low, high) => [Math.max(lower - 1.5, Math.min(low, lower) - 0.3), Math.min(upper + 1.5, Math.max(high, upper) + 0.3)] };
  options.series = [{ label: "games", value: counted }, line("LLR", "accent"), bound("pass", "up"), bound("fail", "down")];
  return [options, [samples.map((one) => one.games), samples.map((one) => one.llr), samples.map(() => upper), samples.map(() => lower)]];
}

// Lines over time come with the live part, as the server draws them: times, values, cores.
const across = (points) => [0, 1, 2].map((part) => points.map((one) => one[part]));

function paceChart(figure, points) {
  const [at, rates, cores] = across(points);
  const options = overTime(figure, at);
  options.scales.cores = { range: fromZero };
  options.axes.push(axis({ side: 1, scale: "cores", grid: { show: false } }));
  options.series.push(line("games a minute", "accent", { value: fixed(1) }), line("cores", "soft", { scale: "cores", width: 1, dash: [4, 4], value: counted }));
  return [options, [at, rates, cores]];
}

function speedChart(figure, points) {
  const [at, speeds] = across(points);
  const options = overTime(figure, at);
  options.axes[1].values = (_, marks) => marks.map(shortened);
  options.series.push(line("speed", "accent", { value: nps }));
  return [options, [at, speeds]];
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
  const stroke = (number) => some.length > 1 ? `hsl(${(number * 137) % 360} 60% 50%)` : colour("accent");
  const paths = some.map((each, number) => line(each.name, "accent", { stroke: stroke(number), width: 1.5 }));
  options.series = [{ label: "iteration", value: counted }, ...paths];
  return [options, [[0, ...tune.iterations, tune.iteration], ...some.map((each) => [each.start, ...each.path, each.now].map(value(each)))]];
}

function draw(name, make, found) {
  const box = document.querySelector(`#chart-${name} .drawing`);
  if (!box || (found.length ?? 2) < 2) return;
  const [options, data] = make(box, found);
  const before = charts.get(name);
  if (before && before.series.length === options.series.length && before.chosen === chosen) {
    keepZoom(before, data);
    return;
  }
  before?.destroy();
  options.series = options.series.map((series) => ({ ...series, value: orLast(series.value ?? fixed(2)) }));
  const chart = place(box, options, data, `about-${name}`);
  chart.chosen = chosen;
  charts.set(name, chart);
}

function offerParameters(tune) {
  const box = document.querySelector("#chart-paths .drawing");
  if (!box || box.querySelector("select")) return;
  const select = document.createElement("select");
  select.setAttribute("aria-label", "Parameter");
  select.append(new Option("all, in % of their range", ""), ...tune.parameters.map((each) => new Option(each.name, each.name)));
  select.addEventListener("change", () => { chosen = select.value; draw("paths", pathChart, tune); });
  box.prepend(select);
}

async function fetchPart(name) {
  const answer = await fetch(`${api}/${name}`);
  return answer.ok ? answer.json() : null;
}

// Points are stored now and then, and a purge removes games: add a point for the present.
function addPresent(samples) {
  const { games, llr, elo } = live.querySelector("[data-games]")?.dataset ?? {};
  const last = samples.at(-1), played = Number(games);
  if (!last || !played || played === last.games) return samples;
  const own = elo ? { elo: elo.split(" ").map(Number) } : {};
  const before = samples.filter((one) => one.games < played);
  return [...before, { ...last, games: played, llr: Number(llr), ...own }];
}

function drawOverTime() {
  for (const [name, make] of [["pace", paceChart], ["speed", speedChart]]) {
    const points = document.getElementById(`chart-${name}`)?.dataset.points;
    if (points) draw(name, make, JSON.parse(points));
  }
}

async function refresh() {
  drawOverTime();
  const wanted = document.getElementById("chart-paths") ? ["samples", "tune"] : ["samples"];
  const [course, tune] = await Promise.all(wanted.map(fetchPart));
  if (course?.samples.length > 1) {
    const samples = addPresent(course.samples);
    draw("elo", eloChart, samples);
    draw("llr", llrChart, samples);
  }
  if (tune) {
    draw("paths", pathChart, tune);
    offerParameters(tune);
  }
}

let timer = 0;

function later() {
  timer ||= setTimeout(() => {
    timer = 0;
    if (!document.hidden) refresh();
  }, PAUSE);
}

refresh();
new MutationObserver(later).observe(document.getElementById("games"), { childList: true, characterData: true, subtree: true });
new MutationObserver(drawOverTime).observe(live, { attributeFilter: ["data-points"], subtree: true });
document.addEventListener("themechange", () => {
  charts.forEach((chart) => chart.destroy());
  charts.clear();
  refresh();
});
