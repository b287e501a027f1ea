// Navigation: the address determines the view and its state, so that each can be bookmarked, sent and returned to.

const search = document.getElementById("search");
const main = document.getElementById("main");

// The query of an address as a Map, and back.
const queryOf = (text) => new Map(new URLSearchParams(text));
const queryText = (state) => new URLSearchParams([...state].filter(([, value]) => value)).toString();

function viewOf(path, state, change) {
  if (!path && state.has("q")) {
    const words = state.get("q").toLowerCase().split(/\s+/).filter(Boolean);
    return [heading(words.length ? ["Search: ", shown(state.get("q"))] : "Search"), words.length > 0 && found(words)];
  }
  const [kind, ...names] = path.split("/").map(decoded);
  const cell = (from) => names.slice(from, from + 4).join("/");
  const views = {
    "": findingsView,
    cells: () => cellsView(state, change),
    table: () => tableFileView(names.join("/"), state, change),
    figures: figuresView,
    figure: () => oneFigure(names.join("/")),
    cell: () => cellView(cell(0)),
    run: () => runView(cell(0), Number(names[4])),
    beside: () => besideView(cell(0), Number(names[4]), cell(5), Number(names[9])),
    ...viewsOfStudy,
  };
  if (Object.hasOwn(views, kind)) return views[kind](names, state);
  return heading("No view of this name");
}

// What has all of the words, or for a number the entries that begin with it: 4.8 finds 4.82, and 4 no 4.8.
function found(words) {
  const has = (...texts) => words.every((word) => texts.join(" ").toLowerCase().includes(word));
  const asked = words.length === 1 && /^-?\d[\d.]*$/.test(words[0]) && words[0];
  const isAsked = (text) => text === asked || (asked.includes(".") && text.startsWith(asked));
  const group = (title, items, row) => items.length > 0 && card(`${title}: ${count(items.length)}`, listed(items, (item) => el("li", null, row(item)), { class: "plain rows" }, 10));
  const to = (href, text, ...aside) => [el("a", { href }, text), aside.length > 0 && el("span", { class: "soft" }, aside)];
  const entries = asked ? S.cells.flatMap(({ cell, values }) => Object.entries(values).map(([name, value]) => ({ cell, name, ...entryOf(measure(name), value) }))) : [];
  const inTables = (all) => (asked ? Object.entries(all).map(([name, table]) => [name, table, table.rows.filter((row) => row.some((value, place) => isAsked(entryOf(table.columns[place], value).text.split(" ")[0])))]).filter(([, , rows]) => rows.length) : []);
  return [
    group("Measures", asked ? [] : Object.entries(S.measures).filter(([name, [label]]) => has(name, label) && S.cells.some(({ values }) => name in values)), ([name, [label, unit]]) => to(`#cells?${queryText(new Map([["sort", name], ["down", "1"], ["columns", `model,dataset,hardware,variant,${name}`]]))}`, label, unit)),
    group("Numbers", entries.filter(({ text, detail }) => `${text} ${detail}`.split(/[ ·]+/).some(isAsked)), ({ cell, name, text, detail }) => to(cellAddress(cell), `${measure(name).label} ${text} ${measure(name).unit}`, `${detail}; ${cellName(cell)}`)),
    asked && later("tables", (all) => group("Rows of tables", inTables(all), ([name, table, rows]) => to(`${tableAddress(name)}?${queryText(new Map([["has", asked]]))}`, shown(table.title), countOf(rows.length, ["row", "rows"])))),
    group("Cells", S.cells.filter(({ cell }) => has(cellKey(cell), cellName(cell))), ({ cell }) => to(cellAddress(cell), cellName(cell))),
    group("Figures and tables", S.figures.filter(({ name, title, caption }) => has(name, title, caption)), ({ name, title, picture }) => to(picture ? address(`figure/${name}`) : tableAddress(name), shown(title), name)),
    group("Claims", S.claims.flatMap(({ paper, claims }, at) => claims.map((claim, place) => ({ ...claim, paper, href: `#claims/${at}/${place}` }))).filter(({ paper, says, here, published }) => has(paper, says, here, published)), ({ href, says, verdict, paper }) => to(href, shown(says), `${verdict}; ${paper}`)),
  ];
}

// The tab of a view that has none of its own.
const TABS = { figure: "figures", table: "figures", cell: "cells", run: "cells", beside: "cells" };
const remember = (what) => history.replaceState({ ...history.state, seen: true, ...what }, "");
function show(moved) {
  const [path, query = ""] = location.hash.slice(1).split(/\?(.*)/s);
  const state = queryOf(query);
  const change = () => history.replaceState(history.state, "", `#${path}${state.size ? `?${queryText(state)}` : ""}`);
  main.replaceChildren(...[viewOf(path, state, change)].flat(9).filter(Boolean));
  settle(moved, path, state);
  const kind = path.split("/")[0];
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === `#${state.has("q") ? "?" : TABS[kind] || kind}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

// The title and the focus follow the view's heading, which may come with its data.
function settle(moved, path, state) {
  const title = main.querySelector("h1");
  if (!title) {
    new MutationObserver((_, observer) => {
      if (main.querySelector("h1")) {
        observer.disconnect();
        settle(moved, path, state);
      }
    }).observe(main, { childList: true, subtree: true });
    return;
  }
  const isFirst = !path && !state.has("q");
  document.title = visible(isFirst ? title.textContent : `${title.textContent} · ${S.study}`);
  remember();
  if (!state.has("q") || document.activeElement !== search) {
    search.value = state.get("q") || "";
    if (moved) title.focus({ preventScroll: true });
  }
}

search.form.addEventListener("submit", (event) => event.preventDefault());
search.addEventListener("input", () => {
  const searchHash = `#?q=${encodeURIComponent(search.value)}`;
  // One history entry per search, not per letter.
  if (location.hash.startsWith("#?q=")) history.replaceState(null, "", searchHash);
  else history.pushState(null, "", searchHash);
  show(false);
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
// Back keeps the place: where the view was, and the link that was followed. Data may come later and move both.
history.scrollRestoration = "manual";
let waiting;
window.addEventListener("scroll", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => remember({ y: scrollY }), 100);
}, { passive: true });
main.addEventListener("click", ({ target }) => {
  const link = target.closest("a[href^='#']");
  if (link) remember({ y: scrollY, link: link.getAttribute("href") });
}, { capture: true });
function restore({ y = 0, link } = {}) {
  const put = () => {
    window.scrollTo(0, y);
    const followed = link && main.querySelector(`a[href="${CSS.escape(link)}"]`);
    if (followed && !main.contains(document.activeElement?.closest("a"))) followed.focus({ preventScroll: true });
    return Math.abs(scrollY - y) < 2 && (!link || followed);
  };
  if (put()) return;
  const observer = new MutationObserver(() => put() && observer.disconnect());
  observer.observe(main, { childList: true, subtree: true });
  for (const moved of ["wheel", "keydown", "pointerdown"]) window.addEventListener(moved, () => observer.disconnect(), { once: true });
}
window.addEventListener("popstate", (event) => {
  clearTimeout(waiting);
  const was = event.state;
  show(true);
  restore(was || {});
});
document.querySelector(".home").textContent = visible(S.study);
const before = history.state;
show(false);
restore(before || {});
