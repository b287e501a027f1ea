// The statements of an audit, an index of the links between artifacts and jobs, and what these add to a study's page.

let D = null;
const FILE = "file";

// The names of a verb's outputs (singular, plural) and their stage of the study, in the order of the list of artifacts.
const MADE = {
  "write-audit": ["audit of the page", "audits of the page", "showing"],
  "write-page": ["page", "pages", "showing"],
  "compare-cells": ["comparison of cells", "comparisons of cells", "showing"],
  "show-cell": ["cell's part of the page", "cells' parts of the page", "showing"],
  report: ["report", "reports", "showing"],
  render: ["figure or table", "figures and tables", "showing"],
  collect: ["collected table", "collected tables", "measuring"],
  measure: ["cell's metrics", "cells' metrics", "measuring"],
  "measure-remedies": ["cell's remedies", "cells' remedies", "measuring"],
  "measure-ratios": ["task's ratios", "tasks' ratios", "measuring"],
  "measure-pair": ["pair's metrics", "pairs' metrics", "measuring"],
  "measure-overhead": ["network's overhead", "networks' overheads", "measuring"],
  "check-control": ["control verdict", "control verdicts", "measuring"],
  predict: ["dump of predictions", "dumps of predictions", "training"],
  remedy: ["dump of remedied predictions", "dumps of remedied predictions", "training"],
  train: ["run", "runs", "training"],
  "check-model": ["check of a model", "checks of models", "training"],
  profile: ["profile", "profiles", "training"],
  "measure-speed": ["timing", "timings", "training"],
  count: ["count of examples", "counts of examples", "data"],
  prepare: ["prepared data set", "prepared data sets", "data"],
  fetch: ["list of data files", "lists of data files", "data"],
  configure: ["study file", "study files", "data"],
};
const KINDS = {
  source: ["external file", "external files"],
  package: ["package file", "package files"],
  code: ["module", "modules"],
  resource: ["file of the repository", "files of the repository"],
  lock: ["lock file", "lock files"],
  commit: ["commit", "commits"],
  missing: ["input without a statement", "inputs without a statement"],
};

// Verbs and kinds come from statements, so one may have the name of a property that every object has.
const made = (job) =>
  Object.hasOwn(MADE, job[VERB]) ? MADE[job[VERB]] : [`output of ${job[VERB]}`, `outputs of ${job[VERB]}`, ""];
const kindName = (kind) =>
  Object.hasOwn(KINDS, kind) ? KINDS[kind] : [kind || "file without a kind", `of kind "${kind}"`];
const BY = ["code", "resource", "lock", "commit"];
const origins = (by) => Object.keys(by).filter((kind) => !BY.includes(kind));

const thing = (number) => ({
  name: D.things.names[number],
  sha: D.things.sha256[number],
  size: D.things.sizes[number],
  kind: D.kinds[D.things.kinds[number]],
  uri: D.things.uris[number] || "",
});
function value(number) {
  const packed = D.values[number];
  if (Array.isArray(packed)) return packed.map(value);
  return isNested(packed) ? keyed(Object.keys(packed), Object.values(packed).map(value)) : packed;
}
const [VERB, STARTED, FINISHED, OUTPUTS, INPUTS, MADE_BY, PARAMETERS, OBSERVED, VERSIONS, PATH, CHANGES] =
  Array(11).keys();
const all = (roles) => Object.values(roles).flat();
const added = (map, key, item) => (map.has(key) ? map.get(key).push(item) : map.set(key, [item]));
const nameOf = (number) => D.things.names[number];
const keyOf = (number) => `${D.kinds[D.things.kinds[number]]}/${nameOf(number)}`;

const known = new Map(); // kind/name -> things; several if statements disagree about the bytes
const makers = new Map(); // name of a file -> jobs whose statements list it as an output
const users = new Map(); // kind/name -> jobs whose statements list it as an input; without the kinds in BY
const usersOfCode = new Map(); // number of a shared list of dependencies -> jobs
const statements = new Map(); // path of a statement -> job
const onDisk = new Map(); // name of a file -> its size
const accused = new Map(); // name -> findings
const stale = new Map(); // name -> the files that have changed since
const halved = new Map(); // what an address makes of a name that is not Unicode -> the name
let names = [];
let searchable = [];

// Once, before any view of statements is drawn.
function index(block) {
  D = block;
  // A file is a name and a size, or the number of the thing that has both.
  for (const file of D.files) {
    const [name, size] = Array.isArray(file) ? file : [nameOf(file), thing(file).size];
    onDisk.set(name, size);
  }
  D.things.names.forEach((_, number) => added(known, keyOf(number), number));
  D.jobs.forEach((job, number) => {
    statements.set(job[PATH], number);
    new Set(all(job[OUTPUTS]).map(nameOf)).forEach((name) => added(makers, name, number));
    new Set(all(job[INPUTS]).map(keyOf)).forEach((key) => added(users, key, number));
    added(usersOfCode, job[MADE_BY], number);
  });
  D.madeBy.forEach((list, number) => {
    for (const kind of origins(list))
      for (const each of list[kind]) for (const job of usersOfCode.get(number) || []) added(users, keyOf(each), job);
  });
  for (const [changed, those] of D.stale) for (const name of those) stale.set(name, changed);
  for (const [rule, entries] of D.findings) for (const [name, what] of entries) added(accused, name, { rule, what });
  names = [...new Set([...onDisk.keys(), ...makers.keys()])].sort();
  searchable = [...new Set([...names.map((name) => `${FILE}/${name}`), ...known.keys()])];
  for (const key of searchable) if (!key.isWellFormed()) halved.set(key.toWellFormed(), key);
}

// Every job uses code, so the users of a module are looked up on demand.
function usersOf(key) {
  const kind = key.slice(0, key.indexOf("/"));
  if (!BY.includes(kind)) return users.get(key) || [];
  const uses = (list) => (list[kind] || []).some((each) => keyOf(each) === key);
  return D.madeBy.flatMap((list, number) => (uses(list) ? usersOfCode.get(number) || [] : []));
}

// What the audit adds to a study's page. Without a study, the audit's views are the whole page.

const withStatements = (draw) =>
  later("statements", (block) => {
    if (!D) index(block);
    return draw();
  });

Object.assign(additions, {
  views: { audit: () => withStatements(overview), stale: () => withStatements(staleView) },
  // An address of no view is that of an artifact.
  otherView: (path) => withStatements(() => artifactView(keyAt(path))),
  search: (text) => withStatements(() => searchView(text)),
  // The prepared data of a run.
  dataOf: (dataset) => fileLink(`data/${dataset}.npz`, "Its data: ", shown(dataset)),
  facts: () => pair("Ran on", later("audit", (audit) => audit.ran_on.map(line))),
  verdict: () => later("audit", verdictOfAudit),
  ofFile: (name) => el("a", { href: address(`${FILE}/${name}`) }, "Statement and lineage"),
  ofCell: (key) => card("Statements", el("ul", { class: "plain rows" }, [`metrics/cells/${key}.csv`, `predictions/${key}.npy`].map((file) => el("li", null, fileLink(file))))),
  ofRun: (key, seed) => [
    el("h2", null, "Statement and lineage"),
    withStatements(() => artifactView(`${FILE}/runs/${key}/${seed}/weights.npz`).slice(1)),
  ],
});

// Green only beside what it means; what an audit does not show, such as who made the results, has no colour.
const judged = (clean, verdict) => [mark(clean ? "good" : "bad", verdict), " ", clean ? "Every file that is there agrees with its statement, and every rule of the audit holds." : "Some results break a rule of the audit."];
function verdictOfAudit({ clean, slim, findings, stale: old, says, left_out: absent }) {
  const verdict = clean ? `clean${slim}` : findings ? `not clean: ${countOf(findings, ["finding", "findings"])}` : `not clean${slim}`;
  return card(
    el("a", { href: "#audit" }, "Audit"),
    el("p", null, judged(clean, verdict)),
    old > 0 && el("p", null, mark("old", "stale"), ` ${countOf(old, ["result was", "results were"])} made by other code than today's; made again, they may differ.`),
    says.map(line),
    absent.length > 0 && el("p", null, `Left out of this copy, because they name somebody or were not there: ${absent.join(", ")}`),
  );
}

if (S.study) document.querySelector("nav").append(el("a", { href: "#audit" }, "Audit"));
else {
  additions.views[""] = additions.views.audit;
  document.querySelector("nav").remove();
}
