/* Draws the charts of a report from the options in #charts. Colours come from the page's style sheet and units from
   the formatters below; there is no data in this file, and it fetches nothing. `report` is what the page's other
   scripts use of it. */
const report = {};
(function () {
  "use strict";

  const options = JSON.parse(document.getElementById("charts").textContent);
  const root = document.documentElement;
  const charts = new Map(); // element -> ECharts instance, of those that were on the screen once
  const drawnAt = new Map(); // element -> its width when it was drawn, px
  const hidden = new Set(); // names of series that the reader has hidden
  const NEAR_PX = 600; // charts so far below the window are drawn already
  const NARROW_PX = 640; // below it, labels above stretches would cover each other
  const NARROWEST_PX = 440; // below it, names at the ends of lines would take the place of the lines
  const NARROW_TICKS = 3; // about as many stretches of an axis have room for their figures then

  const escape = (text) =>
    String(text).replace(/[&<>"']/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[c]);
  const group = (value, digits) => value.toLocaleString("en-US", { maximumFractionDigits: digits }).replace("-", "−");
  // Two decimals, or as many as a small value needs for two digits; what rounding leaves of 0 is 0.
  const decimals = (value) =>
    Math.abs(value) >= 0.1 || Math.abs(value) < 1e-9 ? 2 : 1 - Math.floor(Math.log10(Math.abs(value)));
  const short = (value) => {
    for (const [limit, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]])
      if (Math.abs(value) >= limit) return group(value / limit, 2) + unit;
    return group(value, decimals(value));
  };
  const time = (value) =>
    value >= 7200
      ? group(value / 3600, 1) + " h"
      : value >= 120
        ? group(value / 60, 1) + " min"
        : group(value, value < 1 ? 3 : 1) + " s";
  const tail = (value) => group(100 * (1 - 10 ** -value), Math.max(0, Math.ceil(value - 2.001))) + " %";

  const depth = (value) => group(2 ** value, 0);
  const size = (value) => {
    const unit = Math.min(Math.max(Math.floor(value / 10), 0), 4);
    return group(2 ** (value - 10 * unit), 2) + " " + ["B", "KiB", "MiB", "GiB", "TiB"][unit];
  };

  const axisText = {
    count: short,
    us: short,
    pct: (v) => group(v, 4),
    seconds: (v) => group(v, 3) + " s",
    minutes: (v) => group(v / 60, 1) + " min",
    hours: (v) => group(v / 3600, 1) + " h",
    tail,
    depth,
    size,
  };
  const fullText = {
    count: (v) => group(v, v < 100 ? decimals(v) : 0),
    us: (v) => group(v, v < 100 ? 2 : v < 1000 ? 1 : 0) + " µs",
    pct: (v) => group(v, v < 1 ? 3 : 1) + " %",
    seconds: time,
    minutes: time,
    hours: time,
    tail: (v) => "percentile " + tail(v),
    depth: (v) => depth(v) + " in flight",
    size,
  };

  function tooltip(x, y) {
    return (params) => {
      const rows = [params].flat().filter((p) => p.seriesName !== "range" && p.value !== null && p.value !== undefined);
      if (!rows.length) return "";
      const value = (p) => (Array.isArray(p.value) ? p.value : [p.name, p.value]);
      const at = value(rows[0])[0];
      const head = typeof at === "number" ? fullText[x](at) : escape(at);
      const line = (p) => {
        const [, middle, low, high] = value(p);
        const range = low === undefined ? "" : ` (${fullText[y](low)} to ${fullText[y](high)})`;
        return `<div>${p.marker}${escape(p.seriesName)}&ensp;<b>${fullText[y](middle)}</b>${range}</div>`;
      };
      return `<div style="margin-bottom:4px">${head}</div>${rows.map(line).join("")}`;
    };
  }

  /* A name in lines of at most so many pixels, divided at spaces and behind hyphens: ECharts begins lines with commas,
     and divides names of devices anywhere. */
  const pen = document.createElement("canvas").getContext("2d");
  function inLines(name, most) {
    pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    const lines = [];
    for (const word of name.split(/(?<= |-)(?! )/)) {
      const longer = (lines.at(-1) ?? "") + word;
      if (lines.length && pen.measureText(longer).width <= most) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines.map((line) => line.trim()).join("\n");
  }

  function formatter(name) {
    const [kind, x, y] = name.slice(1).split("-");
    if (kind === "lines") return (label) => inLines(label, Number(x));
    if (kind === "tooltip") return tooltip(x, y);
    if (kind === "pointer") return (p) => fullText[x](p.value);
    return axisText[kind];
  }

  /* The colours of a scheme, read off a probe so that light-dark() is resolved by the browser. */
  function palette(scheme) {
    const probe = document.createElement("i");
    probe.style.colorScheme = scheme;
    document.body.append(probe);
    const seen = {};
    const font = getComputedStyle(document.body).fontFamily;
    const colour = (name) => {
      if (!(name in seen)) {
        probe.style.color = `var(--${name})`;
        seen[name] = getComputedStyle(probe).color;
      }
      return seen[name];
    };
    return { colour, font, done: () => probe.remove() };
  }

  /* A copy of an option with names replaced by colours, fonts and functions. Only keys that the report itself writes
     are replaced, so a target may be called "$ink" or "@us". */
  function resolve(node, colours) {
    if (Array.isArray(node)) return typeof node[0] === "number" ? node : node.map((entry) => resolve(entry, colours));
    if (node === null || typeof node !== "object") return node;
    const copy = {};
    for (const [key, value] of Object.entries(node)) {
      const named = typeof value === "string";
      if (named && /color$/i.test(key) && value[0] === "$") copy[key] = colours.colour(value.slice(1));
      else if (named && key === "formatter" && value[0] === "@") copy[key] = formatter(value);
      else if (named && key === "fontFamily") copy[key] = colours.font;
      else copy[key] = resolve(value, colours);
    }
    return copy;
  }

  /* A log axis has no zero: there, zeros are gaps; on a linear axis they are drawn. */
  function scaled(option, scale) {
    if (!scale || !option.switch) return option;
    const { low, high, linear, step } = option.switch;
    const bounds =
      scale === "log" ? { type: "log", min: low, max: high } : { type: "value", min: 0, max: linear, interval: step };
    const positive = (point) => ((point.value ?? point)[1] > 0 ? point : [(point.value ?? point)[0], null]);
    const series = option.series.map((s) => (scale === "log" ? { ...s, data: s.data.map(positive) } : s));
    return { ...option, series, yAxis: { ...option.yAxis, ...bounds } };
  }

  const pressed = (figure, kind) => figure.querySelector(`.toggle [data-${kind}][aria-pressed=true]`)?.dataset[kind];

  function optionFor(element, scheme, width) {
    const figure = element.closest("figure");
    const colours = palette(scheme);
    const named = options[`${element.dataset.chart}|${pressed(figure, "view")}`] ?? options[element.dataset.chart];
    const option = scaled(resolve(named, colours), pressed(figure, "scale"));
    colours.done();
    fitted(option, width);
    const off = [...figure.querySelectorAll(".legend button[aria-pressed=false]")].map((button) => button.dataset.series);
    option.legend.selected = Object.fromEntries([...hidden, ...off].map((name) => [name, false]));
    return option;
  }

  function fitted(option, width) {
    if (option.xAxis.type === "value" && width < NARROWEST_PX) option.xAxis.splitNumber = NARROW_TICKS;
    for (const series of option.series) {
      if (series.markArea && width < NARROW_PX) series.markArea.label.show = false;
      if (series.endLabel && width < NARROWEST_PX) {
        series.endLabel.show = false;
        option.grid.right = 16;
      }
    }
  }

  const darkMedia = matchMedia("(prefers-color-scheme: dark)");
  const scheme = () => root.dataset.theme || (darkMedia.matches ? "dark" : "light");

  /* A chart is begun when it first comes near the window: those in folded parts of the page, and those far below, cost
     nothing until then. */
  function draw(element) {
    if (!element.clientWidth) return;
    if (!charts.has(element)) {
      const chart = echarts.init(element, null, { renderer: "canvas" });
      const { group } = element.closest("figure").dataset;
      if (group) echarts.connect((chart.group = group));
      charts.set(element, chart);
      far.unobserve(element);
      resized.observe(element);
    }
    drawnAt.set(element, element.clientWidth);
    charts.get(element).resize();
    charts.get(element).setOption(optionFor(element, scheme(), element.clientWidth), { notMerge: true });
  }
  const drawAll = () => charts.forEach((_, element) => draw(element));
  const resized = new ResizeObserver((entries) =>
    entries.filter(({ target }) => drawnAt.get(target) !== target.clientWidth).forEach(({ target }) => draw(target)),
  );
  const far = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach(({ target }) => draw(target)),
    { rootMargin: `${NEAR_PX}px 0px` },
  );
  for (const element of document.querySelectorAll(".chart")) far.observe(element);

  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = scheme() === "dark" ? "light" : "dark";
    drawAll();
  });
  darkMedia.addEventListener("change", drawAll);

  Object.assign(report, { draw, drawAll, hidden, optionFor, scheme });
})();
