// The views of the page, each drawn on demand.

// The first view

function overview() {
  const found = D.findings.reduce((sum, [, list]) => sum + list.length, 0);
  const results = some(stale.size, ["result is", "results are"]);
  const verdict = found
    ? `Not clean: ${some(found, ["finding", "findings"])} under ${some(D.findings.length, ["rule", "rules"])}`
    : D.clean
      ? `Clean: no findings${D.slim}`
      : `Not clean: ${results} stale${D.slim}`;
  return [
    heading(["Audit of ", shown(D.title)]),
    el(
      "div",
      { class: `verdict ${D.clean ? "good" : "bad"}` },
      el("p", { class: "said" }, verdict),
      D.told.map((line) => el("p", null, shown(line))),
    ),
    stale.size > 0 &&
      el(
        "div",
        { class: "verdict old" },
        el("p", { class: "said" }, `${results} stale: made by a different version of the code`),
        el("p", null, el("a", { href: "#?stale" }, "Stale results and changed files")),
      ),
    found > 0 &&
      card(
        "Findings",
        D.findings.map(([rule, list]) => [
          el("h3", { id: `rule-${rule}` }, rule, el("span", { class: "mark bad" }, count(list.length))),
          el("p", { class: "soft" }, D.rules[rule] || ""),
          listed(
            list,
            ([name, what]) => el("li", null, suspect(name), ": ", el("span", null, shown(what))),
            { class: "findings" },
            50,
          ),
        ]),
      ),
    card(
      "Artifacts",
      el("p", { class: "soft" }, "Start at a figure or table and follow it down to the data, or open any file."),
      shelves(),
    ),
    card(
      "Rules",
      el("p", { class: "soft" }, "A rule without findings holds for all results."),
      el("dl", { class: "rules" }, Object.entries(D.rules).map(([rule, says]) => pair(rule, shown(says)))),
    ),
  ];
}

// The subject of a finding: a file, a statement (of a file), or something else with a name.
function suspect(name) {
  const job = D.jobs[statements.get(name)];
  if (onDisk.has(name) || makers.has(name)) return fileLink(name);
  return job ? fileLink(first(job), shown(name)) : el("code", { class: "name" }, shown(name));
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
      const jobs = byVerb.get(verb).sort((one, other) => (first(one) < first(other) ? -1 : 1));
      return opening(
        [some(jobs.length, made(jobs[0])), faulty(jobs.filter(isAccused).length)],
        () => listed(jobs, shelf, { class: "plain rows" }),
        { open: verb === "render" },
      );
    }),
    unstated.length > 0 &&
      opening(some(unstated.length, ["file without a statement", "files without a statement"]), () =>
        listed(unstated, (name) => el("li", null, fileLink(name), aside(bytes(onDisk.get(name)))), {
          class: "plain rows",
        }),
      ),
  ];
}

const aside = (...text) => el("span", { class: "aside" }, text);
function shelf(job) {
  const outputs = [...new Set(all(job[OUTPUTS]).map(nameOf))];
  const folder = outputs[0].slice(0, outputs[0].lastIndexOf("/") + 1);
  const stem = outputs[0].replace(/\.[^./]*$/, "");
  const short = (name) =>
    name.startsWith(`${stem}.`) ? name.slice(stem.length) : name.startsWith(folder) ? name.slice(folder.length) : name;
  return el(
    "li",
    null,
    fileLink(outputs[0]),
    outputs.slice(1).map((name) => fileLink(name, shown(short(name)))),
    faulty(isAccused(job) ? 1 : 0),
    aside(seconds(job)),
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
        some(names.length, ["result", "results"]),
        opening(
          `${some(changed.length, ["file has", "files have"])} changed since`,
          () => listed(changed, (name) => el("li", null, el("code", { class: "name" }, shown(name)))),
          { open: changed.length <= 5 },
        ),
        listed(names, (name) => el("li", null, suspect(name)), { class: "plain rows" }, 100),
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
  return [
    heading(words.length ? ["Search: ", shown(asked)] : "Search"),
    el(
      "p",
      { role: "status" },
      words.length
        ? `${count(hits.length)} of ${count(searchable.length)} names match.`
        : "Enter parts of a name, or the start of a SHA-256.",
    ),
    words.length > 0 &&
      el(
        "section",
        { class: "card" },
        listed(
          hits,
          (key) => {
            const number = known.get(key)?.[0];
            const kind = key.slice(0, key.indexOf("/"));
            return el(
              "li",
              null,
              link(key),
              kind !== FILE && el("span", { class: "soft" }, kind),
              aside(number !== undefined ? digest(thing(number).sha) : ""),
            );
          },
          { class: "plain rows" },
          100,
        ),
      ),
  ];
}

// An artifact

function artifactView(key) {
  const kind = key.slice(0, key.indexOf("/"));
  const name = key.slice(key.indexOf("/") + 1);
  const versions = known.get(key) || [];
  const there = kind === FILE && onDisk.has(name);
  if (!versions.length && !there)
    return [
      heading("No artifact of this name"),
      el("p", null, "No file and no statement here has the name ", el("code", { class: "name" }, shown(name)), "."),
    ];
  const jobs = kind === FILE ? makers.get(name) || [] : [];
  const stated = jobs.flatMap((number) => all(D.jobs[number][OUTPUTS]).filter((each) => nameOf(each) === name));
  // An artifact is stale if the first output of its job is.
  const old = jobs.map((number) => stale.get(first(D.jobs[number]))).find(Boolean);
  const findings = accused.get(name) || jobs.flatMap((number) => accused.get(D.jobs[number][PATH]) || []);
  return [
    heading(shown(name)),
    el("p", null, marks(kind, there, jobs, findings)),
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
        opening("Stale: made by a different version of the code", () =>
          listed(old, (each) => el("li", null, el("code", { class: "name" }, shown(each)))),
        ),
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
          : el("p", { class: "soft" }, "No statement lists this file as an output, so its origin is unknown."),
      ),
      el("div", null, jobs.map((number) => statement(D.jobs[number])), kind !== FILE && usedBy(key)),
    ),
  ];
}

function marks(kind, there, jobs, findings) {
  const about = [];
  if (kind !== FILE) about.push(["", kindName(kind)[0]]);
  else if (!there) about.push(["bad", "not in the folder"]);
  else if (findings.length) about.push(["bad", some(findings.length, ["finding", "findings"])]);
  else if (jobs.length === 1) about.push(["good", "no finding"]);
  if (kind === FILE && !jobs.length) about.push(["bad", "no statement"]);
  if (jobs.length > 1) about.push(["bad", `listed as an output by ${jobs.length} statements`]);
  return about.map(([look, text]) => [el("span", { class: `mark ${look}` }, text), " "]);
}

// One line per version in the statements. More than one is a contradiction, made visible here.
function identity(versions, kind, name) {
  const distinct = new Map(versions.map((number) => [thing(number).sha, thing(number)]));
  const rows = [...distinct.values()].map((one) => [
    pair(kind === "commit" ? "Commit" : "SHA-256", digest(one.sha, 64)),
    one.size !== null && pair("Size", exactly(one.size)),
    one.uri && pair("From", outside(one.uri)),
  ]);
  const size = onDisk.get(name);
  const differs = kind === FILE && size !== undefined && ![...distinct.values()].some((one) => one.size === size);
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
  return card(`Used by ${some(jobs.length, ["job", "jobs"])}`, listed(jobs, shelf, { class: "plain rows" }));
}

// A statement

function statement(job) {
  const says = Object.hasOwn(D.says, job[VERB]) && D.says[job[VERB]];
  const observed = new Map(value(job[OBSERVED]).map((one) => [one.key, one.value]));
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
    !inputs.length && !origins(by).length && el("p", { class: "soft" }, "No files, only parameters."),
    inputs.map(([role, files]) => fileGroup(role, files, files.length <= 8)),
    origins(by).map((kind) => fileGroup(some(by[kind].length, kindName(kind)), by[kind], by[kind].length <= 8)),
    el("h3", null, "Parameters"),
    tree(value(job[PARAMETERS])),
    el("h3", null, "Machine"),
    machine(observed, value(job[VERSIONS])),
    opening("All observations", () => tree(value(job[OBSERVED]))),
    el("h3", null, "Code"),
    BY.filter((kind) => by[kind] && kind !== "commit").map((kind) =>
      fileGroup(some(by[kind].length, kindName(kind)), by[kind], false),
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
    !by.commit && el("p", { class: "soft" }, job[CHANGES] ? "Unknown commit: git did not answer." : "No commit: the code was not in a repository."),
    el("p", { class: "soft" }, "Statement: ", el("code", { class: "name" }, shown(job[PATH]))),
  );
}

function fileGroup(role, files, open) {
  const title = files.length > 1 && !/^\d/.test(role) ? [shown(role), `: ${count(files.length)} files`] : shown(role);
  return opening(title, () => listed(files, fileRow, { class: "plain rows" }), { open });
}

function fileRow(number) {
  const one = thing(number);
  const makersOf = one.kind === FILE ? makers.get(one.name) || [] : [];
  const other =
    makersOf.length &&
    !makersOf.some((job) =>
      all(D.jobs[job][OUTPUTS]).some((each) => nameOf(each) === one.name && thing(each).sha === one.sha),
    );
  return el(
    "li",
    null,
    link(keyOf(number)),
    other && el("span", { class: "mark bad" }, "differs from its own statement"),
    aside(one.size !== null && `${bytes(one.size)} · `, digest(one.sha)),
  );
}

// Values of a statement as nested lists. An object is a list of {key, value}, so its keys never become properties.
const isObject = (node) =>
  Array.isArray(node) && node.length > 0 && node[0] !== null && typeof node[0] === "object" && "key" in node[0];
const isFlat = (node) => !Array.isArray(node) || (!isObject(node) && node.every((one) => !Array.isArray(one)));
function tree(node, depth = 0) {
  if (node === "") return el("span", { class: "soft" }, "(empty)");
  if (!Array.isArray(node)) return el("span", null, shown(node === null ? "none" : node));
  if (!node.length) return el("span", { class: "soft" }, "none");
  if (isObject(node)) {
    const inLine = depth > 0 && node.every((one) => isFlat(one.value));
    return el(
      "dl",
      { class: inLine ? "pairs" : null },
      node.map((one) => el("div", null, el("dt", null, shown(one.key)), el("dd", null, tree(one.value, depth + 1)))),
    );
  }
  if (isFlat(node))
    return el("span", null, node.map((one, place) => [place ? ", " : "", shown(one === null ? "none" : one)]));
  return el("ul", null, node.map((one) => el("li", null, tree(one, depth + 1))));
}

// What is shown of a machine; the keys in a statement are the same in small letters.
const SHOWN = [
  ...["Host", "Device", "Precision", "Deterministic", "Driver", "CUDA", "cuDNN", "CPU", "Cores"],
  ...["Memory, MiB", "System", "Slurm", "Versions"],
];
function machine(observed, versions) {
  const rows = SHOWN.map((label) => [label, observed.get(label.toLowerCase().replace(", ", "_"))]);
  const found = rows.filter(([, value]) => value !== undefined && value !== null && value !== "" && value.length !== 0);
  return el("dl", null, found.map(([label, value]) => pair(label, inline(value))), pair("Recorded by", inline(versions)));
}
const inline = (node) =>
  Array.isArray(node) && node.every((one) => one && "key" in Object(one) && !Array.isArray(one.value))
    ? node.map((one, place) => [place ? ", " : "", shown(one.key), " ", shown(one.value)])
    : tree(node);
