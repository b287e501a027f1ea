// What a point or a bar shows when the pointer or the focus is on it: its values, in a box beside it.

const told = el("div", { class: "told", hidden: true, "aria-hidden": "true" });
document.body.append(told);

// Above the place, a rectangle of the window, and within the window; below it where there is no room.
function tell(text, place) {
  told.textContent = text;
  told.hidden = false;
  const { width, height } = told.getBoundingClientRect();
  const left = (place.left + place.right) / 2 - width / 2;
  const above = place.top - height - 8;
  told.style.left = `${Math.max(4, Math.min(left, document.documentElement.clientWidth - width - 4))}px`;
  told.style.top = `${above < 4 ? place.bottom + 8 : above}px`;
}
const hush = () => (told.hidden = true);

for (const [on, off] of [["pointerover", "pointerout"], ["focusin", "focusout"]]) {
  document.addEventListener(on, ({ target }) => {
    const teller = target.closest?.("[data-told]");
    if (teller) tell(teller.dataset.told, teller.getBoundingClientRect());
  });
  document.addEventListener(off, hush);
}
document.addEventListener("scroll", hush, { capture: true, passive: true });
document.addEventListener("keydown", ({ key }) => key === "Escape" && hush());

// The points of a chart with lines, each {x, y, text} in the chart's own units: the pointer tells the nearest one. With
// the focus on the chart, the arrow keys go along a line, and from line to line.
function pointed(svg, lines) {
  const mark = svgEl("circle", { r: 4.5, class: "here", visibility: "hidden" });
  svg.append(mark);
  let [line, at] = [0, 0];
  const show = () => {
    const { x, y, text } = lines[line][at];
    mark.setAttribute("cx", x);
    mark.setAttribute("cy", y);
    mark.setAttribute("visibility", "visible");
    tell(text, mark.getBoundingClientRect());
    return text;
  };
  const leave = () => {
    mark.setAttribute("visibility", "hidden");
    hush();
  };
  svg.addEventListener("pointermove", ({ clientX, clientY }) => {
    const here = new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
    let nearest = Infinity;
    lines.forEach((points, number) =>
      points.forEach(({ x, y }, place) => {
        const distance = (x - here.x) ** 2 + (y - here.y) ** 2;
        if (distance < nearest) [nearest, line, at] = [distance, number, place];
      }),
    );
    show();
  });
  const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -Infinity], End: [0, Infinity] };
  svg.addEventListener("keydown", (event) => {
    if (!Object.hasOwn(STEPS, event.key)) return;
    event.preventDefault();
    const [across, along] = STEPS[event.key];
    line = (line + across + lines.length) % lines.length;
    at = Math.max(0, Math.min(at + along, lines[line].length - 1));
    say(show());
  });
  svg.addEventListener("focus", () => {
    at = lines[line].length - 1;
    show();
  });
  svg.addEventListener("pointerleave", leave);
  svg.addEventListener("blur", leave);
}
