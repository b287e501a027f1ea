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
  facts: () => pair("Ran on", later("audit", (audit) => audit.ran_on.map(line))),
  verdict: () => later("audit", verdictOfAudit),
  ofFile: (name) => el("a", { href: address(`${FILE}/${name}`) }, "Statement and lineage"),
  ofCell: (key) => card("Statements", el("ul", { class: "plain rows" }, [`metrics/cells/${key}.csv`, `predictions/${key}.npy`].map((file) => el("li", null, fileLink(file))))),
  ofRun: (key, seed) => [
    el("h2", null, "Statement and lineage"),
    withStatements(() => artifactView(`${FILE}/runs/${key}/${seed}/weights.npz`).slice(1)),
  ],
});

function verdictOfAudit({ clean, slim, findings, stale: old, says, left_out: absent }) {
  const verdict = clean ? `Audit: clean${slim}` : `Audit: not clean, ${countOf(findings, ["finding", "findings"])}`;
  return el(
    "div",
    { class: `verdict ${clean ? "good" : "bad"}` },
    el("p", { class: "said" }, el("a", { href: "#audit" }, verdict), old ? `; ${countOf(old, ["result is", "results are"])} stale: other code made them` : ""),
    says.map(line),
    absent.length > 0 && el("p", null, `Left out of this copy, because they name somebody or were not there: ${absent.join(", ")}`),
  );
}

if (S.study) document.querySelector("nav").append(el("a", { href: "#audit" }, "Audit"));
else {
  additions.views[""] = additions.views.audit;
  document.querySelector("nav").remove();
}
