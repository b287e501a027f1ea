// Lineage: the jobs before and after an artifact, with one box per verb, and the lines between them.

function lineage(key, number) {
  const made = number === undefined ? [] : [number];
  const before = walk(made, (job) => all(D.jobs[job][INPUTS]).flatMap((each) => makers.get(nameOf(each)) || []));
  const after = walk(usersOf(key), (job) => all(D.jobs[job][OUTPUTS]).flatMap((each) => usersOf(keyOf(each))));
  const nodes = new Map([["start", { items: made, layer: 0 }]]);
  const place = new Map(made.map((job) => [job, "start"])); // job -> name of its node
  gather("before", before, nodes, place);
  gather("after", after, nodes, place);
  const edges = linked(key, nodes, place);
  layers(nodes, edges);
  return [
    el("h2", null, "Lineage"),
    remark(
      "Above: the results made from this artifact. Below: the artifacts that it was made from, step by step. ",
      "Each statement lists all inputs of its job.",
    ),
    draw(nodes, steps(edges), key),
    madeBy(before),
  ];
}

function walk(from, next) {
  const seen = new Set(from);
  for (const item of seen) next(item).forEach((reached) => seen.add(reached));
  return seen;
}

function gather(side, jobs, nodes, place) {
  for (const job of jobs) {
    if (place.has(job)) continue;
    const name = `${side} ${D.jobs[job][VERB]}`;
    if (!nodes.has(name)) nodes.set(name, { items: [], side });
    nodes.get(name).items.push(job);
    place.set(job, name);
  }
}

// Pairs of nodes; the first was made from the second. Adds the nodes at the ends of chains.
function linked(key, nodes, place) {
  const edges = new Map();
  const join = (from, to) => from !== to && edges.set(JSON.stringify([from, to]), [from, to]);
  const ends = new Map();
  function end(from, kind, number) {
    const name = `end ${kind}`;
    if (!ends.has(name)) ends.set(name, new Set());
    ends.get(name).add(keyOf(number));
    nodes.set(name, { items: ends.get(name), side: "before", end: kind });
    join(from, name);
  }
  const direct = new Set(usersOf(key));
  for (const [job, name] of place) {
    const upwards = nodes.get(name).side === "after";
    if (upwards && direct.has(job)) join(name, "start");
    for (const each of all(D.jobs[job][INPUTS])) {
      const from = makers.get(nameOf(each)) || [];
      from.forEach((maker) => place.has(maker) && join(name, place.get(maker)));
      if (!from.length && !upwards) end(name, "missing", each);
    }
    const list = D.madeBy[D.jobs[job][MADE_BY]];
    if (!upwards) origins(list).forEach((kind) => list[kind].forEach((each) => end(name, kind, each)));
  }
  return [...edges.values()];
}

// The layer of a node is the length of the longest path to it from the chosen node. Edges that lead back are ignored.
function layers(nodes, edges) {
  const down = new Map(),
    up = new Map();
  for (const [from, to] of edges) {
    if (nodes.get(to).side === "before" && nodes.get(from).side !== "after") added(down, from, to);
    if (nodes.get(from).side === "after" && nodes.get(to).side !== "before") added(up, to, from);
  }
  for (const [neighbours, sign] of [[down, 1], [up, -1]]) {
    const order = sorted("start", neighbours);
    const rank = new Map(order.map((name, place) => [name, place]));
    for (const name of order)
      for (const other of neighbours.get(name) || []) {
        const node = nodes.get(other);
        const depth = Math.abs(nodes.get(name).layer) + 1;
        if (rank.get(other) > rank.get(name) && depth > Math.abs(node.layer || 0)) node.layer = sign * depth;
      }
  }
}

// Removes edges that a longer path implies: a cell's metrics come from its runs through its predictions.
function steps(edges) {
  if (edges.length > 300) return edges;
  const kept = new Map(edges.map(([from]) => [from, new Set()]));
  edges.forEach(([from, to]) => kept.get(from).add(to));
  for (const [from, to] of edges) {
    kept.get(from).delete(to);
    if (!walk([from], (name) => [...(kept.get(name) || [])]).has(to)) kept.get(from).add(to);
  }
  return [...kept].flatMap(([from, all]) => [...all].map((to) => [from, to]));
}

// All reachable names in topological order, ignoring edges that lead back.
function sorted(start, neighbours) {
  const done = [],
    seen = new Set([start]),
    open = [[start, 0]];
  while (open.length) {
    const top = open[open.length - 1];
    const next = (neighbours.get(top[0]) || [])[top[1]++];
    if (next === undefined) done.push(open.pop()[0]);
    else if (!seen.has(next)) {
      seen.add(next);
      open.push([next, 0]);
    }
  }
  return done.reverse();
}

function draw(nodes, edges, key) {
  const levels = [...new Set([...nodes.values()].map((node) => node.layer ?? 0))].sort((a, b) => a - b);
  const boxes = new Map();
  const graph = el("div", { class: "lineage" });
  for (const level of levels) {
    const here = [...nodes].filter(([, node]) => (node.layer ?? 0) === level);
    const list = el("ul", {
      "aria-label":
        level < 0 ? `made from it, ${-level} up` : level ? `its inputs, ${level} down` : "chosen",
    });
    for (const [name, node] of here) {
      const box = nodeBox(node, key);
      boxes.set(name, box);
      list.append(box);
    }
    graph.append(list);
  }
  const svg = svgEl("svg", { "aria-hidden": "true" });
  graph.prepend(svg);
  const redraw = () => connect(svg, graph, boxes, edges);
  new ResizeObserver(redraw).observe(graph);
  graph.addEventListener("toggle", redraw, true);
  return graph;
}

// Every step uses code, so code is listed below the graph instead of in it.
function madeBy(jobs) {
  const lists = [...new Set([...jobs].map((job) => D.jobs[job][MADE_BY]))].map((number) => D.madeBy[number]);
  const kinds = BY.map((kind) => [kind, [...new Set(lists.flatMap((list) => list[kind] || []).map(keyOf))].sort()]);
  const versions = (key) => known.get(key).map((number) => [" ", digest(thing(number).sha)]);
  const row = (key) => el("li", null, link(key), sideNote(versions(key)));
  return (
    lists.length > 0 &&
    el(
      "div",
      { class: "all" },
      el("h3", null, "Code of all steps"),
      kinds
        .filter(([, keys]) => keys.length)
        .map(([kind, keys]) =>
          opening(countOf(keys.length, kindName(kind)), () => plainList(keys, row)),
        ),
    )
  );
}

function nodeBox(node, chosen) {
  if (node.end) {
    const keys = [...node.items].sort();
    const several = () => listed(keys, (key) => el("li", null, link(key)), null);
    const body =
      keys.length === 1
        ? [el("span", { class: "what" }, kindName(node.end)[0]), link(keys[0])]
        : opening(countOf(keys.length, kindName(node.end)), several);
    return el("li", { class: `node${node.end === "missing" ? " alarm" : ""}` }, body);
  }
  if (node.layer === 0) {
    const job = D.jobs[node.items[0]];
    return el(
      "li",
      { class: `node chosen ${job ? stage(job) : ""}` },
      job && el("span", { class: "what" }, made(job)[0]),
      el("span", { class: "name", "aria-current": "true" }, shown(chosen.slice(chosen.indexOf("/") + 1))),
    );
  }
  const byName = (a, b) => isAccused(b) - isAccused(a) || (first(a) < first(b) ? -1 : 1);
  const jobs = node.items.map((number) => D.jobs[number]).sort(byName);
  const wrong = jobs.filter(isAccused).length;
  const look = `node ${stage(jobs[0])}${wrong ? " alarm" : ""}`;
  const row = (job) => [fileLink(first(job), shown(called(job))), faulty(isAccused(job) ? 1 : 0)];
  if (jobs.length === 1)
    return el("li", { class: look }, el("span", { class: "what" }, made(jobs[0])[0]), row(jobs[0]));
  return el(
    "li",
    { class: look },
    opening([countOf(jobs.length, made(jobs[0])), faulty(wrong)], () =>
      listed(jobs, (job) => el("li", null, row(job)), null),
    ),
  );
}

// Lines from each node up to the nodes made from it. Lines that would cross other nodes pass them on the right.
function connect(svg, graph, boxes, edges) {
  svg.replaceChildren();
  const corner = graph.getBoundingClientRect();
  const marker = svgEl(
    "marker",
    { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" },
    svgEl("path", { d: "M0 0 L8 4 L0 8 z" }),
  );
  svg.append(svgEl("defs", {}, marker));
  const places = new Map();
  for (const [name, box] of boxes) {
    const { x, y, width, height } = box.getBoundingClientRect();
    places.set(name, new DOMRect(x - corner.x, y - corner.y, width, height));
  }
  for (const [made, source] of edges) {
    const upper = places.get(made),
      lower = places.get(source);
    const between = [...places.values()].filter(({ top, bottom }) => top >= upper.bottom && bottom <= lower.top);
    const [x1, x2] = [(lower.left + lower.right) / 2, (upper.left + upper.right) / 2];
    const tip = { "marker-end": "url(#tip)" };
    if (
      upper.bottom < lower.top &&
      !between.some(({ left, right }) => left < Math.max(x1, x2) + 8 && right > Math.min(x1, x2) - 8)
    ) {
      const middle = (lower.top + upper.bottom) / 2;
      svg.append(
        svgEl("path", { d: `M${x1} ${lower.top} C${x1} ${middle} ${x2} ${middle} ${x2} ${upper.bottom + 2}`, ...tip }),
      );
    } else {
      const far = Math.min(
        Math.max(upper.right, lower.right, ...between.map(({ right }) => right)) + 9 + 5 * between.length,
        corner.width - 3,
      );
      const [y1, y2] = [(lower.top + lower.bottom) / 2, (upper.top + upper.bottom) / 2];
      const bend = Math.min(18, Math.abs(y1 - y2) / 2) * Math.sign(y1 - y2);
      svg.append(
        svgEl("path", {
          class: "far",
          d:
            `M${lower.right} ${y1} Q${far} ${y1} ${far} ${y1 - bend} ` +
            `L${far} ${y2 + bend} Q${far} ${y2} ${upper.right + 2} ${y2}`,
          ...tip,
        }),
      );
    }
  }
}
