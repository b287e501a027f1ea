// What the claims of papers add to a study's page: their verdicts, and a count of these on the first view.

function tally({ paper, claims }, place) {
  const counts = new Map();
  for (const { verdict } of claims) if (verdict !== "cannot fail") counts.set(verdict, (counts.get(verdict) || 0) + 1);
  const said = [...counts].map(([verdict, number]) => `${number} ${verdict}`).join(", ");
  return `${place ? "; " : ""}${paper}: ${said || "none judged"}`;
}

// The claim of an address, a paper and a place among its claims, is brought into sight.
function claimsView(names) {
  const chosen = names.join("/");
  const claim = ({ says, verdict, here, published }, address) => {
    const look = verdict === "supported" ? "good" : verdict === "refuted" ? "bad" : "";
    const place = el("div", { class: `claim ${address === chosen ? "chosen" : ""}` }, el("p", null, el("strong", null, `${says}.`), " ", el("span", { class: `mark ${look}` }, verdict)), el("p", null, shown(here)), published && el("p", { class: "soft" }, "Published: ", shown(published)));
    if (address === chosen) requestAnimationFrame(() => place.scrollIntoView({ block: "center" }));
    return place;
  };
  return [
    heading("Claims"),
    S.claims.length === 0 && el("p", null, "No verdicts yet."),
    S.claims.map((claimed, paper) => card([shown(claimed.paper), " ", el("span", { class: "soft" }, tally(claimed, 0).slice(claimed.paper.length + 2))], claimed.claims.map((one, place) => claim(one, `${paper}/${place}`)))),
  ];
}

factsOfStudy.push(() => S.claims.length > 0 && pair("Claims of papers", S.claims.map(tally), " ", el("a", { href: "#claims" }, "All claims")));
viewsOfStudy.claims = claimsView;
