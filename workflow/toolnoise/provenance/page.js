"use strict";
// The page of an audit. All it shows is in the data block (page.py says how it is packed); every view is drawn when it is
// asked for, and every text becomes a text node, so that nothing that a name or a field says is ever read as HTML.

const D = JSON.parse(document.getElementById("data").textContent);
const FILE = "file";

// What a verb's outputs are called, how many of them, and the part of the study they belong to; the order is that of the
// list of artifacts.
const MADE = {
  report: ["page", "pages", "showing"],
  render: ["figure or table", "figures and tables", "showing"],
  collect: ["collected table", "collected tables", "measuring"],
  measure: ["cell's metrics", "cells' metrics", "measuring"],
  "measure-pair": ["pair's metrics", "pairs' metrics", "measuring"],
  "measure-overhead": ["network's overhead", "networks' overheads", "measuring"],
  "check-control": ["control verdict", "control verdicts", "measuring"],
  predict: ["dump of predictions", "dumps of predictions", "training"],
  train: ["run", "runs", "training"],
  profile: ["profile", "profiles", "training"],
  "measure-speed": ["timing", "timings", "training"],
  count: ["count of examples", "counts of examples", "data"],
  prepare: ["prepared data set", "prepared data sets", "data"],
  fetch: ["list of data files", "lists of data files", "data"],
  configure: ["study file", "study files", "data"],
};
const KINDS = {
  source: ["file from outside", "files from outside"],
  package: ["file of a package", "files of packages"],
  code: ["module", "modules"],
  resource: ["file of the repository", "files of the repository"],
  lock: ["lock file", "lock files"],
  commit: ["commit", "commits"],
  missing: ["input without a statement", "inputs without a statement"],
};

// Verbs and kinds come from statements: one may be called like a property that every object has.
const made = (job) => (Object.hasOwn(MADE, job[VERB]) ? MADE[job[VERB]] : [`output of ${job[VERB]}`, `outputs of ${job[VERB]}`, ""]);
const kindName = (kind) => (Object.hasOwn(KINDS, kind) ? KINDS[kind] : [kind || "file of no kind", `of kind "${kind}"`]);
const BY = ["code", "resource", "lock", "commit"];
const origins = (by) => Object.keys(by).filter((kind) => !BY.includes(kind));

// Unpacking

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
  if (packed === null || typeof packed !== "object") return packed;
  return Object.entries(packed).map(([key, number]) => ({ key, value: value(number) }));
}
const [VERB, STARTED, FINISHED, OUTPUTS, INPUTS, MADE_BY, PARAMETERS, OBSERVED, VERSIONS, PATH, CHANGES] = Array(11).keys();
const all = (roles) => Object.values(roles).flat();
const added = (map, key, item) => (map.has(key) ? map.get(key).push(item) : map.set(key, [item]));
const nameOf = (number) => D.things.names[number];
const keyOf = (number) => `${D.kinds[D.things.kinds[number]]}/${nameOf(number)}`;

const known = new Map(); // kind/name -> things; several where statements disagree about the bytes
const makers = new Map(); // name of a file -> jobs that say they made it
const users = new Map(); // kind/name -> jobs that say they read it, code and the like left out
const usersOfCode = new Map(); // number of a shared list of dependencies -> jobs
const statements = new Map(); // path of a statement -> job
const onDisk = new Map(D.files);
const accused = new Map(); // name -> findings

D.things.names.forEach((_, number) => added(known, keyOf(number), number));
D.jobs.forEach((job, number) => {
  statements.set(job[PATH], number);
  new Set(all(job[OUTPUTS]).map(nameOf)).forEach((name) => added(makers, name, number));
  new Set(all(job[INPUTS]).map(keyOf)).forEach((key) => added(users, key, number));
  added(usersOfCode, job[MADE_BY], number);
});
D.madeBy.forEach((list, number) => {
  for (const kind of origins(list))
    for (const each of list[kind])
      for (const job of usersOfCode.get(number) || []) added(users, keyOf(each), job);
});
const stale = new Map(D.stale.flatMap(([changed, names]) => names.map((name) => [name, changed])));
for (const [rule, found] of D.findings) for (const [name, what] of found) added(accused, name, { rule, what });

const names = [...new Set([...onDisk.keys(), ...makers.keys()])].sort();
const searchable = [...new Set([...names.map((name) => `${FILE}/${name}`), ...known.keys()])];
const halved = new Map(searchable.filter((key) => !key.isWellFormed()).map((key) => [key.toWellFormed(), key]));

// Building elements

// Attributes are set by name and children are nodes or texts: there is no way from a text to markup.
function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, given] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), given);
    else if (given !== null && given !== undefined && given !== false) made.setAttribute(name, given === true ? "" : given);
  }
  made.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

// Characters that cannot be seen, or that change how their neighbours are shown, are written out.
const ODD = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const SHORT = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
const written = (character) => SHORT[character] || `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
const visible = (text) => String(text).replace(ODD, written);
function shown(text) {
  const parts = [];
  let from = 0;
  for (const match of String(text).matchAll(ODD)) {
    parts.push(breakable(text.slice(from, match.index)), el("span", { class: "odd" }, written(match[0])));
    from = match.index + match[0].length;
  }
  return [...parts, breakable(String(text).slice(from))];
}
const breakable = (text) => text.split(/(?<=\/)/).flatMap((part, place) => (place ? [el("wbr"), part] : [part]));

const count = (number) => number.toLocaleString("en");
const some = (number, [one, many]) => `${count(number)} ${number === 1 ? one : many}`;
const stage = (job) => made(job)[2];
function bytes(size) {
  if (size === null || size === undefined) return "size unknown";
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let unit = 0;
  for (; size >= 1000 && unit < 4; unit++) size /= 1000;
  return `${unit ? size.toPrecision(3) : size} ${units[unit]}`;
}
function seconds(job) {
  const took = (Date.parse(job[FINISHED]) - Date.parse(job[STARTED])) / 1000;
  if (took < 120) return `${took < 10 ? took.toFixed(1) : Math.round(took)} s`;
  return took < 7200 ? `${(took / 60).toFixed(1)} min` : `${(took / 3600).toFixed(1)} h`;
}
const moment = (text) => el("time", { datetime: text }, `${text.slice(0, 10)} ${text.slice(11, 19)} UTC`);
const digest = (sha, length = 12) =>
  sha ? el("span", { class: "digest", title: sha }, sha.slice(0, length)) : el("span", { class: "soft" }, "no digest");

// Half characters, of names that are no Unicode, cannot stand in an address.
const address = (key) => `#${key.toWellFormed().split("/").map(encodeURIComponent).join("/")}`;
const link = (key, ...text) =>
  el("a", { href: address(key), class: "name" }, text.length ? text : shown(key.slice(key.indexOf("/") + 1)));
const fileLink = (name, ...text) => link(`${FILE}/${name}`, ...text);
const first = (job) => nameOf(all(job[OUTPUTS])[0]);
// A run is known by its folder, whatever it has written there first.
const called = (job) => (job[VERB] === "train" && first(job).includes("/") ? first(job).slice(0, first(job).lastIndexOf("/") + 1) : first(job));
const isAccused = (job) => all(job[OUTPUTS]).some((each) => accused.has(nameOf(each))) || accused.has(job[PATH]);

// A list of any length: the first rows, and a button for more of them.
function listed(items, row, attributes, step = 200) {
  const list = el("ul", attributes);
  const more = el("button", { type: "button", onclick: () => grow(true) });
  let at = 0;
  function grow(asked) {
    const rows = items.slice(at, at + step).map(row);
    list.append(...rows);
    at += rows.length;
    more.hidden = at >= items.length;
    more.textContent = `Show ${count(Math.min(step, items.length - at))} more of ${count(items.length)}`;
    if (asked) rows[0].querySelector("a")?.focus();
  }
  grow(false);
  return items.length > step ? [list, more] : [list];
}

// What opens is drawn when it is opened for the first time.
function opening(summary, draw, attributes) {
  const details = el("details", attributes, el("summary", null, summary));
  const fill = () => details.childElementCount === 1 && details.append(...[draw()].flat());
  details.addEventListener("toggle", fill);
  if (attributes?.open) fill();
  return details;
}

const pair = (label, ...content) => el("div", null, el("dt", null, label), el("dd", null, content));
const card = (title, ...content) => el("section", { class: "card" }, el("h2", null, title), content);

// The first view

function overview() {
  const found = D.findings.reduce((sum, [, list]) => sum + list.length, 0);
  const results = some(stale.size, ["result is", "results are"]);
  const verdict = found
    ? `Not clean: ${some(found, ["finding", "findings"])} under ${some(D.findings.length, ["rule", "rules"])}`
    : D.clean ? "Clean: no rule finds anything" : `Not clean: ${results} stale`;
  return [
    heading(["Audit of ", shown(D.title)]),
    el("div", { class: `verdict ${D.clean ? "good" : "bad"}` }, el("p", { class: "said" }, verdict), D.told.map((line) => el("p", null, shown(line)))),
    stale.size > 0 &&
      el("div", { class: "verdict old" }, el("p", { class: "said" }, `${results} stale: made by other code than the one here`), el("p", null, el("a", { href: "#?stale" }, "Which, and what has changed since"))),
    found > 0 && card("Findings", D.findings.map(([rule, list]) => [
      el("h3", { id: `rule-${rule}` }, rule, el("span", { class: "mark bad" }, count(list.length))),
      el("p", { class: "soft" }, D.rules[rule] || ""),
      listed(list, ([name, what]) => el("li", null, suspect(name), " ", el("span", null, shown(what))), { class: "findings" }, 50),
    ])),
    card("Artifacts", el("p", { class: "soft" }, "Start at a figure or table and go down to the data, or look at any file."), shelves()),
    card("Rules", el("p", { class: "soft" }, "What was looked at."), el("dl", null, Object.entries(D.rules).map(([rule, says]) => pair(rule, shown(says))))),
  ];
}

// What a finding is about: a file, a statement (of a file), or something else that has a name.
function suspect(name) {
  const job = D.jobs[statements.get(name)];
  if (onDisk.has(name) || makers.has(name)) return fileLink(name);
  return job ? fileLink(first(job), shown(name)) : el("code", { class: "name" }, shown(name));
}

function shelves() {
  const byVerb = new Map();
  D.jobs.forEach((job) => added(byVerb, job[VERB], job));
  const order = [...Object.keys(MADE), ...byVerb.keys()].filter((verb, place, list) => list.indexOf(verb) === place && byVerb.has(verb));
  const unstated = names.filter((name) => !makers.has(name));
  return [
    order.map((verb) => {
      const jobs = byVerb.get(verb).sort((one, other) => (first(one) < first(other) ? -1 : 1));
      return opening(some(jobs.length, made(jobs[0])), () => listed(jobs, shelf, { class: "plain rows" }), { open: verb === "render" });
    }),
    unstated.length > 0 && opening(some(unstated.length, ["file without a statement", "files without a statement"]), () =>
      listed(unstated, (name) => el("li", null, fileLink(name), aside(bytes(onDisk.get(name)))), { class: "plain rows" })),
  ];
}

const aside = (...text) => el("span", { class: "aside" }, text);
function shelf(job) {
  const outputs = [...new Set(all(job[OUTPUTS]).map(nameOf))];
  const folder = outputs[0].slice(0, outputs[0].lastIndexOf("/") + 1);
  const stem = outputs[0].replace(/\.[^./]*$/, "");
  const short = (name) => (name.startsWith(`${stem}.`) ? name.slice(stem.length) : name.startsWith(folder) ? name.slice(folder.length) : name);
  return el("li", null, fileLink(outputs[0]), outputs.slice(1).map((name) => fileLink(name, shown(short(name)))), isAccused(job) && el("span", { class: "mark bad" }, "finding"), aside(seconds(job)));
}

function staleView() {
  return [
    heading("Stale results"),
    el("p", null, "Made by other code than the one here. They are what their statements say; made again, they may differ."),
    D.stale.map(([changed, names]) => card(some(names.length, ["result", "results"]),
      opening(`${some(changed.length, ["file has", "files have"])} changed since`, () => listed(changed, (name) => el("li", null, el("code", { class: "name" }, shown(name)))), { open: changed.length <= 5 }),
      listed(names, (name) => el("li", null, suspect(name)), { class: "plain rows" }, 100))),
  ];
}

// Search

function searchView(asked) {
  const words = asked.toLowerCase().split(/\s+/).filter(Boolean);
  const hex = /^[0-9a-f]{4,64}$/.test(asked.trim().toLowerCase()) ? asked.trim().toLowerCase() : "";
  const hits = searchable.filter((key) => {
    const name = key.toLowerCase();
    return words.every((word) => name.includes(word)) || (hex && (known.get(key) || []).some((number) => D.things.sha256[number].startsWith(hex)));
  });
  return [
    heading(words.length ? ["Search: ", shown(asked)] : "Search"),
    el("p", { role: "status" }, words.length ? `${count(hits.length)} of ${count(searchable.length)} names match.` : "Words that a name must have, or how a SHA-256 begins."),
    words.length > 0 && el("section", { class: "card" }, listed(hits, (key) => {
      const number = known.get(key)?.[0];
      const kind = key.slice(0, key.indexOf("/"));
      return el("li", null, link(key), kind !== FILE && el("span", { class: "soft" }, kind), aside(number !== undefined ? digest(thing(number).sha) : ""));
    }, { class: "plain rows" }, 100)),
  ];
}

// An artifact

function artifactView(key) {
  const kind = key.slice(0, key.indexOf("/"));
  const name = key.slice(key.indexOf("/") + 1);
  const versions = known.get(key) || [];
  const there = kind === FILE && onDisk.has(name);
  if (!versions.length && !there) return [heading("Nothing of this name"), el("p", null, "Neither a file nor a statement here has the name ", el("code", { class: "name" }, shown(name)), ".")];
  const jobs = kind === FILE ? makers.get(name) || [] : [];
  const stated = jobs.flatMap((number) => all(D.jobs[number][OUTPUTS]).filter((each) => nameOf(each) === name));
  // It is stale with the first of what its job made.
  const old = jobs.map((number) => stale.get(first(D.jobs[number]))).find(Boolean);
  const findings = accused.get(name) || jobs.flatMap((number) => accused.get(D.jobs[number][PATH]) || []);
  return [
    heading(shown(name)),
    el("p", null, marks(kind, there, jobs, findings)),
    findings.length > 0 && el("div", { class: "verdict bad" }, findings.map(({ rule, what }) => el("p", null, el("strong", null, rule), ": ", shown(what)))),
    old && el("div", { class: "verdict old" }, opening("Stale: made by other code than the one here", () => listed(old, (each) => el("li", null, el("code", { class: "name" }, shown(each)))))),
    el("dl", null, identity(kind === FILE && stated.length ? stated : versions, kind, name)),
    el("div", { class: "artifact" },
      el("section", { class: "card" }, jobs.length || kind !== FILE || users.has(key) ? lineage(key, jobs[0]) : el("p", { class: "soft" }, "No statement says where this file comes from.")),
      el("div", null, jobs.map((number) => statement(D.jobs[number])), kind !== FILE && usedBy(key, kind))),
  ];
}

function marks(kind, there, jobs, findings) {
  const about = [];
  if (kind !== FILE) about.push(["", kindName(kind)[0]]);
  else if (!there) about.push(["bad", "not in the folder"]);
  else if (findings.length) about.push(["bad", some(findings.length, ["finding", "findings"])]);
  else if (jobs.length === 1) about.push(["good", "no finding"]);
  if (kind === FILE && !jobs.length) about.push(["bad", "no statement"]);
  if (jobs.length > 1) about.push(["bad", `${jobs.length} statements say they made it`]);
  return about.map(([look, text]) => [el("span", { class: `mark ${look}` }, text), " "]);
}

// One line for each version that statements speak of: more than one is a contradiction, and is seen.
function identity(versions, kind, name) {
  const distinct = new Map(versions.map((number) => [thing(number).sha, thing(number)]));
  const rows = [...distinct.values()].map((one) => [
    pair(kind === "commit" ? "Commit" : "SHA-256", digest(one.sha, 64)),
    one.size !== null && pair("Size", exactly(one.size)),
    one.uri && pair("From", outside(one.uri)),
  ]);
  const size = onDisk.get(name);
  const differs = kind === FILE && size !== undefined && ![...distinct.values()].some((one) => one.size === size);
  return [rows, differs && pair("Size here", exactly(size))];
}
const exactly = (size) => (size < 1000 ? bytes(size) : `${bytes(size)} (${count(size)} bytes)`);

// Only an address of the web becomes a link.
function outside(uri) {
  return /^https:\/\/[\w.-]+\/\S*$/.test(uri) ? el("a", { href: uri, rel: "noreferrer noopener" }, shown(uri)) : el("span", null, shown(uri));
}

function usedBy(key, kind) {
  const direct = users.get(key);
  const lists = direct ? [] : D.madeBy.flatMap((list, number) => ((list[kind] || []).some((each) => keyOf(each) === key) ? usersOfCode.get(number) || [] : []));
  const jobs = (direct || lists).map((number) => D.jobs[number]);
  return card(`Used by ${some(jobs.length, ["job", "jobs"])}`, listed(jobs, shelf, { class: "plain rows" }));
}

// A statement

function statement(job) {
  const says = Object.hasOwn(D.says, job[VERB]) && D.says[job[VERB]];
  const observed = new Map(value(job[OBSERVED]).map((one) => [one.key, one.value]));
  const inputs = Object.entries(job[INPUTS]);
  const by = D.madeBy[job[MADE_BY]];
  return card("Statement",
    el("p", null, el("strong", null, job[VERB]), says ? ` (${says})` : "", " on ", moment(job[STARTED]), `, in ${seconds(job)}`, observed.has("host") && [" on ", el("strong", null, tree(observed.get("host")))], "."),
    el("h3", null, "Made"),
    el("ul", { class: "plain rows" }, all(job[OUTPUTS]).map(fileRow)),
    el("h3", null, "From"),
    !inputs.length && !origins(by).length && el("p", { class: "soft" }, "No file: only what it was asked for."),
    inputs.map(([role, files]) => fileGroup(role, files, files.length <= 8)),
    origins(by).map((kind) => fileGroup(some(by[kind].length, kindName(kind)), by[kind], by[kind].length <= 8)),
    el("h3", null, "Asked for"),
    tree(value(job[PARAMETERS])),
    el("h3", null, "Where"),
    machine(observed, value(job[VERSIONS])),
    opening("Everything that was observed", () => tree(value(job[OBSERVED]))),
    el("h3", null, "By"),
    BY.filter((kind) => by[kind] && kind !== "commit").map((kind) => fileGroup(some(by[kind].length, kindName(kind)), by[kind], false)),
    (by.commit || []).map((number) => el("p", null, "Commit ", link(keyOf(number), digest(thing(number).sha)), job[CHANGES] ? [", with changes that it does not have (SHA-256 of the difference: ", digest(job[CHANGES]), ")"] : ", without changes")),
    !by.commit && el("p", { class: "soft" }, "No commit: the program was in no repository."),
    el("p", { class: "soft" }, "Statement: ", el("code", { class: "name" }, shown(job[PATH]))));
}

function fileGroup(role, files, open) {
  const title = files.length > 1 && !/^\d/.test(role) ? [shown(role), `: ${count(files.length)} files`] : shown(role);
  return opening(title, () => listed(files, fileRow, { class: "plain rows" }), { open });
}

function fileRow(number) {
  const one = thing(number);
  const makersOf = one.kind === FILE ? makers.get(one.name) || [] : [];
  const other = makersOf.length && !makersOf.some((job) => all(D.jobs[job][OUTPUTS]).some((each) => nameOf(each) === one.name && thing(each).sha === one.sha));
  return el("li", null, link(keyOf(number)), other && el("span", { class: "mark bad" }, "not the bytes its own statement gives"), aside(one.size !== null && `${bytes(one.size)} · `, digest(one.sha)));
}

// Values of a statement as nested lists; an object is a list of {key, value}, so that no key of it is ever a property.
const isObject = (node) => Array.isArray(node) && node.length > 0 && node[0] !== null && typeof node[0] === "object" && "key" in node[0];
const isFlat = (node) => !Array.isArray(node) || (!isObject(node) && node.every((one) => !Array.isArray(one)));
function tree(node, depth = 0) {
  if (node === "") return el("span", { class: "soft" }, "(empty)");
  if (!Array.isArray(node)) return el("span", null, shown(node === null ? "none" : node));
  if (!node.length) return el("span", { class: "soft" }, "none");
  if (isObject(node)) {
    const inLine = depth > 0 && node.every((one) => isFlat(one.value));
    return el("dl", { class: inLine ? "pairs" : null }, node.map((one) => el("div", null, el("dt", null, shown(one.key)), el("dd", null, tree(one.value, depth + 1)))));
  }
  if (isFlat(node)) return el("span", null, node.map((one, place) => [place ? ", " : "", shown(one === null ? "none" : one)]));
  return el("ul", null, node.map((one) => el("li", null, tree(one, depth + 1))));
}

function machine(observed, versions) {
  const rows = [["Host", "host"], ["Device", "device"], ["Precision", "precision"], ["Deterministic", "deterministic"], ["Driver", "driver"], ["CUDA", "cuda"], ["cuDNN", "cudnn"], ["CPU", "cpu"], ["Cores", "cores"], ["Memory, MiB", "memory_mib"], ["System", "system"], ["Slurm", "slurm"], ["Versions", "versions"]];
  const found = rows.filter(([, key]) => observed.has(key) && ![null, ""].includes(observed.get(key)) && observed.get(key).length !== 0);
  return el("dl", null, found.map(([label, key]) => pair(label, inline(observed.get(key)))), pair("Recorded by", inline(versions)));
}
const inline = (node) =>
  Array.isArray(node) && node.every((one) => one && "key" in Object(one) && !Array.isArray(one.value))
    ? node.map((one, place) => [place ? ", " : "", shown(one.key), " ", shown(one.value)])
    : tree(node);

// Lineage: the jobs before and after, those of one verb drawn as one

function lineage(key, number) {
  const start = number === undefined ? key : number;
  const before = number === undefined ? new Map() : walk([number], (job) => all(D.jobs[job][INPUTS]).flatMap((each) => makers.get(nameOf(each)) || []));
  const after = walk(number === undefined ? users.get(key) || [] : [number], (job) => all(D.jobs[job][OUTPUTS]).flatMap((each) => users.get(keyOf(each)) || []));
  if (number !== undefined) after.delete(number);
  const nodes = new Map([["start", { items: [start], layer: 0 }]]);
  const place = new Map(number === undefined ? [] : [[number, "start"]]);
  const edges = new Map(); // "from to" -> [from, to]; `from` was made from `to`
  const join = (from, to) => from !== to && edges.set(JSON.stringify([from, to]), [from, to]);
  for (const [side, jobs] of [["before", before], ["after", after]])
    for (const job of jobs.keys()) {
      if (place.has(job)) continue;
      const name = `${side} ${D.jobs[job][VERB]}`;
      if (!nodes.has(name)) nodes.set(name, { items: [], side });
      nodes.get(name).items.push(job);
      place.set(job, name);
    }
  const ends = new Map(); // where chains end: name of the node -> keys
  for (const [job, name] of place) {
    for (const each of all(D.jobs[job][INPUTS])) {
      const from = makers.get(nameOf(each)) || [];
      from.forEach((maker) => place.has(maker) && join(name, place.get(maker)));
      if (name.startsWith("after") && keyOf(each) === key) join(name, "start");
      else if (!from.length && !name.startsWith("after")) end("missing", keyOf(each), name);
    }
    if (!name.startsWith("after")) for (const kind of origins(D.madeBy[D.jobs[job][MADE_BY]])) for (const each of D.madeBy[D.jobs[job][MADE_BY]][kind]) end(kind, keyOf(each), name);
    else if (number === undefined && users.get(key)?.includes(job)) join(name, "start");
  }
  function end(kind, key, name) {
    if (!ends.has(kind)) ends.set(kind, new Set());
    ends.get(kind).add(key);
    join(name, `end ${kind}`);
  }
  const by = new Map();
  for (const [job, name] of place)
    if (!name.startsWith("after"))
      for (const kind of BY) for (const each of D.madeBy[D.jobs[job][MADE_BY]][kind] || []) by.set(keyOf(each), kind);
  for (const [kind, keys] of ends) nodes.set(`end ${kind}`, { items: [...keys].sort(), side: "before", end: kind });
  layers(nodes, [...edges.values()]);
  return [
    el("h2", null, "Lineage"),
    el("p", { class: "soft" }, "Upwards what was made from it, downwards what it was made from, step by step. Every statement lists all that its job read."),
    draw(nodes, steps([...edges.values()]), key),
    madeBy(by),
  ];
}

function walk(from, next) {
  const seen = new Map(from.map((job) => [job, true]));
  for (const job of seen.keys()) next(job).forEach((other) => seen.set(other, true));
  return seen;
}

// A node is as far from the chosen one as the longest way to it; a way back to where it came from does not count.
function layers(nodes, edges) {
  const down = new Map(), up = new Map();
  for (const [from, to] of edges) {
    if (nodes.get(to).side === "before" && nodes.get(from).side !== "after") added(down, from, to);
    if (nodes.get(from).side === "after" && nodes.get(to).side !== "before") added(up, to, from);
  }
  for (const [neighbours, sign] of [[down, 1], [up, -1]]) {
    const order = sorted("start", neighbours);
    const rank = new Map(order.map((name, place) => [name, place]));
    for (const name of order)
      for (const other of neighbours.get(name) || []) {
        const node = nodes.get(other);
        const depth = Math.abs(nodes.get(name).layer) + 1;
        if (rank.get(other) > rank.get(name) && depth > Math.abs(node.layer || 0)) node.layer = sign * depth;
      }
  }
}

// The edges without those that a longer way stands for: a cell's metrics come from its runs by way of its predictions.
function steps(edges) {
  if (edges.length > 300) return edges;
  const kept = new Map(edges.map(([from]) => [from, new Set()]));
  edges.forEach(([from, to]) => kept.get(from).add(to));
  for (const [from, to] of edges) {
    kept.get(from).delete(to);
    if (!walk([from], (name) => [...(kept.get(name) || [])]).has(to)) kept.get(from).add(to);
  }
  return [...kept].flatMap(([from, all]) => [...all].map((to) => [from, to]));
}

// Every name that can be reached, each before those that it leads to, but for ways that lead back.
function sorted(start, neighbours) {
  const done = [], seen = new Set([start]), open = [[start, 0]];
  while (open.length) {
    const top = open[open.length - 1];
    const next = (neighbours.get(top[0]) || [])[top[1]++];
    if (next === undefined) done.push(open.pop()[0]);
    else if (!seen.has(next)) {
      seen.add(next);
      open.push([next, 0]);
    }
  }
  return done.reverse();
}

function draw(nodes, edges, key) {
  const levels = [...new Set([...nodes.values()].map((node) => node.layer ?? 0))].sort((one, other) => one - other);
  const boxes = new Map();
  const graph = el("div", { class: "lineage" });
  for (const level of levels) {
    const here = [...nodes].filter(([, node]) => (node.layer ?? 0) === level);
    const list = el("ul", { "aria-label": level < 0 ? `made from it, ${-level} up` : level ? `what it was made from, ${level} down` : "chosen" });
    for (const [name, node] of here) {
      const box = nodeBox(node, key);
      boxes.set(name, box);
      list.append(box);
    }
    graph.append(list);
  }
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("aria-hidden", "true");
  graph.prepend(svg);
  const redraw = () => connect(svg, graph, boxes, edges);
  new ResizeObserver(redraw).observe(graph);
  graph.addEventListener("toggle", redraw, true);
  return graph;
}

// Code takes part in every step: it stands beside the graph rather than in it.
function madeBy(by) {
  const kinds = [...new Set(by.values())];
  return by.size > 0 && el("div", { class: "all" },
    el("h3", null, "All of it by"),
    kinds.map((kind) => {
      const keys = [...by.keys()].filter((key) => by.get(key) === kind).sort();
      return opening(some(keys.length, kindName(kind)), () => listed(keys, (key) => el("li", null, link(key), aside(known.get(key).map((number) => [" ", digest(thing(number).sha)]))), { class: "plain rows" }));
    }),
  );
}

function nodeBox(node, chosen) {
  if (node.end) {
    const alarm = node.end === "missing" ? " alarm" : "";
    const rows = (items) => items.map((key) => link(key));
    const body = node.items.length === 1
      ? [el("span", { class: "what" }, kindName(node.end)[0]), rows(node.items)]
      : opening(some(node.items.length, kindName(node.end)), () => listed(node.items, (key) => el("li", null, link(key)), null));
    return el("li", { class: `node${alarm}` }, body);
  }
  if (typeof node.items[0] === "string" || node.layer === 0) {
    const job = D.jobs[node.items[0]];
    return el("li", { class: `node chosen ${job ? stage(job) : ""}` }, job && el("span", { class: "what" }, made(job)[0]), el("span", { class: "name", "aria-current": "true" }, shown(chosen.slice(chosen.indexOf("/") + 1))));
  }
  const byName = (one, other) => isAccused(other) - isAccused(one) || (first(one) < first(other) ? -1 : 1);
  const jobs = node.items.map((number) => D.jobs[number]).sort(byName);
  const wrong = jobs.filter(isAccused).length;
  const look = `node ${stage(jobs[0])}${wrong ? " alarm" : ""}`;
  const mark = (number) => number > 0 && [" ", el("span", { class: "mark bad" }, jobs.length > 1 && number > 1 ? `${count(number)} with findings` : "finding")];
  const row = (job) => [fileLink(first(job), shown(called(job))), mark(isAccused(job) ? 1 : 0)];
  if (jobs.length === 1) return el("li", { class: look }, el("span", { class: "what" }, made(jobs[0])[0]), row(jobs[0]));
  return el("li", { class: look }, opening([some(jobs.length, made(jobs[0])), mark(wrong)], () => listed(jobs, (job) => el("li", null, row(job)), null)));
}

// Lines from each node up to what was made from it; those that pass by other nodes go around them, at the right.
function connect(svg, graph, boxes, edges) {
  svg.replaceChildren();
  const corner = graph.getBoundingClientRect();
  const marker = svgEl("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" }, svgEl("path", { d: "M0 0 L8 4 L0 8 z" }));
  svg.append(svgEl("defs", {}, marker));
  const places = new Map();
  for (const [name, box] of boxes) {
    const { left, right, top, bottom } = box.getBoundingClientRect();
    places.set(name, { left: left - corner.left, right: right - corner.left, top: top - corner.top, bottom: bottom - corner.top });
  }
  for (const [made, source] of edges) {
    const upper = places.get(made), lower = places.get(source);
    const between = [...places.values()].filter(({ top, bottom }) => top >= upper.bottom && bottom <= lower.top);
    const [x1, x2] = [(lower.left + lower.right) / 2, (upper.left + upper.right) / 2];
    const tip = { "marker-end": "url(#tip)" };
    if (upper.bottom < lower.top && !between.some(({ left, right }) => left < Math.max(x1, x2) + 8 && right > Math.min(x1, x2) - 8)) {
      const middle = (lower.top + upper.bottom) / 2;
      svg.append(svgEl("path", { d: `M${x1} ${lower.top} C${x1} ${middle} ${x2} ${middle} ${x2} ${upper.bottom + 2}`, ...tip }));
    } else {
      const far = Math.min(Math.max(upper.right, lower.right, ...between.map(({ right }) => right)) + 9 + 5 * between.length, corner.width - 3);
      const [y1, y2] = [(lower.top + lower.bottom) / 2, (upper.top + upper.bottom) / 2];
      const bend = Math.min(18, Math.abs(y1 - y2) / 2) * Math.sign(y1 - y2);
      svg.append(svgEl("path", { class: "far", d: `M${lower.right} ${y1} C${far} ${y1} ${far} ${y1} ${far} ${y1 - bend} L${far} ${y2 + bend} C${far} ${y2} ${far} ${y2} ${upper.right + 2} ${y2}`, ...tip }));
    }
  }
}
function svgEl(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, given] of Object.entries(attributes)) made.setAttribute(name, given);
  made.append(...children);
  return made;
}

// Moving about

const heading = (text) => el("h1", { tabindex: "-1" }, text);
const search = document.getElementById("search");
const main = document.getElementById("main");

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a fragment that somebody typed
  }
}

function keyAt(fragment) {
  const key = fragment.split("/").map(decoded).join("/");
  return halved.get(key) || key;
}

function show(moved) {
  const fragment = location.hash.slice(1);
  const asked = fragment.startsWith("?q=") ? decoded(fragment.slice(3)) : null;
  const view = asked !== null ? searchView(asked) : fragment === "?stale" ? staleView() : fragment ? artifactView(keyAt(fragment)) : overview();
  main.replaceChildren(...view.flat(9).filter(Boolean));
  const title = main.querySelector("h1");
  document.title = visible(fragment ? `${title.textContent} · audit of ${D.title}` : title.textContent);
  history.replaceState({ seen: true }, "");
  if (asked === null || document.activeElement !== search) {
    search.value = asked || "";
    if (moved) title.focus({ preventScroll: true });
  }
}

search.form.addEventListener("submit", (event) => event.preventDefault());
search.addEventListener("input", () => {
  const there = `#?q=${encodeURIComponent(search.value)}`;
  // One entry in the history for a search, not one for each letter.
  if (location.hash.startsWith("#?q=")) history.replaceState(null, "", there);
  else history.pushState(null, "", there);
  show(false);
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
window.addEventListener("popstate", (event) => {
  show(true);
  // On the way back the browser knows where the view was.
  if (!event.state?.seen) window.scrollTo(0, 0);
});
document.querySelector(".home").append(` of ${visible(D.title)}`);
show(false);
