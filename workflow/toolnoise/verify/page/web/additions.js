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
