// Navigation: the address determines the view, so that a view can be bookmarked, shared and returned to.

const search = document.getElementById("search");
const main = document.getElementById("main");

function show(moved) {
  const fragment = location.hash.slice(1);
  const asked = fragment.startsWith("?q=") ? decoded(fragment.slice(3)) : null;
  const view =
    asked !== null
      ? searchView(asked)
      : fragment === "?stale"
        ? staleView()
        : fragment
          ? artifactView(keyAt(fragment))
          : overview();
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
  // One history entry per search, not per letter.
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
  // When going back, the browser restores the scroll position.
  if (!event.state?.seen) window.scrollTo(0, 0);
});
index(unpacked(JSON.parse(document.getElementById("data").textContent)));
document.querySelector(".home").append(` of ${visible(D.title)}`);
show(false);
