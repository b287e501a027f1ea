// Tables that sort, filter, choose their columns and copy themselves. Their state is part of the page's address.

// A number in decimals; what they would round to zero has an exponent, and a plain 0 is exact.
function decimal(value, scale, digits) {
  if (value === null || value === undefined) return "n/a";
  if (value === 0) return "0";
  const text = (value * scale).toFixed(digits);
  return Number(text) ? text : (value * scale).toExponential(1);
}
// Whole numbers are exact: they name runs and examples, or count.
const plain = (value) => (value === null ? "" : typeof value === "number" && !Number.isInteger(value) ? short(value) : String(value));

// The independent units of an interval: runs or, where several runs share a draw, draws.
function units(runs, missing, draws) {
  const counted = missing ? `${runs} of ${runs + missing}` : `${runs}`;
  return draws ? `n = ${draws} draws, ${counted} runs` : `n = ${counted}`;
}

// What an entry shows: its text, and in smaller type its interval and, unless columns of their own have it, n.
function entryOf(column, value) {
  if (value === null || value === undefined) return { text: "", detail: "" };
  if (column.kind === "number") {
    const [number, low, high, ...counts] = value;
    const { scale = 1, digits = 4 } = column;
    const interval = low === null ? [] : [`${decimal(low, scale, digits)} to ${decimal(high, scale, digits)}`];
    return { text: decimal(number, scale, digits), detail: [...interval, ...(counts.length ? [units(...counts)] : [])].join(" · ") };
  }
  if (column.kind === "entry" && typeof value === "object") return value;
  return { text: column.kind === "plain" ? plain(value) : String(value), detail: "" };
}
function orderOf(column, value) {
  if (column.kind === "number") return value && value[0] !== null ? value[0] : -Infinity;
  if (column.kind === "plain") return typeof value === "number" ? value : -Infinity;
  if (column.kind === "entry") {
    const number = parseFloat(typeof value === "object" ? value.text : value);
    return Number.isNaN(number) ? -Infinity : number;
  }
  return String(value);
}
// One tab stop a row of a table; the arrow keys go on to its other links, and to those above and below.
function oneStop(row) {
  row.querySelectorAll("a").forEach((link, place) => link.setAttribute("tabindex", place ? "-1" : "0"));
  row.addEventListener("keydown", (event) => {
    const at = event.target.closest("td");
    const place = [...row.children].indexOf(at);
    const near = { ArrowRight: at?.nextElementSibling, ArrowLeft: at?.previousElementSibling, ArrowDown: row.nextElementSibling?.children[place], ArrowUp: row.previousElementSibling?.children[place] }[event.key];
    const link = near?.querySelector("a");
    if (!link) return;
    event.preventDefault();
    link.focus();
  });
  return row;
}
const isNumeric = (column) => column.kind !== "name";

// `state` is the address's query: a Map; `change` writes it back. `leads` gives the address that an entry leads to.
function tableView(table, state, change, leads = () => null) {
  const columns = table.columns.map((column, place) => ({ ...column, place, key: column.key || column.label }));
  const filters = columns
    .filter((column) => column.kind === "name")
    .map((column) => [column, [...new Set(table.rows.map((row) => String(row[column.place])))]])
    .filter(([, values]) => values.length > 1 && values.length <= 40);
  const holder = el("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": table.title });
  const counted = el("p", { class: "soft", role: "status" });
  const chosen = () => {
    const asked = state.get("columns")?.split(",");
    return columns.filter((column) => (asked ? asked.includes(column.key) : !column.hidden));
  };
  const kept = () => {
    const words = (state.get("has") || "").toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = filters.map(([column]) => [column, state.get(column.key)]).filter(([, value]) => value);
    const rows = table.rows.filter(
      (row) =>
        wanted.every(([column, value]) => String(row[column.place]) === value) &&
        words.every((word) => columns.some((each) => entryOf(each, row[each.place]).text.toLowerCase().includes(word))),
    );
    const by = columns.find((column) => column.key === state.get("sort"));
    if (!by) return rows;
    const sign = state.get("down") ? -1 : 1;
    const compare = (a, b) => (a < b ? -sign : a > b ? sign : 0);
    return [...rows].sort((rowA, rowB) => compare(orderOf(by, rowA[by.place]), orderOf(by, rowB[by.place])));
  };
  const set = (values) => {
    for (const [key, value] of Object.entries(values))
      if (value) state.set(key, value);
      else state.delete(key);
    change();
    draw();
  };

  function head(column) {
    const sorted = state.get("sort") === column.key ? (state.get("down") ? "descending" : "ascending") : null;
    const turn = () => {
      // Names sort up first, numbers down; a second press turns, a third one gives the study's order back.
      const orders = isNumeric(column) ? ["descending", "ascending", null] : ["ascending", "descending", null];
      const next = orders[(orders.indexOf(sorted) + 1) % 3];
      set({ sort: next && column.key, down: next === "descending" && "1" });
      holder.querySelector(`[data-key="${CSS.escape(column.key)}"]`)?.focus();
    };
    const mark = sorted === null ? "" : sorted === "ascending" ? " ▲" : " ▼";
    const label = [column.label, column.unit ? el("small", null, column.unit) : "", mark];
    return el("th", { scope: "col", class: isNumeric(column) ? "number" : null, "aria-sort": sorted }, el("button", { type: "button", class: "sorts", onclick: turn, "data-key": column.key }, label));
  }

  function cellOf(column, row) {
    const { text, detail } = entryOf(column, row[column.place]);
    const to = leads(row, column);
    const words = [column.picture?.(row[column.place]), text, detail && detail.split(" · ").map((line) => el("small", null, line))];
    return el("td", { class: isNumeric(column) ? "number" : null, "data-label": column.label }, to && text ? el("a", { href: to }, words) : words);
  }

  function draw() {
    const rows = kept();
    const here = chosen();
    const body = el("tbody");
    const more = growing(body, rows, (row) => oneStop(el("tr", null, here.map((column) => cellOf(column, row)))), 300);
    holder.replaceChildren(el("table", null, el("caption", { class: "hidden" }, table.title), el("thead", null, el("tr", null, here.map(head))), body), more);
    counted.textContent = `${count(rows.length)} of ${countOf(table.rows.length, ["row", "rows"])}`;
  }

  const filterOf = ([column, values]) =>
    el("label", null, `${column.label} `, el("select", { onchange: (event) => set({ [column.key]: event.target.value }) }, el("option", { value: "" }, "all"), values.map((value) => el("option", { value, selected: state.get(column.key) === value }, value || "(empty)"))));
  const words = el("label", null, "Contains ", el("input", { type: "search", class: "has", value: state.get("has") || "", oninput: (event) => set({ has: event.target.value }) }));
  const choose = (column) => (event) => {
    const shown = chosen().filter((each) => each !== column);
    const next = event.target.checked ? [...shown, column] : shown;
    set({ columns: columns.filter((each) => next.includes(each)).map((each) => each.key).join(",") });
  };
  const choice = () => el("fieldset", null, el("legend", { class: "hidden" }, "Columns"), columns.map((column) => el("label", null, el("input", { type: "checkbox", checked: chosen().includes(column), onchange: choose(column) }), ` ${column.label}`)));
  const copies = Object.entries(COPIES).map(([name, write]) =>
    el("button", { type: "button", onclick: (event) => copied(write(table, chosen(), kept()), event.target, name) }, `Copy as ${name}`),
  );
  draw();
  return el(
    "div",
    { class: "table" },
    el("div", { class: "tools" }, filters.map(filterOf), words),
    opening(`Columns: ${columns.length}`, choice, { class: "columns" }),
    counted,
    holder,
    el("p", { class: "tools" }, copies),
    (table.notes || []).map((note) => el("p", { class: "soft" }, shown(note))),
  );
}

// As text for elsewhere

const together = ({ text, detail }) => (detail ? `${text} (${detail.replaceAll(" · ", ", ")})` : text);
const texts = (columns, row) => columns.map((column) => together(entryOf(column, row[column.place])));
const headed = ({ label, unit }) => (unit ? `${label} (${unit})` : label);
const COPIES = {
  Markdown(table, columns, rows) {
    const line = (cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
    const rule = columns.map((column) => (isNumeric(column) ? "--:" : "---"));
    return [`**${table.title}**`, "", line(columns.map(headed)), line(rule), ...rows.map((row) => line(texts(columns, row))), ""].join("\n");
  },
  LaTeX(table, columns, rows) {
    const signs = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "±": "$\\pm$", "†": "$^{\\dagger}$" };
    const safe = (text) => text.replace(/[\\&%$#_{}~^±†]/g, (sign) => signs[sign] || `\\${sign}`);
    const cell = (column, value) => {
      const { text, detail } = entryOf(column, value);
      return detail ? `${safe(text)} {\\scriptsize (${safe(detail.replaceAll(" · ", ", "))})}` : safe(text);
    };
    const lines = rows.map((row) => `${columns.map((column) => cell(column, row[column.place])).join(" & ")} \\\\`);
    return [
      "% needs \\usepackage{booktabs}",
      "\\begin{table}",
      "\\centering",
      `\\caption{${safe(table.title)}}`,
      `\\begin{tabular}{${columns.map((column) => (isNumeric(column) ? "r" : "l")).join("")}}`,
      "\\toprule",
      `${columns.map((column) => safe(headed(column))).join(" & ")} \\\\`,
      "\\midrule",
      ...lines,
      "\\bottomrule",
      "\\end{tabular}",
      "\\end{table}",
      "",
    ].join("\n");
  },
  // A number's interval and its units have columns of their own, unrounded.
  CSV(table, columns, rows) {
    const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const endings = ["", "_low", "_high", "_runs", "_missing", "_draws"];
    const ends = ({ place }) => endings.slice(0, Math.max(...table.rows.map((row) => row[place]?.length ?? 0)));
    const names = columns.flatMap((column) => (column.kind === "number" ? ends(column).map((end) => column.key + end) : column.kind === "entry" ? [column.key, `${column.key} (detail)`] : [column.key]));
    const cells = (column, value) => {
      if (column.kind === "number") return ends(column).map((_, place) => String(value?.[place] ?? ""));
      if (column.kind === "entry") return typeof value === "object" ? [value.text, value.detail] : [String(value), ""];
      return [value === null ? "" : String(value)];
    };
    const lines = rows.map((row) => columns.flatMap((column) => cells(column, row[column.place])));
    return [names, ...lines].map((line) => `${line.map(quoted).join(",")}\n`).join("");
  },
};

const say = (text) => {
  document.getElementById("said").textContent = text;
};
async function copied(text, button, name) {
  try {
    await navigator.clipboard.writeText(text);
    say(`Copied as ${name}`);
    button.textContent = `Copied as ${name}`;
    setTimeout(() => (button.textContent = `Copy as ${name}`), 2000);
  } catch {
    // No access to the clipboard: the text is shown, selected, to be copied by hand.
    const area = el("textarea", { rows: 10, readonly: true, "aria-label": `The table as ${name}` }, text);
    button.closest(".table").querySelector("textarea")?.remove();
    button.parentElement.after(area);
    area.select();
    say(`The table as ${name} is selected below`);
  }
}
