// Builds elements. Every text becomes a text node, so no name or field is ever parsed as HTML.

// Attributes are set by name, and children are nodes or texts, so text never becomes markup.
const el = (tag, attributes, ...children) => furnished(document.createElement(tag), attributes, children);
const svgEl = (tag, attributes, ...children) => furnished(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
function furnished(made, attributes, children) {
  for (const [name, given] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), given);
    else if (given !== null && given !== undefined && given !== false)
      made.setAttribute(name, given === true ? "" : given);
  }
  made.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

// Invisible characters, and those that change how their neighbours are displayed, are escaped.
const UNSEEN =
  "[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]";
const HALF = "[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]";
const ODD = new RegExp(`(${UNSEEN}|${HALF})`, "g");
const SHORT = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
const written = (character) => SHORT[character] || `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
const visible = (text) => String(text).replace(ODD, written);
// What splits a text is every second part.
const shown = (text) => String(text).split(ODD).map((part, place) => (place % 2 ? el("span", { class: "odd" }, written(part)) : breakable(part)));
const breakable = (text) => text.split(/(?<=\/)/).flatMap((part, place) => (place ? [el("wbr"), part] : [part]));

const count = (number) => number.toLocaleString("en");
const countOf = (number, [single, many]) => `${count(number)} ${number === 1 ? single : many}`;
// An address cannot contain lone surrogates, which stand for bytes of names that are not Unicode.
const address = (key) => `#${key.toWellFormed().split("/").map(encodeURIComponent).join("/")}`;
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a fragment typed by hand
  }
}

// The first rows of any number of items come into a place, and a button shows more.
function growing(place, items, row, step) {
  const more = el("button", { type: "button", onclick: () => grow()[0].querySelector("a")?.focus() });
  let at = 0;
  function grow() {
    const rows = items.slice(at, at + step).map(row);
    place.append(...rows);
    at += rows.length;
    more.hidden = at >= items.length;
    more.textContent = `Show ${count(Math.min(step, items.length - at))} more of ${count(items.length)}`;
    return rows;
  }
  grow();
  return more;
}
function listed(items, row, attributes, step = 200) {
  const list = el("ul", attributes);
  return [list, growing(list, items, row, step)];
}

// The content of a disclosure is drawn when it is opened for the first time.
function opening(summary, draw, attributes) {
  const details = el("details", attributes, el("summary", null, summary));
  const fill = () => details.childElementCount === 1 && details.append(...[draw()].flat());
  details.addEventListener("toggle", fill);
  if (attributes?.open) fill();
  return details;
}

const heading = (text) => el("h1", { tabindex: "-1" }, text);
const pair = (label, ...content) => el("div", null, el("dt", null, label), el("dd", null, content));
const card = (title, ...content) => el("section", { class: "card" }, el("h2", null, title), content);
const sideNote = (...text) => el("span", { class: "aside" }, text);

// A JSON value as nested lists.
const isNested = (node) => node !== null && typeof node === "object";
const isEmpty = (node) => isNested(node) && !Object.keys(node).length;
const isFlat = (node) => !isNested(node) || (Array.isArray(node) && !node.some(isNested));
function tree(node, depth = 0) {
  if (node === "") return el("span", { class: "soft" }, "(empty)");
  if (isEmpty(node)) return el("span", { class: "soft" }, "none");
  if (isFlat(node)) return el("span", null, [node].flat().map((item, place) => [place ? ", " : "", shown(item ?? "none")]));
  if (Array.isArray(node)) return el("ul", null, node.map((item) => el("li", null, tree(item, depth + 1))));
  const inLine = depth > 0 && Object.values(node).every(isFlat);
  return el("dl", { class: inLine ? "pairs" : null }, Object.entries(node).map(([key, item]) => pair(shown(key), tree(item, depth + 1))));
}
