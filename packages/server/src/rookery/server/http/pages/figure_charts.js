// Figures with hover and zoom, which replace the drawings made by the server. Their points are in the
// figure's data attribute (pages/figures.py).

const { HIGH, base, colour, counted, edge, line, place, withInterval } = window.chartParts;
const TONES = ["accent", "up", "warn", "down"];
const toneOf = (curve, number) => TONES[(curve.tone ?? number) % TONES.length];
const charts = [];

const gapless = { ...edge, spanGaps: true };

// For each curve its line and the two edges of its band.
function seriesOf(curve, number) {
  const tone = toneOf(curve, number);
  const dots = { paths: () => null, points: { show: true, size: 8, fill: colour(tone) } };
  const shape = curve.scattered ? dots : { spanGaps: true, dash: curve.dashed ? [6, 4] : [] };
  return [line(curve.name, tone, { ...shape, value: withInterval }), { ...gapless }, { ...gapless }];
}

// Error bars of single points.
function drawErrors(curves) {
  return (chart) => curves.forEach((curve, number) => {
    if (!curve.scattered) return;
    chart.ctx.strokeStyle = colour(toneOf(curve, number));
    chart.ctx.lineWidth = devicePixelRatio;
    curve.x.forEach((x, at) => {
      const across = chart.valToPos(x, "x", true);
      chart.ctx.beginPath();
      chart.ctx.moveTo(across, chart.valToPos(curve.low[at], "y", true));
      chart.ctx.lineTo(across, chart.valToPos(curve.high[at], "y", true));
      chart.ctx.stroke();
    });
  });
}

function draw(figure) {
  const box = figure.querySelector(".drawing");
  const { curves, marks } = JSON.parse(figure.dataset.figure);
  const options = base(box);
  options.height = HIGH + 60;
  options.cursor.sync.key = "";
  options.series = [{ label: figure.dataset.unit, value: counted }, ...curves.flatMap(seriesOf)];
  options.bands = curves.flatMap((curve, number) => {
    const fill = colour(toneOf(curve, number), 0.16);
    return curve.scattered ? [] : [{ series: [3 * number + 3, 3 * number + 2], fill }];
  });
  options.plugins = [{ hooks: { draw: drawErrors(curves) } }];
  if (marks.length) {
    options.axes[0].splits = () => marks.map(([at]) => at);
    options.axes[0].values = () => marks.map(([, text]) => text);
  }
  const data = uPlot.join(curves.map((curve) => [curve.x, curve.y, curve.low, curve.high]));
  charts.push(place(box, options, data, figure.querySelector("figcaption").id));
}

function drawAll() {
  charts.splice(0).forEach((chart) => chart.destroy());
  document.querySelectorAll(".figure[data-figure]").forEach(draw);
}

drawAll();
document.addEventListener("themechange", drawAll);
