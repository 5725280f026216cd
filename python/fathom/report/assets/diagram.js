/* Draws the diagrams of a report from #diagrams as SVG, laid out by dagre: from left to right where there is room, else
   from top to bottom. Colours come from the page's style sheet. */
(function () {
  "use strict";

  const diagrams = JSON.parse(document.getElementById("diagrams").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const PAPER = 680; // width of the text on A4, CSS pixels
  const ROOM = 620; // least width for a drawing from left to right
  const PAD = 12;
  const LINE = 17;
  const FONT = { title: "600 13px", line: "12px", label: "11px" };
  const pen = document.createElement("canvas").getContext("2d");
  const family = () => getComputedStyle(document.body).fontFamily;

  function widthOf(text, font) {
    pen.font = `${FONT[font]} ${family()}`;
    return pen.measureText(text).width;
  }

  /* A text in lines of at most so many pixels, divided at spaces. */
  function inLines(text, font, most) {
    const lines = [];
    for (const word of text.split(" ")) {
      const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
      if (lines.length && widthOf(longer, font) <= most) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines.map((line) => ({ text: line, font }));
  }

  function box(node, most) {
    const written = ({ title, lines }) => [title, ...lines].flatMap((text, at) => inLines(text, at ? "line" : "title", most));
    const lines = (node.parts || [node]).flatMap(written);
    const widest = Math.max(...lines.map((line) => widthOf(line.text, line.font)));
    return { role: node.role, lines, width: Math.ceil(widest) + 2 * PAD, height: lines.length * LINE + 2 * PAD - 4 };
  }

  /* Where room is short: boxes joined to the same others are one box from three on, and what a line is called stands in
     the box that it leads to. */
  function gathered(diagram) {
    const ends = (key, own, other) => diagram.joins.filter((join) => join[own] === key).map((join) => join[other]);
    const groups = Object.values(
      Object.groupBy(diagram.nodes, ({ key, role }) => [role, ends(key, "end", "start"), ends(key, "start", "end")].join(";")),
    ).flatMap((nodes) => (nodes.length > 2 ? [nodes] : nodes.map((node) => [node])));
    const place = new Map(groups.flatMap((nodes, at) => nodes.map((node) => [node.key, String(at)])));
    const ways = ({ key }) => new Set(diagram.joins.filter((join) => join.end === key && join.label).map((join) => join.label));
    const nodes = groups.map((group, at) => ({
      key: String(at),
      role: group[0].role,
      parts: group.map((node) => ({ title: node.title, lines: [...new Set([...node.lines, ...ways(node)])] })),
    }));
    const joins = diagram.joins.map(({ start, end }) => ({ start: place.get(start), end: place.get(end), label: "" }));
    return { nodes, joins };
  }

  function laidOut(diagram, wide) {
    const graph = new dagre.graphlib.Graph();
    graph.setGraph({ rankdir: wide ? "LR" : "TB", nodesep: 14, ranksep: wide ? 46 : 26, edgesep: 6, marginx: 2, marginy: 2 });
    graph.setDefaultEdgeLabel(() => ({}));
    const { nodes, joins } = wide ? diagram : gathered(diagram);
    for (const node of nodes) graph.setNode(node.key, box(node, wide ? 170 : 140));
    for (const { start, end, label } of joins) {
      const size = label ? { width: widthOf(label, "label") + 8, height: 15, labelpos: "c" } : {};
      graph.setEdge(start, end, { text: label, ...size });
    }
    dagre.layout(graph);
    return graph;
  }

  function element(name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function drawn(graph) {
    const { width, height } = graph.graph();
    const svg = element("svg", { viewBox: `0 0 ${Math.ceil(width)} ${Math.ceil(height)}`, width: Math.ceil(width), "aria-hidden": "true" });
    for (const name of graph.edges()) {
      const edge = graph.edge(name);
      svg.append(element("path", { d: "M" + edge.points.map((p) => `${p.x.toFixed(1)} ${p.y.toFixed(1)}`).join("L") }));
    }
    for (const name of graph.edges()) {
      const { text, x, y, width: wide } = graph.edge(name);
      if (!text) continue;
      svg.append(element("rect", { class: "behind", x: x - wide / 2, y: y - 8, width: wide, height: 16 }));
      svg.append(element("text", { class: "label", x, y: y + 4 }, text));
    }
    for (const name of graph.nodes()) {
      const { role, lines, x, y, width: wide, height: high } = graph.node(name);
      svg.append(element("rect", { class: `box ${role}`, x: x - wide / 2, y: y - high / 2, width: wide, height: high, rx: 7 }));
      lines.forEach((line, at) => {
        const down = y - high / 2 + PAD + 9 + at * LINE;
        svg.append(element("text", { class: line.font, x, y: down }, line.text));
      });
    }
    return svg;
  }

  const places = [...document.querySelectorAll(".diagram")];
  function draw(place, width) {
    const wide = width >= ROOM;
    if (!width || place.dataset.wide === String(wide)) return;
    place.dataset.wide = wide;
    place.replaceChildren(drawn(laidOut(diagrams[place.dataset.diagram], wide)));
  }
  const print = matchMedia("print");
  const drawAs = (paper) => places.forEach((place) => draw(place, paper ? PAPER : place.clientWidth));

  for (const place of places) new ResizeObserver(() => drawAs(print.matches)).observe(place);
  drawAs(print.matches);
  addEventListener("beforeprint", () => drawAs(true));
  addEventListener("afterprint", () => drawAs(false));
  print.addEventListener("change", (event) => drawAs(event.matches));
})();
