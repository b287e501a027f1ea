// The study's views: findings, tables, figures, claims, comparisons. What the first view does not show is in data files.

const S = { cells: [], claims: [], ...unpacked(JSON.parse(document.getElementById("data").textContent)) };
// What other scripts add: views by the first name of their address, and parts of the views here.
const additions = {};
const VARIANTS = { algo_impl: "ALGO+IMPL", algo: "ALGO", impl: "IMPL", control: "Control" };
const variantName = (name) => (Object.hasOwn(VARIANTS, name) ? VARIANTS[name] : name);
const cellKey = (cell) => cell.join("/");
const cells = new Map(S.cells.map((entry) => [cellKey(entry.cell), entry]));
const cellName = ([model, dataset, hardware, variant]) => `${model} on ${dataset}, ${hardware}, ${variantName(variant)}`;
const cellAddress = (cell) => address(`cell/${cellKey(cell)}`);
const runAddress = (cell, seed) => address(`run/${cellKey(cell)}/${seed}`);
const measure = (name) => {
  const [label, unit, scale, digits] = S.measures[name];
  return { key: name, label, unit, scale, digits, kind: "number" };
};

// Data files: each calls `part` once, with its name and its data as JSON in strings.

const arrivals = new Map(Object.entries(S.parts || {}).map(([name, block]) => [name, { promise: Promise.resolve(block) }]));
function part(name, text) {
  arrivals.get(JSON.parse(name))?.resolve(unpacked(JSON.parse(text)));
}
function asked(name) {
  if (!arrivals.has(name)) {
    const arrival = {};
    arrival.promise = new Promise((resolve, reject) => Object.assign(arrival, { resolve, reject }));
    arrivals.set(name, arrival);
    const file = `page/${name.split("/").map(encodeURIComponent).join("/")}.js`;
    const failed = () => arrival.reject(new Error(`${file} cannot be read: it lies beside this page`));
    document.head.append(el("script", { src: file, onerror: failed }));
  }
  return arrivals.get(name).promise;
}
// Placeholder that fills itself when its data has come.
function later(name, draw) {
  const place = el("div", { class: "later", "aria-busy": "true" }, el("p", { class: "soft" }, "Loading …"));
  const fill = (nodes) => {
    place.replaceChildren(...[nodes].flat(9).filter(Boolean));
    place.removeAttribute("aria-busy");
  };
  asked(name)
    .then((data) => fill(draw(data)))
    .catch((error) => {
      fill(el("p", { class: "bad" }, error.message));
      throw error;
    });
  return place;
}

// The first view

function findingsView(state, change) {
  return [
    heading(["Study ", shown(S.study)]),
    el(
      "section",
      { class: "card", "aria-label": "Findings" },
      el("h2", null, "How much is noise?"),
      el("ul", { class: "said" }, S.findings.map(({ says, cell }) => el("li", null, shown(says), " ", el("a", { href: cellAddress(cell) }, "These runs", el("span", { class: "hidden" }, ` of ${cellName(cell)}`))))),
      el("p", { class: "soft" }, "Intervals are 95 % over runs."),
      el("dl", { class: "facts" }, S.facts.map(([label, text]) => pair(label, line(text))), additions.facts?.()),
      S.claims.length > 0 && el("p", null, "Claims of papers, judged on this study: ", S.claims.map(tally), " ", el("a", { href: "#claims" }, "All claims")),
    ),
    additions.verdict?.(),
    card("Cells", cellTable(state, change)),
    card("Figures", figureList(S.figures.filter(({ picture }) => picture))),
    card("Tables", tableList(el("li", null, el("a", { href: "#tables" }, "All tables, and the metric files")))),
  ];
}

const line = (text) => el("p", null, shown(text));

function tally({ paper, claims }, place) {
  const counts = new Map();
  for (const { verdict } of claims) if (verdict !== "cannot fail") counts.set(verdict, (counts.get(verdict) || 0) + 1);
  const said = [...counts].map(([verdict, number]) => `${number} ${verdict}`).join(", ");
  return `${place ? "; " : ""}${paper}: ${said || "none judged"}`;
}

const KEYS = [["model", "Model"], ["dataset", "Data set"], ["hardware", "Tooling"], ["variant", "Variant"]];
function cellTable(state, change) {
  const present = Object.keys(S.measures).filter((name) => S.cells.some(({ values }) => name in values));
  const table = {
    title: `Cells of study ${S.study}`,
    columns: [
      ...KEYS.map(([key, label]) => ({ key, label, kind: "name" })),
      ...present.map((name) => ({ ...measure(name), hidden: !S.usual.includes(name) })),
      { key: "control", label: "Control", kind: "name" },
    ],
    rows: S.cells.map(({ cell, values, equal }) => [
      ...cell.slice(0, 3),
      variantName(cell[3]),
      ...present.map((name) => values[name] || null),
      equal === null ? "" : equal ? "bit-equal" : "differs",
    ]),
    notes: [
      "Small: 95 % interval over runs, and the number of runs; “n = 4 of 5” means that one is missing. A plain 0 is exact.",
      S.emulated.length ? `Implementation noise is emulated on ${S.emulated.join(", ")}.` : "",
    ].filter(Boolean),
  };
  const variants = new Map(S.cells.map(({ cell }) => [variantName(cell[3]), cell[3]]));
  const leads = (row) => cellAddress([...row.slice(0, 3), variants.get(row[3])]);
  return tableView(table, state, change, leads);
}

// Tables

const tableAddress = (name) => address(`table/${name}`);
const tableList = (...more) =>
  el(
    "ul",
    { class: "plain rows" },
    S.figures.filter(({ picture }) => !picture).map(({ name, caption }) => el("li", null, el("a", { href: tableAddress(name) }, name), el("span", { class: "soft" }, firstSentence(caption)))),
    more,
  );
const firstSentence = (text) => text.split(/(?<=[^.]{3}[.?])\s/)[0];

function tablesView() {
  return [
    heading("Tables"),
    card("Rendered", tableList()),
    card(
      "Metric files",
      el("p", { class: "soft" }, "What every figure and table is drawn from. The cells' own measures are in the first table and on each cell's view."),
      later("tables", (all) =>
        el("ul", { class: "plain rows" }, Object.entries(all).filter(([name]) => name.startsWith("metrics-")).map(([name, { title, rows }]) => el("li", null, el("a", { href: tableAddress(name) }, title), sideNote(countOf(rows.length, ["row", "rows"]))))),
      ),
    ),
  ];
}

// The cell of a row: the one whose names are among the row's names, if there is only one. A column may name a variant.
function cellOfRow(row, column) {
  const words = new Set(row.filter((text) => typeof text === "string").flatMap((text) => [text.replace("†", ""), ...text.replace("†", "").split(" / ")]));
  const matching = S.cells.filter(
    ({ cell: [model, dataset, hardware, variant] }) =>
      words.has(model) && words.has(dataset) && words.has(hardware) && (column.label === variantName(variant) || words.has(variant) || words.has(variantName(variant))),
  );
  return matching.length === 1 ? matching[0] : null;
}

// Table 2 as it is printed has n alone; the intervals of mean and SD are those of the cell.
function withIntervals(table) {
  const detailed = (row, entry, column) => {
    const measured = isNested(entry) && cellOfRow(row, column);
    if (!measured) return entry;
    const interval = (name, label) => {
      const [, low, high] = measured.values[name];
      return low === null ? [] : [`${label} ${decimal(low, 100, 2)} to ${decimal(high, 100, 2)}`];
    };
    return { text: entry.text, detail: [...interval("accuracy_mean", "mean"), ...interval("accuracy_sd", "SD"), entry.detail].join(" · ") };
  };
  return { ...table, rows: table.rows.map((row) => row.map((entry, place) => detailed(row, entry, table.columns[place]))) };
}

function tableFileView(name, state, change) {
  const figure = S.figures.find((drawn) => drawn.name === name);
  return [
    heading(figure ? name : ["Metric file ", name.replace("metrics-", "")]),
    figure && el("p", null, shown(figure.caption)),
    figure && downloads(figure),
    later("tables", (all) => {
      if (!Object.hasOwn(all, name)) return el("p", null, "No table of this name.");
      const table = name.startsWith("table2") ? withIntervals(all[name]) : all[name];
      const leads = (row, column) => {
        const entry = isNumeric(column) && cellOfRow(row, column);
        return entry ? cellAddress(entry.cell) : null;
      };
      return card(shown(table.title), tableView(table, state, change, leads));
    }),
  ];
}

// Figures

function downloads({ name, files, data, notebook }) {
  const to = (file, text) => el("a", { href: file.split("/").map(encodeURIComponent).join("/") }, text);
  const item = (label, ...links) => el("span", null, `${label}: `, links.map((each, place) => [place ? ", " : "", each]));
  return el(
    "p",
    { class: "downloads" },
    item("Download", ...Object.entries(files).map(([suffix, file]) => to(file, suffix.toUpperCase()))),
    item("Data", ...data.map((file) => to(file, file.slice(file.indexOf("/") + 1)))),
    to(notebook, "Notebook"),
    additions.ofFile?.(Object.values(files)[0]),
    el("a", { href: address(`${files.svg ? "figure" : "table"}/${name}`) }, "Link"),
  );
}
const figureList = (figures) => figures.map((figure) => figureView(figure, "h3"));
function figureView(figure, title) {
  const text = figure.caption;
  return el(
    "figure",
    { class: "shown", id: `figure-${figure.name}` },
    title && el(title, null, figure.name),
    el("img", { src: figure.files.svg.split("/").map(encodeURIComponent).join("/"), alt: `Figure ${figure.name}: ${firstSentence(text)}`, loading: "lazy" }),
    el("figcaption", null, shown(text), downloads(figure)),
  );
}
const figuresView = () => [heading("Figures"), figureList(S.figures.filter(({ picture }) => picture))];
function oneFigure(name) {
  const figure = S.figures.find((drawn) => drawn.name === name);
  if (!figure) return [heading("No figure of this name")];
  return [heading(name), figureView(figure, null)];
}

// Claims

function claimsView() {
  return [
    heading("Claims"),
    S.claims.length === 0 && el("p", null, "No verdicts yet."),
    S.claims.map((claimed) => card([shown(claimed.paper), " ", el("span", { class: "soft" }, tally(claimed, 0).slice(claimed.paper.length + 2))], claimed.claims.map(({ says, verdict, here, published }) => el("div", { class: "claim" }, el("p", null, el("strong", null, `${says}.`), " ", el("span", { class: `mark ${verdict === "supported" ? "good" : verdict === "refuted" ? "bad" : ""}` }, verdict)), el("p", null, shown(here)), published && el("p", { class: "soft" }, "Published: ", shown(published)))))),
  ];
}

// Comparisons

function compareView(state) {
  const options = (chosen) => [el("option", { value: "" }, "choose a cell"), [...cells.values()].map(({ cell }) => el("option", { value: cellKey(cell), selected: cellKey(cell) === chosen }, cellName(cell)))];
  const go = (key) => (event) => {
    state.set(key, event.target.value);
    location.hash = `compare?${queryText(state)}`;
  };
  const [a, b] = [state.get("a"), state.get("b")];
  return [
    heading("Is B better than A?"),
    later("compared", (all) => el("p", { class: "soft" }, `Choose two cells. The verdict is that of toolnoise compare, computed beforehand for ${countOf(all.length, ["pair", "pairs"])}: those that differ in the variant, the model or the tooling alone.`)),
    el("div", { class: "tools" }, el("label", { for: "arm-a" }, "A"), el("select", { id: "arm-a", onchange: go("a") }, options(a)), el("label", { for: "arm-b" }, "B"), el("select", { id: "arm-b", onchange: go("b") }, options(b))),
    a && b && later("compared", (all) => verdictOn(a, b, all)),
  ];
}

function verdictOn(a, b, all) {
  const verdict = all.find((pair) => cellKey(pair.a) === a && cellKey(pair.b) === b);
  if (verdict) return textOf(verdict);
  const turned = all.find((pair) => cellKey(pair.a) === b && cellKey(pair.b) === a);
  if (turned) return [el("p", null, "Computed the other way round: here A is ", cellName(turned.a), "."), textOf(turned)];
  const dump = (key) => `results/${S.study}/predictions/${key}.npy`;
  return el("div", null, el("p", null, a === b ? "Choose two different cells." : "This pair was not computed beforehand. The command is:"), a !== b && el("pre", { tabindex: "0" }, `toolnoise compare ${dump(a)} ${dump(b)}`));
}

function textOf({ a, b, text }) {
  // The numbers as a table stand between the first blank line and the next one.
  const blocks = text.split("\n\n");
  const sentences = blocks[blocks.length - 1].split("\n");
  return el(
    "section",
    { class: "card verdictOn" },
    el("p", null, el("strong", null, "A: "), el("a", { href: cellAddress(a) }, cellName(a))),
    el("p", null, el("strong", null, "B: "), el("a", { href: cellAddress(b) }, cellName(b))),
    el("div", { class: "verdict" }, sentences.map((line) => el("p", null, shown(line)))),
    el("pre", { tabindex: "0", "aria-label": "The numbers of the comparison" }, blocks.slice(0, -1).join("\n\n")),
  );
}
