// The views of statements, each drawn on demand.

// Texts that are not the matter itself, names as they are, lists without dots, and verdicts.
const remark = (...text) => el("p", { class: "soft" }, text);
const codeName = (name) => el("code", { class: "name" }, shown(name));
const plainList = (items, row, step) => listed(items, row, { class: "plain rows" }, step);
const mark = (look, text) => el("span", { class: `mark ${look}` }, text);

// What names a job and an artifact

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

function keyAt(fragment) {
  const key = fragment.split("/").map(decoded).join("/");
  return halved.get(key) || key;
}
const link = (key, ...text) =>
  el("a", { href: address(key), class: "name" }, text.length ? text : shown(key.slice(key.indexOf("/") + 1)));
const fileLink = (name, ...text) => link(`${FILE}/${name}`, ...text);
const first = (job) => nameOf(all(job[OUTPUTS])[0]);
// A run is named by its folder, not by its first output.
const called = (job) =>
  job[VERB] === "train" && first(job).includes("/") ? first(job).slice(0, first(job).lastIndexOf("/") + 1) : first(job);
const isAccused = (job) => all(job[OUTPUTS]).some((each) => accused.has(nameOf(each))) || accused.has(job[PATH]);

const faulty = (number) => number > 0 && [" ", mark("bad", number > 1 ? `${count(number)} with findings` : "finding")];

// The first view

function overview() {
  const total = D.findings.reduce((sum, [, list]) => sum + list.length, 0);
  const results = countOf(stale.size, ["result is", "results are"]);
  const verdict = total
    ? `Not clean: ${countOf(total, ["finding", "findings"])} under ${countOf(D.findings.length, ["rule", "rules"])}`
    : D.clean
      ? `Clean: no findings${D.slim}`
      : `Not clean: ${results} stale${D.slim}`;
  return [
    heading(["Audit of ", shown(D.title)]),
    el("div", { class: "card" }, el("p", null, judged(D.clean, verdict)), D.told.map((line) => el("p", null, shown(line)))),
    stale.size > 0 &&
      el(
        "div",
        { class: "verdict old" },
        el("p", { class: "said" }, `${results} stale: made by a different version of the code`),
        el("p", null, el("a", { href: "#stale" }, "Stale results and changed files")),
      ),
    total > 0 &&
      card(
        "Findings",
        D.findings.map(([rule, list]) => [
          el("h3", { id: `rule-${rule}` }, rule, mark("bad", count(list.length))),
          remark(D.rules[rule] || ""),
          listed(list, ([name, what]) => el("li", null, suspect(name), ": ", el("span", null, shown(what))), { class: "findings" }, 50),
        ]),
      ),
    card("Artifacts", remark("Start at a figure or table and follow it down to the data, or open any file."), shelves()),
    card(
      "Rules",
      remark("A rule without findings holds for all results."),
      el("dl", { class: "rules" }, Object.entries(D.rules).map(([rule, says]) => pair(rule, shown(says)))),
    ),
  ];
}

// The subject of a finding: a file, a statement (of a file), or something else with a name.
function suspect(name) {
  const job = D.jobs[statements.get(name)];
  if (onDisk.has(name) || makers.has(name)) return fileLink(name);
  return job ? fileLink(first(job), shown(name)) : codeName(name);
}

function shelves() {
  const byVerb = new Map();
  D.jobs.forEach((job) => added(byVerb, job[VERB], job));
  const order = [...Object.keys(MADE), ...byVerb.keys()].filter(
    (verb, place, list) => list.indexOf(verb) === place && byVerb.has(verb),
  );
  const unstated = names.filter((name) => !makers.has(name));
  return [
    order.map((verb) => {
      const jobs = byVerb.get(verb).sort((a, b) => (first(a) < first(b) ? -1 : 1));
      const summary = [countOf(jobs.length, made(jobs[0])), faulty(jobs.filter(isAccused).length)];
      return opening(summary, () => plainList(jobs, shelf), { open: verb === "render" });
    }),
    unstated.length > 0 &&
      opening(countOf(unstated.length, ["file without a statement", "files without a statement"]), () =>
        plainList(unstated, (name) => el("li", null, fileLink(name), sideNote(bytes(onDisk.get(name))))),
      ),
  ];
}

function shelf(job) {
  const outputs = [...new Set(all(job[OUTPUTS]).map(nameOf))];
  const folder = outputs[0].slice(0, outputs[0].lastIndexOf("/") + 1);
  const stem = outputs[0].replace(/\.[^./]*$/, "");
  const short = (name) =>
    name.startsWith(`${stem}.`) ? name.slice(stem.length) : name.startsWith(folder) ? name.slice(folder.length) : name;
  return oneStop(
    el(
      "li",
      null,
      fileLink(outputs[0]),
      outputs.slice(1).map((name) => fileLink(name, shown(short(name)))),
      faulty(isAccused(job) ? 1 : 0),
      sideNote(seconds(job)),
    ),
  );
}

function staleView() {
  return [
    heading("Stale results"),
    el(
      "p",
      null,
      "These results were made by a different version of the code. They match their statements. ",
      "Made again, they may differ.",
    ),
    D.stale.map(([changed, names]) =>
      card(
        countOf(names.length, ["result", "results"]),
        opening(
          `${countOf(changed.length, ["file has", "files have"])} changed since`,
          () => listed(changed, (name) => el("li", null, codeName(name))),
          { open: changed.length <= 5 },
        ),
        plainList(names, (name) => el("li", null, suspect(name)), 100),
      ),
    ),
  ];
}

// Search

function searchView(asked) {
  const words = asked.toLowerCase().split(/\s+/).filter(Boolean);
  const hex = /^[0-9a-f]{4,64}$/.test(asked.trim().toLowerCase()) ? asked.trim().toLowerCase() : "";
  const hits = searchable.filter((key) => {
    const name = key.toLowerCase();
    return (
      words.every((word) => name.includes(word)) ||
      (hex && (known.get(key) || []).some((number) => D.things.sha256[number].startsWith(hex)))
    );
  });
  const status = words.length
    ? `${count(hits.length)} of ${count(searchable.length)} names of files match.`
    : "Enter parts of a name, or the start of a SHA-256.";
  const row = (key) => {
    const number = known.get(key)?.[0];
    const kind = key.slice(0, key.indexOf("/"));
    const sha = number !== undefined ? digest(thing(number).sha) : "";
    return el("li", null, link(key), kind !== FILE && el("span", { class: "soft" }, kind), sideNote(sha));
  };
  return [el("p", { role: "status" }, status), hits.length > 0 && card("Files", plainList(hits, row, 100))];
}

// An artifact

function artifactView(key) {
  const kind = key.slice(0, key.indexOf("/"));
  const name = key.slice(key.indexOf("/") + 1);
  const versions = known.get(key) || [];
  const isHere = kind === FILE && onDisk.has(name);
  if (!versions.length && !isHere)
    return [
      heading("No artifact of this name"),
      el("p", null, "No file and no statement here has the name ", codeName(name), "."),
    ];
  const jobs = kind === FILE ? makers.get(name) || [] : [];
  const stated = jobs.flatMap((number) => all(D.jobs[number][OUTPUTS]).filter((each) => nameOf(each) === name));
  // An artifact is stale if the first output of its job is.
  const old = jobs.map((number) => stale.get(first(D.jobs[number]))).find(Boolean);
  const findings = accused.get(name) || jobs.flatMap((number) => accused.get(D.jobs[number][PATH]) || []);
  return [
    heading(shown(name)),
    el("p", null, marks(kind, isHere, jobs, findings)),
    findings.length > 0 &&
      el(
        "div",
        { class: "verdict bad" },
        findings.map(({ rule, what }) => el("p", null, el("strong", null, rule), ": ", shown(what))),
      ),
    old &&
      el(
        "div",
        { class: "verdict old" },
        opening("Stale: made by a different version of the code", () => listed(old, (each) => el("li", null, codeName(each)))),
      ),
    el("dl", null, identity(kind === FILE && stated.length ? stated : versions, kind, name)),
    el(
      "div",
      { class: "artifact" },
      el(
        "section",
        { class: "card" },
        jobs.length || kind !== FILE || users.has(key)
          ? lineage(key, jobs[0])
          : remark("No statement lists this file as an output, so its origin is unknown."),
      ),
      el("div", null, jobs.map((number) => statement(D.jobs[number])), kind !== FILE && usedBy(key)),
    ),
  ];
}

function marks(kind, isHere, jobs, findings) {
  const about = [];
  if (kind !== FILE) about.push(["", kindName(kind)[0]]);
  else if (!isHere) about.push(["bad", "not in the folder"]);
  else if (findings.length) about.push(["bad", countOf(findings.length, ["finding", "findings"])]);
  else if (jobs.length === 1) about.push(["good", "no finding"]);
  if (kind === FILE && !jobs.length) about.push(["bad", "no statement"]);
  if (jobs.length > 1) about.push(["bad", `listed as an output by ${jobs.length} statements`]);
  return about.map(([look, text]) => [mark(look, text), " "]);
}

// One line per version in the statements. More than one is a contradiction, made visible here.
function identity(versions, kind, name) {
  const distinct = new Map(versions.map((number) => [thing(number).sha, thing(number)]));
  const rows = [...distinct.values()].map((version) => [
    pair(kind === "commit" ? "Commit" : "SHA-256", digest(version.sha, 64)),
    version.size !== null && pair("Size", exactly(version.size)),
    version.uri && pair("From", outside(version.uri)),
  ]);
  const size = onDisk.get(name);
  const differs = kind === FILE && size !== undefined && ![...distinct.values()].some((version) => version.size === size);
  return [rows, differs && pair("Size on disk", exactly(size))];
}
const exactly = (size) => (size < 1000 ? bytes(size) : `${bytes(size)} (${count(size)} bytes)`);

// Only web addresses become links.
function outside(uri) {
  return /^https:\/\/[\w.-]+\/\S*$/.test(uri)
    ? el("a", { href: uri, rel: "noreferrer noopener" }, shown(uri))
    : el("span", null, shown(uri));
}

function usedBy(key) {
  const jobs = usersOf(key).map((number) => D.jobs[number]);
  return card(`Used by ${countOf(jobs.length, ["job", "jobs"])}`, plainList(jobs, shelf));
}

// A statement

function statement(job) {
  const says = Object.hasOwn(D.says, job[VERB]) && D.says[job[VERB]];
  const observed = new Map(Object.entries(value(job[OBSERVED])));
  const inputs = Object.entries(job[INPUTS]);
  const by = D.madeBy[job[MADE_BY]];
  return card(
    "Statement",
    el(
      "p",
      null,
      el("strong", null, job[VERB]),
      says ? ` (${says})` : "",
      " on ",
      moment(job[STARTED]),
      `, in ${seconds(job)}`,
      observed.has("host") && [" on ", el("strong", null, tree(observed.get("host")))],
      ".",
    ),
    el("h3", null, "Outputs"),
    el("ul", { class: "plain rows" }, all(job[OUTPUTS]).map(fileRow)),
    el("h3", null, "Inputs"),
    !inputs.length && !origins(by).length && remark("No files, only parameters."),
    inputs.map(([role, files]) => fileGroup(role, files, files.length <= 8)),
    origins(by).map((kind) => fileGroup(countOf(by[kind].length, kindName(kind)), by[kind], by[kind].length <= 8)),
    el("h3", null, "Parameters"),
    tree(value(job[PARAMETERS])),
    el("h3", null, "Machine"),
    machine(observed, value(job[VERSIONS])),
    opening("All observations", () => tree(value(job[OBSERVED]))),
    el("h3", null, "Code"),
    BY.filter((kind) => by[kind] && kind !== "commit").map((kind) =>
      fileGroup(countOf(by[kind].length, kindName(kind)), by[kind], false),
    ),
    (by.commit || []).map((number) =>
      el(
        "p",
        null,
        "Commit ",
        link(keyOf(number), digest(thing(number).sha)),
        job[CHANGES] === "unknown"
          ? ", with unknown changes: git did not answer"
          : job[CHANGES]
            ? [", with uncommitted changes (SHA-256 of the diff: ", digest(job[CHANGES]), ")"]
            : ", without uncommitted changes",
      ),
    ),
    !by.commit && remark(job[CHANGES] ? "Unknown commit: git did not answer." : "No commit: the code was not in a repository."),
    remark("Statement: ", codeName(job[PATH])),
  );
}

function fileGroup(role, files, open) {
  const title = files.length > 1 && !/^\d/.test(role) ? [shown(role), `: ${count(files.length)} files`] : shown(role);
  return opening(title, () => plainList(files, fileRow), { open });
}

function fileRow(number) {
  const file = thing(number);
  const makersOf = file.kind === FILE ? makers.get(file.name) || [] : [];
  const differs =
    makersOf.length &&
    !makersOf.some((job) =>
      all(D.jobs[job][OUTPUTS]).some((each) => nameOf(each) === file.name && thing(each).sha === file.sha),
    );
  return el(
    "li",
    null,
    link(keyOf(number)),
    differs && mark("bad", "differs from its own statement"),
    sideNote(file.size !== null && `${bytes(file.size)} · `, digest(file.sha)),
  );
}

// What is shown of a machine; the keys in a statement are the same in small letters.
const SHOWN = [
  ...["Host", "Device", "Precision", "Deterministic", "Driver", "CUDA", "cuDNN", "CPU", "Cores"],
  ...["Memory, MiB", "System", "Slurm", "Versions"],
];
function machine(observed, versions) {
  const rows = SHOWN.map((label) => [label, observed.get(label.toLowerCase().replace(", ", "_"))]);
  const present = rows.filter(([, value]) => value !== undefined && value !== null && value !== "" && !isEmpty(value));
  return el("dl", null, present.map(([label, value]) => pair(label, inline(value))), pair("Recorded by", inline(versions)));
}
const inline = (node) =>
  isNested(node) && !Array.isArray(node) && !Object.values(node).some(isNested)
    ? Object.entries(node).map(([key, item], place) => [place ? ", " : "", shown(key), " ", shown(item)])
    : tree(node);
