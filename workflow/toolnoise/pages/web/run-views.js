// The views of a cell, of a run, and of two runs side by side.

const PANELS = [
  ["train_loss", "Training loss", true],
  ["test_loss", "Test loss", true],
  ["train_accuracy", "Training accuracy", false],
  ["test_accuracy", "Test accuracy", false],
];

// What an existing training program wrote into its history is drawn as it is.
const panelsOf = ({ curves: drawn }) => {
  const known = PANELS.filter(([curve]) => curve in drawn);
  return known.length ? known : Object.keys(drawn).map((curve) => [curve, curve, false]);
};

function cellView(key) {
  const entry = cells.get(key);
  if (!entry) return [heading("No cell of this name")];
  const { cell } = entry;
  return [
    heading(cellName(cell)),
    later(`cells/${key}`, (part) => [
      el("p", { class: "soft" }, part.says),
      el("div", { class: "plots" }, dotPlots(cell, part)),
      card("Histories", panels(part, [])),
      card("Runs", runTable(cell, part)),
      part.flipping?.length > 0 && card(`${part.unit[0].toUpperCase()}${part.unit.slice(1)}s that flip most often`, flippingTable(part)),
      card("Where runs part", partingList(cell, part)),
      card("Measures", measureTable(part)),
      card("Spec", opening("What every run of this cell has in common", () => tree(part.spec))),
    ]),
  ];
}

// The cells that differ from one in a single name.
const neighbours = (cell) =>
  S.cells.map((entry) => entry.cell).filter((other) => other[1] === cell[1] && other.filter((name, place) => name !== cell[place]).length === 1);

function dotPlots(cell, part) {
  return Object.entries(S.of_runs).filter(([name]) => name in part.values).map(([name, [label, unit, scale, digits]]) => {
    const runs = Object.entries(part.values[name]).map(([seed, value]) => ({
      seed,
      value: value === null ? null : value * scale,
      shown: `${decimal(value, scale, digits)} ${unit}`,
      href: runAddress(cell, seed),
    }));
    const of = name === "churn" ? part.measures.churn : part.measures[`${name}_mean`];
    const mean = of ? of.slice(0, 3).map((value) => (value === null ? null : value * scale)) : null;
    return dots({ label: `${label} by run`, unit, runs, mean });
  });
}

const linesOf = (part, curve, extra = []) => [
  ...part.runs.map((run, place) => ({ seed: run.seed, name: `run ${run.seed}`, values: part.curves[curve][place] })),
  ...extra,
];
function panels(part, lit, extraLines = () => []) {
  const thinned = Math.max(...part.runs.map(({ epochs }) => epochs), 0) > part.epochs.length;
  return [
    el("div", { class: "plots four" }, panelsOf(part).map(([curve, label, logarithmic]) => curves({ label: `${label}${logarithmic ? ", logarithmic" : ""}`, epochs: part.epochs, lines: linesOf(part, curve, extraLines(curve)), lit, logarithmic }))),
    thinned && el("p", { class: "soft" }, `${part.epochs.length} of ${Math.max(...part.runs.map(({ epochs }) => epochs))} epochs are drawn.`),
    el("p", { class: "soft" }, "Losses have 3 digits here, other values 4. history.csv has every epoch and all digits."),
    opening("The curves as a table", () => historyTable(part, lit)),
  ];
}

function historyTable(part, lit) {
  const runs = part.runs.map((run, place) => [run, place]).filter(([run]) => !lit.length || lit.includes(run.seed));
  const rows = runs.flatMap(([run, place]) =>
    part.epochs.slice(0, run.epochs).map((epoch, at) => [String(run.seed), epoch, ...panelsOf(part).map(([curve]) => part.curves[curve][place][at])]),
  );
  const columns = [
    { label: "Run", kind: "name" },
    { label: "Epoch", kind: "plain" },
    ...panelsOf(part).map(([, label]) => ({ label, kind: "plain" })),
  ];
  return tableView({ title: "Histories", columns, rows }, new Map(), () => {});
}

// Whether the cell has several draws of what it fixes.
const hasDraws = (part) => part.runs.some(({ draw }) => draw !== null);

function runTable(cell, part) {
  const rates = Object.entries(S.of_runs).filter(([name]) => name in part.values);
  const columns = [
    { key: "run", label: "Run", kind: "plain" },
    hasDraws(part) && { label: "Draw", kind: "plain" },
    { label: "Status", kind: "name" },
    ...rates.map(([name, [label, unit]]) => ({ key: name, label, unit, kind: "plain" })),
    { label: "Epochs", kind: "plain" },
    { label: "Seconds", kind: "plain" },
    { label: "Initial weights", kind: "name" },
  ].filter(Boolean);
  const rows = part.runs.map((run) => [run.seed, ...(hasDraws(part) ? [run.draw] : []), run.status, ...rates.map(([name, [, , scale]]) => scaled(part.values[name][run.seed], scale)), run.epochs, run.seconds, run.initial]);
  return tableView({ title: `Runs of ${cellName(cell)}`, columns, rows }, new Map(), () => {}, (row, { key }) => (key === "run" || key in S.of_runs ? runAddress(cell, row[0]) : null));
}
// The examples on which most pairs of runs differ; a column sorts them otherwise.
function flippingTable(part) {
  const columns = [
    { key: "number", label: "Number", kind: "plain", picture: (number) => seen(number, part) },
    { label: "Label", kind: "name" },
    { label: "Answers", kind: "name" },
    { key: "often", label: "Pairs of runs that differ", unit: `% of ${part.flipping[0][4]}`, kind: "plain" },
  ];
  const rows = part.flipping.map(([number, label, answers, differ, pairs]) => [number, label, answers, scaled(differ / pairs, 100)]);
  return tableView({ title: "Examples that flip most often", columns, rows }, new Map(), () => {});
}
const scaled = (value, scale) => (value === null || value === undefined ? null : Number((value * scale).toPrecision(5)));

function measureTable(part) {
  const rows = Object.entries(part.measures).map(([name, value]) => [name, value]);
  const columns = [{ label: "Measure", kind: "name" }, { label: "Value", kind: "number", digits: 5 }];
  return opening(`All ${rows.length} measures of this cell, over all examples`, () => tableView({ title: "Measures", columns, rows }, new Map(), () => {}));
}

// Where two runs part: what toolnoise diff answers

function partingList(cell, part) {
  if (!part.partings.length) return el("p", { class: "soft" }, part.runs.length > 1 ? "Not computed beforehand." : "The cell has one run.");
  return listed(
    part.partings,
    (parted) => el("li", null, el("a", { href: besideAddress(cell, parted.seeds[0], cell, parted.seeds[1]) }, `Runs ${parted.seeds.join(" and ")}`), ": ", inShort(parted)),
    null,
    20,
  );
}
const besideAddress = (cell, seed, otherCell, otherSeed) => address(`beside/${cellKey(cell)}/${seed}/${cellKey(otherCell)}/${otherSeed}`);
function inShort(parted) {
  if (parted.not_compared) return parted.not_compared;
  if (parted.equal) return "bit-equal";
  const from = parted.weights_from ? `weights differ from epoch ${parted.weights_from} on` : "weights are equal in every epoch";
  // A program that leaves numbers may leave no weights.
  if (parted.answers_equal === false && parted.churn === null) return `${parted.weights_from ? `${from}; ` : ""}their answers differ`;
  if (parted.churn === null) return from;
  return `${from}; they disagree on ${decimal(parted.churn, 100, 2)} % of the test examples`;
}

const since = (epoch) => (epoch ? `differ from epoch ${epoch} on` : "the same in every epoch");
const FLIPS = { a_right_b_wrong: "A right, B wrong", a_wrong_b_right: "A wrong, B right", both_wrong_differently: "Both wrong, differently" };
function partingOf(parted, part) {
  if (parted.not_compared) return el("p", null, shown(parted.not_compared));
  if (parted.equal) return el("p", null, "Bit-equal: weights, history except times, predictions.");
  const more = parted.n_tensors > parted.tensors.length ? ` and ${parted.n_tensors - parted.tensors.length} more` : "";
  return el(
    "dl",
    null,
    pair("Initial weights", parted.initial_equal === null ? "not known for both" : parted.initial_equal ? "the same" : "differ"),
    pair("Draws", since(parted.draws_from)),
    pair("Weights", since(parted.weights_from), parted.weights_from ? `, in ${countOf(parted.n_tensors, ["tensor", "tensors"])}: ${parted.tensors.join(", ")}${more}` : ""),
    parted.l2_unit !== null && pair("Distance at the end", `${short(parted.l2_unit)} (L2 of unit-norm weights)`),
    parted.churn !== null && pair("Churn", `${decimal(parted.churn, 100, 2)} %`),
    Object.entries(FLIPS).filter(([kind]) => Object.hasOwn(parted.flips, kind)).map(([kind, label]) => {
      const number = parted.flips[kind];
      const examples = part.examples.filter(([place, flip]) => flip === kind && part.partings[place] === parted);
      const first = number > examples.length ? `; the first ${examples.length}` : "";
      return pair(label, `${countOf(number, [part.unit, `${part.unit}s`])}${first}${number ? ":" : ""}`, el("div", { class: "examples" }, examples.map((example) => exampleOf(example, part))));
    }),
  );
}

// A test example by its number, as a picture or after the text before it, with its label and what two runs predict.
function seen(number, { pictures, texts, unit }) {
  if (pictures[number]) return el("img", { src: `data:image/png;base64,${pictures[number]}`, alt: `Test ${unit} ${number}` });
  return texts?.[number] && el("p", { class: "context" }, `${texts[number]} `, el("b", null, "?"));
}
function exampleOf([, , number, label, a, b], part, names) {
  const { unit } = part;
  return el(
    "figure",
    null,
    seen(number, part),
    el("figcaption", null, `${unit[0].toUpperCase()}${unit.slice(1)} ${number}`, el("br"), "Label: ", shown(label), el("br"), `${names?.[0] ?? "A"}: `, shown(a), names ? el("br") : ", ", `${names?.[1] ?? "B"}: `, shown(b)),
  );
}

// A run

function runView(key, seed) {
  const entry = cells.get(key);
  if (!entry || !entry.seeds.includes(seed)) return [heading("No run of this name")];
  const { cell } = entry;
  return [
    heading(`Run ${seed} of ${cellName(cell)}`),
    el("p", { class: "downloads" }, el("a", { href: cellAddress(cell) }, "All runs of this cell")),
    later(`cells/${key}`, (part) => {
      const run = part.runs.find((run) => run.seed === seed);
      if (!run) return el("p", null, "This run has no record.");
      return [
        card("Outcome", el("dl", null, outcome(run, part)), el("p", null, el("a", { href: `${S.logs}/train/${key}/${seed}.log` }, "Log"), el("span", { class: "soft" }, " (beside the results, where they were made)"))),
        card("Histories", el("p", { class: "soft" }, "This run in colour, the cell's other runs in grey."), panels(part, [seed])),
        card("Beside another run", chooser(cell, seed)),
        card("Spec", opening("Spec", () => tree({ ...part.spec, seed }))),
      ];
    }),
  ];
}

function outcome(run, part) {
  return [
    pair("Status", run.status),
    Object.entries(S.of_runs).filter(([name]) => name in part.values).map(([name, [label, unit, scale, digits]]) => pair(label, `${decimal(part.values[name][run.seed], scale, digits)} ${unit}`)),
    pair("Epochs", String(run.epochs)),
    pair("Seconds", short(run.seconds)),
    pair("Initial weights", el("code", null, run.initial)),
    run.emulated && pair("Emulated noise", shown(typeof run.emulated === "string" ? run.emulated : JSON.stringify(run.emulated))),
    run.moved_bit && pair("Moved bit", shown(JSON.stringify(run.moved_bit))),
    run.resumed.length > 0 && pair("Resumed after epoch", run.resumed.join(", ")),
  ];
}

function chooser(cell, seed) {
  const others = cells.get(cellKey(cell)).seeds.filter((number) => number !== seed).map((number) => [cell, number]);
  for (const other of neighbours(cell)) for (const number of cells.get(cellKey(other)).seeds) others.push([other, number]);
  const go = (event) => event.target.value && (location.hash = event.target.value.slice(1));
  const group = (label, choices) => choices.length > 0 && el("optgroup", { label }, choices.map(([other, number]) => el("option", { value: besideAddress(cell, seed, other, number) }, `${other === cell ? "" : `${cellName(other)}, `}run ${number}`)));
  return el("label", null, "B ", el("select", { onchange: go }, el("option", { value: "" }, "choose a run"), group("of the same cell", others.filter(([other]) => other === cell)), group("of another cell", others.filter(([other]) => other !== cell))));
}

function besideView(keyA, seed, keyB, otherSeed) {
  const [entryA, entryB] = [cells.get(keyA), cells.get(keyB)];
  if (!entryA?.seeds.includes(seed) || !entryB?.seeds.includes(otherSeed)) return [heading("No two runs of these names")];
  return [
    heading("Two runs side by side"),
    el("p", null, el("strong", null, "A: "), el("a", { href: runAddress(entryA.cell, seed) }, `run ${seed} of ${cellName(entryA.cell)}`)),
    el("p", null, el("strong", null, "B: "), el("a", { href: runAddress(entryB.cell, otherSeed) }, `run ${otherSeed} of ${cellName(entryB.cell)}`)),
    later(`cells/${keyA}`, (partA) => later(`cells/${keyB}`, (partB) => sideBySide(entryA.cell, seed, partA, entryB.cell, otherSeed, partB))),
  ];
}

function sideBySide(cell, seed, partA, otherCell, otherSeed, partB) {
  const [a, b] = [partA.runs.find((run) => run.seed === seed), partB.runs.find((run) => run.seed === otherSeed)];
  if (!a || !b) return el("p", null, "One of the runs has no record.");
  const known = partA === partB && partA.partings.find(({ seeds }) => seeds.includes(seed) && seeds.includes(otherSeed));
  const folder = (key, number) => `results/${S.study}/runs/${cellKey(key)}/${number}`;
  const place = partB.runs.indexOf(b);
  const outcomes = (run, part) => el("dl", null, outcome(run, part));
  const turned = known && known.seeds[0] !== seed;
  const curve = (name) => ({ seed: "B", name: `B, run ${otherSeed}`, values: partB.curves[name]?.[place] ?? [], epochs: partB.epochs });
  const only = { ...partA, runs: [a], curves: Object.fromEntries(panelsOf(partA).map(([name]) => [name, [partA.curves[name][partA.runs.indexOf(a)]]])) };
  return [
    card(
      "Where they part",
      known ? [turned && el("p", { class: "soft" }, "Computed with A and B exchanged."), partingOf(known, partA)] : partedByDigests(a, b, partA.epochs, partB.epochs),
      el("p", { class: "soft" }, "In full: ", el("code", null, `toolnoise diff ${folder(cell, seed)} ${folder(otherCell, otherSeed)}`)),
    ),
    card("Histories", el("p", { class: "legend" }, el("span", { class: "key lit0" }), " A ", el("span", { class: "key lit1" }), " B"), panels(only, [seed, "B"], (name) => [curve(name)])),
    el("div", { class: "two" }, card("A", outcomes(a, partA)), card("B", outcomes(b, partB))),
  ];
}

// The first epoch whose digests of the weights differ, of those that the page has.
function partedByDigests(a, b, epochs, others) {
  if (epochs.join() !== others.join() && a.epochs !== b.epochs) return el("p", null, `A has ${a.epochs} epochs, B ${b.epochs}.`);
  const digests = (run) => run.weights.match(/.{6}/g) || [];
  const at = digests(a).findIndex((digest, place) => digest !== digests(b)[place]);
  const whole = digests(a).length === a.epochs;
  if (at < 0) return el("p", null, "The weights have equal digests in every epoch that is drawn.");
  const first = whole || at === 0 ? `from epoch ${epochs[at]} on` : `from epoch ${epochs[at - 1] + 1} to ${epochs[at]} on`;
  return el("p", null, `Initial weights ${a.initial === b.initial ? "the same" : "differ"}; weights differ ${first}.`);
}
