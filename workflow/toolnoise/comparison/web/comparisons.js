// What comparisons add to a study's page: the verdict of `toolnoise compare` on two cells.

// Without a choice, the two cells whose mean accuracies differ most, of those in which something varies.
function farthest(all) {
  const mean = (cell) => cells.get(cellKey(cell))?.values.accuracy_mean?.[0];
  const apart = ({ a, b }) => ([a[3], b[3]].includes("control") ? -1 : Math.abs(mean(a) - mean(b)) || 0);
  return all.reduce((best, each) => (best && apart(best) >= apart(each) ? best : each), null);
}
const compareView = (_, state) => [
  heading("Is B better than A?"),
  later("compared", (all) => {
    const first = state.has("a") ? null : farthest(all);
    const [a, b] = first ? [first.a, first.b].map(cellKey) : [state.get("a"), state.get("b")];
    const pairs = all.map((each) => [each.a, each.b].map(cellKey));
    const partners = (key) => pairs.filter((each) => each.includes(key)).map(([one, other]) => (one === key ? other : one));
    const go = (values) => (location.hash = `compare?${queryText(new Map(Object.entries(values)))}`);
    // What B can be depends on A: a partner of A that is B already, else its first one.
    const goA = ({ target }) => go({ a: target.value, b: partners(target.value).includes(b) ? b : partners(target.value)[0] });
    const options = (keys, chosen) => [...new Set(keys)].filter((key) => cells.has(key)).map((key) => el("option", { value: key, selected: key === chosen }, cellName(cells.get(key).cell)));
    const offered = b && b !== a ? [...partners(a), b] : partners(a);
    return [
      el("p", { class: "soft" }, `The verdict is that of toolnoise compare, for the ${countOf(all.length, ["pair", "pairs"])} of cells that differ in the variant, the model or the tooling alone.`, first && " Shown first: of the cells in which something varies, the two whose mean accuracies differ most."),
      el("div", { class: "tools" }, el("label", { for: "arm-a" }, "A"), el("select", { id: "arm-a", onchange: goA }, options([...pairs.flat(), a], a)), el("label", { for: "arm-b" }, "B"), el("select", { id: "arm-b", onchange: ({ target }) => go({ a, b: target.value }) }, options(offered, b))),
      a && b && [verdictOn(a, b, all), cells.has(a) && cells.has(b) && a !== b && card("Histories", overlaid([a, b]))],
    ];
  }),
];

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

viewsOfStudy.compare = compareView;
