// Charts as plain SVG: dots on a line for the runs of a cell, lines over epochs for their histories. Dots and lines are
// all that a page needs, so there is no library: its code would be many times this, and would have to be trusted.

const WIDTH = 560;

// Round numbers that cover a range, at most about `wanted` of them.
function ticks(low, high, wanted) {
  if (!(high > low)) return [low];
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const marks = [];
  for (let number = Math.ceil(low / step); number * step <= high + step * 1e-9; number++) marks.push(number * step);
  return marks;
}

// The same on a logarithmic axis, whose ends are powers of ten.
function logTicks(low, high) {
  const marks = [];
  for (let power = Math.floor(low); power <= high; power++)
    for (const each of high - low > 2 ? [1] : [1, 2, 5]) {
      const at = Math.log10(each) + power;
      if (at >= low && at <= high) marks.push(Number(`${each}e${power}`));
    }
  return marks;
}

const short = (number) => {
  if (number === 0) return "0";
  const size = Math.abs(number);
  if (size < 0.001 || size >= 100000) return number.toExponential(0).replace("e+", "e").replace("e0", "");
  return String(Number(number.toPrecision(4)));
};
const spread = (numbers) => {
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const room = (high - low) * 0.06 || Math.abs(high) * 0.02 || 1;
  return [low - room, high + room];
};
const svgText = (x, y, text, attributes) => svgEl("text", { x, y, ...attributes }, text);
// A bar that the pointer and the focus find.
const speaking = (text) => ({ tabindex: 0, role: "img", "aria-label": text, "data-told": text });

// One dot per run on a line, each a link; a band for the interval of the mean and a tick for the mean itself.
function dots({ label, unit, runs, mean }) {
  const [left, right, height, line] = [26, WIDTH - 26, 86, 34];
  const known = runs.filter(({ value }) => value !== null);
  const [low, high] = spread([...known.map(({ value }) => value), ...(mean || []).filter((value) => value !== null)]);
  const x = (value) => left + ((value - low) / (high - low)) * (right - left);
  const svg = svgEl("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "chart", role: "group", "aria-label": label });
  for (const tick of ticks(low, high, 6))
    svg.append(
      svgEl("line", { x1: x(tick), x2: x(tick), y1: 14, y2: 56, class: "grid" }),
      svgText(x(tick), 72, short(tick), { class: "tick", "text-anchor": "middle" }),
    );
  if (mean && mean[1] !== null && mean[2] > mean[1])
    svg.append(
      svgEl("rect", {
        ...{ x: x(mean[1]), width: x(mean[2]) - x(mean[1]), y: line - 13, height: 26, class: "band" },
        ...speaking(`mean ${short(mean[0])}, 95 % interval ${short(mean[1])} to ${short(mean[2])}${unit ? ` ${unit}` : ""}`),
      }),
    );
  if (mean && mean[0] !== null)
    svg.append(svgEl("line", { x1: x(mean[0]), x2: x(mean[0]), y1: line - 16, y2: line + 16, class: "mean" }));
  // Dots of equal runs would hide each other: those of one place are stacked.
  const placed = new Map();
  for (const run of known) {
    const place = Math.round(x(run.value) / 4);
    const stacked = placed.get(place) || 0;
    placed.set(place, stacked + 1);
    const offset = (stacked % 2 ? -1 : 1) * Math.ceil(stacked / 2) * 7;
    const text = `run ${run.seed}: ${run.shown}`;
    const dot = svgEl("circle", { cx: x(run.value), cy: line + Math.max(-18, Math.min(18, offset)), r: 5, class: "dot" });
    svg.append(svgEl("a", { href: run.href, "aria-label": text, "data-told": text }, dot));
  }
  return el("figure", { class: "plot" }, el("figcaption", null, label, unit ? el("span", { class: "soft" }, ` ${unit}`) : ""), svg);
}

// The first figure: a row for each source, a link to its runs, with the mean and its interval, and faint dots for the other
// tasks. Of an interval that goes far beyond all means, an arrow says that it goes on.
function hero({ measure: name, where, rows }) {
  const isChurn = name === "churn";
  const others = ([, , , variant], own) => (isChurn ? S.cells.filter(({ cell, values }) => cell[3] === variant && values.churn?.[0] > 0 && cellKey(cell) !== own) : []);
  const means = rows.flatMap(({ cell, value }) => [value[0], ...others(cell).map(({ values }) => 100 * values.churn[0])]);
  const most = Math.min(Math.max(...rows.flatMap(({ value }) => value), ...means), 2 * Math.max(...means)) || 1;
  const x = (value) => `${(2 + 95 * Math.min(value / most, 1)).toFixed(2)}%`;
  const marks = ticks(0, most, 4);
  const grid = () => marks.map((tick) => svgEl("line", { x1: x(tick), x2: x(tick), y1: 0, y2: "100%", class: "grid" }));
  const strip = ({ cell, value: [mean, low, high] }) =>
    svgEl("svg", { class: "chart strip", "aria-hidden": "true" }, grid(), others(cell, cellKey(cell)).map((other) => svgEl("circle", { cx: x(100 * other.values.churn[0]), cy: "50%", r: 3.5, class: "other", "data-told": `${cellName(other.cell)}: ${decimal(other.values.churn[0], 100, 2)} %` })), mean !== null && [low !== null && svgEl("line", { x1: x(low), x2: x(high), y1: "50%", y2: "50%", class: "interval" }), high > most && svgText("99.5%", "50%", "▸", { class: "tick", "text-anchor": "end", "dominant-baseline": "central" }), svgEl("circle", { cx: x(mean), cy: "50%", r: 6.5, class: "dot" })]);
  const amount = (source) => source.says.split(/: | \(|\)$/).filter(Boolean);
  const row = (source) => el("a", { href: cellAddress(source.cell), class: "source", "data-told": [`${source.says}, ${source.runs}`, source.over].filter(Boolean).join("; ") }, el("span", null, shown(source.called), source.where && el("small", null, shown(source.where))), strip(source), el("span", { class: "amount" }, amount(source)[0], el("small", null, [...amount(source).slice(1), source.runs].join(" · "))));
  return el(
    "figure",
    { class: "hero card" },
    el("h2", null, isChurn ? "Churn by what varies, in % of test answers: " : `${visible(name.replaceAll("_", " "))} by what varies: `, shown(where)),
    rows.map(row),
    el("div", { class: "source axis", "aria-hidden": "true" }, el("span"), svgEl("svg", { class: "chart strip" }, marks.map((tick) => svgText(x(tick), "60%", short(tick), { class: "tick", "text-anchor": "middle" }))), el("span")),
    el("figcaption", { class: "soft" }, isChurn && "Churn: the share of test answers that differ between two runs, mean over pairs. ", "Line: 95 % interval. ", isChurn && "Small dots: other tasks. ", el("b", null, "ALGO"), ": what the algorithm draws at random (initial weights, order of the data, augmentation, dropout). ", el("b", null, "IMPL"), ": how the tooling computes, such as the order of its sums."),
  );
}

// One line per run over epochs, and its values where the pointer is. Runs in `lit` stand out, with a name at the end: of two
// of them, A and B. The others are grey. A line may have epochs of its own.
function curves({ label, epochs, lines, lit, logarithmic }) {
  const [left, right, top, bottom, height] = [56, WIDTH - (lit.length ? 76 : 20), 10, 176, 206];
  const canBeDrawn = (value) => value !== null && (!logarithmic || value > 0);
  const values = lines.flatMap(({ values }) => values.filter(canBeDrawn));
  const title = `${label} by epoch, ${countOf(lines.length, ["run", "runs"])}`;
  // The arrow keys are the chart's own, as in an application.
  const about = values.length
    ? { role: "application", tabindex: 0, "aria-label": `${title}; arrow keys tell the values` }
    : { role: "img", "aria-label": `${title}: no finite value` };
  const svg = svgEl("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "chart", ...about });
  if (values.length) {
    const scaled = logarithmic ? Math.log10 : (value) => value;
    const [low, high] = spread(values.map(scaled));
    const last = Math.max(...[{ epochs }, ...lines].map((line) => line.epochs?.at(-1) ?? 0));
    const named = new Map();
    const x = (epoch) => left + (last > 1 ? (epoch - 1) / (last - 1) : 0.5) * (right - left);
    const y = (value) => bottom - ((scaled(value) - low) / (high - low)) * (bottom - top);
    const marks = logarithmic ? logTicks(low, high) : ticks(low, high, 5);
    for (const tick of marks)
      svg.append(
        svgEl("line", { x1: left, x2: right, y1: y(tick), y2: y(tick), class: "grid" }),
        svgText(left - 6, y(tick) + 4, short(tick), { class: "tick", "text-anchor": "end" }),
      );
    for (const tick of ticks(1, last, 7).filter((tick) => Number.isInteger(tick) && tick >= 1))
      svg.append(svgText(x(tick), bottom + 18, String(tick), { class: "tick", "text-anchor": "middle" }));
    const order = [...lines].sort((a, b) => lit.indexOf(a.seed) - lit.indexOf(b.seed));
    const drawn = order.map(({ seed, name, values, epochs: at = epochs }) => {
      const look = lit.includes(seed) ? `curve lit${lit.indexOf(seed)}` : "curve";
      const known = values.flatMap((value, place) => (canBeDrawn(value) ? [place] : []));
      const lost = values[values.length - 1] === null ? "; not finite later" : "";
      const points = known.map((place) => ({
        x: x(at[place]).toFixed(1),
        y: y(values[place]).toFixed(1),
        text: `${name}, epoch ${at[place]}: ${short(values[place])}${place === known[known.length - 1] ? lost : ""}`,
      }));
      if (points.length === 1) svg.append(svgEl("circle", { cx: points[0].x, cy: points[0].y, r: 3, class: look }));
      else if (points.length) svg.append(svgEl("polyline", { points: points.map(({ x, y }) => `${x},${y}`).join(" "), class: look }));
      const end = points[points.length - 1];
      if (end && lit.includes(seed) && !named.has(seed)) {
        // Beside a name that is there already, a name moves away from it.
        const near = [...named.values()].find((other) => Math.abs(other - end.y) < 16);
        named.set(seed, near === undefined ? Number(end.y) : near + (end.y < near && near > top + 16 ? -16 : 16));
        svg.append(svgText(Number(end.x) + 5, named.get(seed) + 4, lit.length > 1 ? "AB"[lit.indexOf(seed)] : name, { class: `tick end${lit.indexOf(seed)}` }));
      }
      return points;
    });
    // Those in colour, which are drawn last, are told first.
    pointed(svg, drawn.reverse().filter((points) => points.length));
  }
  return el("figure", { class: "plot" }, el("figcaption", null, label), svg);
}
