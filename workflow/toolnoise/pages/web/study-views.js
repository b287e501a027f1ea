// The study's views: findings, figures, tables, cells. What the first view does not show is in data files.

const S = { cells: [], claims: [], figures: [], synthetic: [], ...unpacked(JSON.parse(document.getElementById("data").textContent)) };
// What other scripts add: views, by the first name of their address, and facts of the first view.
const [viewsOfStudy, factsOfStudy] = [{}, []];
const VARIANTS = { algo_impl: "ALGO+IMPL", algo: "ALGO", impl: "IMPL", control: "Control" };
const variantName = (name) => (Object.hasOwn(VARIANTS, name) ? VARIANTS[name] : name);
const cellKey = (cell) => cell.join("/");
const cells = new Map(S.cells.map((entry) => [cellKey(entry.cell), entry]));
// Nobody must take drawn pictures for photographs.
const datasetName = (name) => (S.synthetic.includes(name) ? `synthetic ${name}` : name);
const cellName = ([model, dataset, hardware, variant]) => `${model} on ${datasetName(dataset)}, ${hardware}, ${variantName(variant)}`;
const cellAddress = (cell) => address(`cell/${cellKey(cell)}`);
const runAddress = (cell, seed) => address(`run/${cellKey(cell)}/${seed}`);
const measure = (name) => {
  const [label, unit, scale, digits] = S.measures[name];
  return { key: name, label, unit, scale, digits, kind: "number" };
};

// Data files: each calls `part` once, with its name and its data as JSON in strings.

const arrivals = new Map();
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

function findingsView() {
  const next = [
    ["#cells", "See the runs and the data behind each number"],
    ["#claims", "Read which claims of papers hold here"],
  ];
  const said = (text) => text.split(/(?<=^What was trained:|^What changed:|^How sure:)/);
  return [
    heading("Trained again, how many answers does a network change, and why?"),
    el(
      "div",
      { class: "first" },
      el("section", { "aria-label": "Findings" }, S.sentences.map(said).map(([label, ...text]) => el("p", { class: "lead" }, text.length ? el("b", null, label) : shown(label), text.map(shown)))),
      S.hero.rows.length > 0 && hero(S.hero),
      el("section", { "aria-label": "Next" }, S.hero.rows.length > 0 && flipsOf(S.hero.rows[0].cell), el("h2", null, "What to do next"), el("ul", { class: "next" }, next.map(([href, text]) => el("li", null, el("a", { href }, text))))),
    ),
    card("What ran", el("dl", { class: "facts" }, S.facts.map(([label, text]) => pair(label, line(text))), factsOfStudy.map((fact) => fact()), pair("Provenance", el("code", null, `toolnoise audit results/${S.study}`), " verifies every file"))),
  ];
}

// Two of the examples that differ between the two runs of a cell that differ most, if there is something to see.
const flipsOf = (cell) =>
  later(`cells/${cellKey(cell)}`, (part) => {
    const seen = part.examples.filter(([, , number]) => part.pictures[number] || part.texts[number]);
    const churn = ([place]) => part.partings[place].churn;
    const [most] = [...seen].sort((a, b) => churn(b) - churn(a));
    if (!most) return null;
    const of = seen.filter(([place]) => place === most[0]);
    const other = of.find((example) => example[3] !== most[3]) || of[1];
    const { seeds, flips } = part.partings[most[0]];
    const all = Object.values(flips).reduce((sum, number) => sum + number, 0);
    return [
      el("h2", null, `${other ? `Two ${part.unit}s` : `A ${part.unit}`} that runs ${seeds.join(" and ")} answer differently`),
      el("div", { class: "examples" }, [most, other].filter(Boolean).map((example) => exampleOf(example, part, seeds.map((seed) => `Run ${seed}`)))),
      el("p", null, el("a", { href: besideAddress(cell, seeds[0], cell, seeds[1]) }, `Compare these runs: ${countOf(all, ["answer differs", "answers differ"])}, ${decimal(churn(most), 100, 2)} %`), ", the most of all pairs compared here"),
    ];
  });

const line = (text) => el("p", null, shown(text));

const namesOf = ([model, dataset, hardware, variant]) => [model, datasetName(dataset), hardware, variantName(variant)];
const KEYS = [["model", "Model"], ["dataset", "Data set"], ["hardware", "Tooling"], ["variant", "Variant"]];
const cellsView = (state, change) => [
  heading("Cells"),
  el("p", null, "A cell is a model, a data set, a tooling and what may vary between its runs. A number leads to the runs behind it."),
  card("Measures", cellTable(state, change)),
  card("Metric files", el("p", { class: "soft" }, "What every figure and table is drawn from."), later("tables", (all) => el("ul", { class: "plain rows" }, Object.entries(all).filter(([name]) => name.startsWith("metrics-")).map(([name, { title, rows }]) => el("li", null, el("a", { href: tableAddress(name) }, title), sideNote(countOf(rows.length, ["row", "rows"]))))))),
];
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
      ...namesOf(cell),
      ...present.map((name) => values[name] || null),
      equal === null ? "" : equal ? "bit-equal" : "differs",
    ]),
    notes: [
      "Small: 95 % interval, and the number of its independent units: runs, or draws where several runs share one; “4 of 5” means that one is missing. A plain 0 is exact.",
      S.emulated.length ? `Implementation noise is emulated on ${S.emulated.join(", ")}.` : "",
    ].filter(Boolean),
  };
  const addresses = new Map(S.cells.map(({ cell }) => [namesOf(cell).join("/"), cellAddress(cell)]));
  const leads = (row) => addresses.get(row.slice(0, 4).join("/"));
  return tableView(table, state, change, leads);
}

// Tables

const tableAddress = (name) => address(`table/${name}`);
// The cell of a row: the one whose names are among the row's names, if there is only one. A column may name a variant.
function cellOfRow(row, column) {
  const words = new Set(row.filter((text) => typeof text === "string").flatMap((text) => [text.replace("†", ""), ...text.replace("†", "").split(" / ")]));
  const matching = S.cells.filter(
    ({ cell: [model, dataset, hardware, variant] }) =>
      words.has(model) && words.has(datasetName(dataset)) && words.has(hardware) && (column.label === variantName(variant) || words.has(variant) || words.has(variantName(variant))),
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
    heading(figure ? shown(figure.title) : ["Metric file ", name.replace("metrics-", "")]),
    figure && el("p", null, shown(figure.caption)),
    figure && downloads(figure),
    later("tables", (all) => {
      if (!Object.hasOwn(all, name)) return el("p", null, "No table of this name.");
      const table = name.startsWith("table2") ? withIntervals(all[name]) : all[name];
      const leads = (row, column) => {
        const entry = isNumeric(column) && cellOfRow(row, column);
        return entry ? cellAddress(entry.cell) : null;
      };
      return card(figure ? name : shown(table.title), tableView(table, state, change, leads));
    }),
  ];
}

// Figures

function downloads({ files, data, notebook }) {
  const to = (file, text) => el("a", { href: fileAddress(file) }, text);
  const item = (label, ...links) => el("span", null, `${label}: `, links.map((each, place) => [place ? ", " : "", each]));
  return el("p", { class: "downloads" }, item("Download", ...Object.entries(files).map(([suffix, file]) => to(file, suffix.toUpperCase()))), item("Data", ...data.map((file) => to(file, file.slice(file.indexOf("/") + 1)))), to(notebook, "Notebook"));
}
const fileAddress = (file) => file.split("/").map(encodeURIComponent).join("/");
const drawing = ({ files }, alt) => el("img", { src: fileAddress(files.svg), alt, loading: "lazy" });
// On a small screen a figure has its narrow form; one that has none, or of older results, is moved sideways.
const drawingThatFits = (figure, alt) => (figure.narrow ? el("picture", null, el("source", { media: "(max-width: 36rem)", srcset: fileAddress(figure.narrow) }), drawing(figure, alt)) : drawing(figure, alt));
const figuresView = () => [
  heading("Figures and tables"),
  el("ul", { class: "gallery" }, S.figures.filter(({ picture }) => picture).map((figure) => el("li", null, el("a", { href: address(`figure/${figure.name}`) }, drawing(figure, ""), shown(figure.title), " ", el("small", { class: "soft" }, figure.name))))),
  card("Tables", el("ul", { class: "plain rows" }, S.figures.filter(({ picture }) => !picture).map(({ name, title }) => el("li", null, el("a", { href: tableAddress(name) }, shown(title)), sideNote(name))))),
];
function oneFigure(name) {
  const figure = S.figures.find((drawn) => drawn.name === name && drawn.picture);
  if (!figure) return [heading("No figure of this name")];
  return [
    heading(shown(figure.title)),
    el("figure", { class: "shown" }, el("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": name }, drawingThatFits(figure, `Figure ${name}: ${figure.title}`)), el("figcaption", null, shown(figure.caption), figure.marks && el("p", { class: "marks" }, shown(figure.marks)), downloads(figure))),
    el("p", null, el("a", { href: "#figures" }, "All figures")),
  ];
}
