// Navigation: the address determines the view and its state, so that each can be bookmarked, sent and returned to.

const search = document.getElementById("search");
const main = document.getElementById("main");

// The query of an address as a Map, and back.
const queryOf = (text) => new Map(new URLSearchParams(text));
const queryText = (state) => new URLSearchParams([...state].filter(([, value]) => value)).toString();

function viewOf(path, state, change) {
  if (!path && state.has("q")) {
    const found = foundCells(state.get("q"));
    return additions.search ? [found, additions.search(state.get("q"))] : [heading("Search"), found || "No cell has such a name."];
  }
  const [kind, ...names] = path.split("/").map(decoded);
  const cell = (from) => names.slice(from, from + 4).join("/");
  const ofStudy = {
    "": () => findingsView(state, change),
    tables: tablesView,
    table: () => tableFileView(names.join("/"), state, change),
    figures: figuresView,
    figure: () => oneFigure(names.join("/")),
    claims: claimsView,
    compare: () => compareView(state),
    cell: () => cellView(cell(0)),
    run: () => runView(cell(0), Number(names[4])),
    beside: () => besideView(cell(0), Number(names[4]), cell(5), Number(names[9])),
  };
  const views = { ...(S.study && ofStudy), ...additions.views };
  if (Object.hasOwn(views, kind)) return views[kind]();
  return additions.otherView?.(path) ?? heading("No view of this name");
}

function foundCells(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = [...cells.values()].filter(({ cell }) => words.every((word) => `${cellKey(cell)} ${cellName(cell)}`.toLowerCase().includes(word)));
  return words.length > 0 && hits.length > 0 && card(`Cells: ${count(hits.length)}`, listed(hits, ({ cell }) => el("li", null, el("a", { href: cellAddress(cell) }, cellName(cell))), { class: "plain rows" }, 20));
}

function show(moved) {
  const [path, query = ""] = location.hash.slice(1).split(/\?(.*)/s);
  const state = queryOf(query);
  const change = () => history.replaceState({ seen: true }, "", `#${path}${state.size ? `?${queryText(state)}` : ""}`);
  main.replaceChildren(...[viewOf(path, state, change)].flat(9).filter(Boolean));
  settle(moved, path, state);
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === `#${path}`) link.setAttribute("aria-current", "page");
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
  document.title = visible(isFirst ? title.textContent : `${title.textContent} · ${S.study || S.title}`);
  history.replaceState({ seen: true }, "");
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
window.addEventListener("popstate", (event) => {
  show(true);
  // When going back, the browser restores the scroll position.
  if (!event.state?.seen) window.scrollTo(0, 0);
});
document.querySelector(".home").textContent = visible(S.study || S.title);
show(false);
