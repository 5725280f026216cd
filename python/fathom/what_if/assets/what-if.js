/* Reads the sliders, has the twin run in workers, and shows what it answers: a sentence, numbers and a curve, beside
   those of the drive as it is. It fetches nothing. */
(function () {
  "use strict";

  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const form = document.getElementById("sliders");
  const sliders = data.sliders.map((slider) => ({
    ...slider,
    input: document.getElementById(`s-${slider.key}`),
    output: document.querySelector(`[data-slider="${slider.key}"] output`),
  }));
  const AS_IT_IS = `the ${data.noun} as it is`;
  const LEVEL = data.level; // a ratio nearer to 1 may be that of short windows, and is called level

  /* Words and numbers. */
  const group = (value, digits) => value.toLocaleString("en-US", { maximumFractionDigits: digits });
  function compact(value) {
    for (const [limit, unit] of [[1e6, "M"], [1e3, "k"]])
      if (value >= 0.9995 * limit) return Number((value / limit).toPrecision(3)) + unit;
    return group(value, 0);
  }
  const latency = (us) =>
    us >= 1000 ? `${group(us / 1000, us < 10_000 ? 2 : 1)} ms` : `${group(us, us < 100 ? 1 : 0)} µs`;
  const signed = (ratio) => {
    const pct = Math.round(100 * (ratio - 1));
    return pct === 0 ? "±0 %" : `${pct > 0 ? "+" : "−"}${group(Math.abs(pct), 0)} %`;
  };

  /* Figures of a point of the curve. */
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const iops = (point) => sum(point.ops.map((op) => op.iops));
  const mbps = (point) => sum(point.ops.map((op) => op.mbps));
  const meanUs = (point) => sum(point.ops.map((op) => op.mean_us * op.n)) / sum(point.ops.map((op) => op.n));
  const of = (point, op) => point.ops.find((one) => one.op === op);

  /* Bytes programmed over bytes written, over the whole curve: a single light point writes too little for it. */
  function wafOf(points) {
    const written = (point) => (point.waf === null ? 0 : of(point, "write").mbps * point.window_s);
    const all = sum(points.map(written));
    return all > 0 ? sum(points.map((point) => (point.waf ?? 0) * written(point))) / all : null;
  }

  /* What the sliders say. */
  const place = (slider) => Number(slider.input.value);
  const choice = (slider) => slider.choices[place(slider)];
  const slider = (key) => sliders.find((one) => one.key === key);
  const depth = () => choice(slider("depth")).depth;
  const isMoved = (one) => place(one) !== one.start;
  const isOther = () => sliders.some((one) => one.key !== "depth" && !one.isLoad && isMoved(one));

  function jobOf(step) {
    const { mix } = choice(slider("mix"));
    const sizes = [{ size_bytes: choice(slider("block")).block_bytes, weight: 1 }];
    const filled = slider("fill");
    const region = filled ? { ...step.job.region, size: { fraction: choice(filled).region } } : step.job.region;
    return { ...step.job, mix: { ops: mix.ops.map((op) => ({ ...op, sizes })) }, region };
  }

  /* Sets what lies within others at the end of a path such as `drives.0.count`. */
  function put(parameters, path, value) {
    const keys = path.split(".");
    const last = keys.pop();
    keys.reduce((inner, key) => inner[key], parameters)[last] = value;
  }

  function request(own) {
    const used = sliders.filter((one) => one.key !== "depth" && (own || one.isLoad));
    const parameters = structuredClone(data.parameters);
    for (const one of used)
      for (const [path, value] of Object.entries(choice(one).parameters)) put(parameters, path, value);
    const hosts = used.map((one) => choice(one).hosts).findLast((count) => count) ?? data.hosts;
    const steps = data.steps.map((step) => ({ ...step, job: jobOf(step) }));
    return { id: used.map((one) => `${one.key}:${place(one)}`).join(" "), parameters, hosts, seed: data.seed, steps };
  }

  function command() {
    const set = sliders.filter((one) => one.key !== "depth" && (isMoved(one) || one.isStated));
    const settings = set.flatMap((one) => choice(one).settings);
    return [data.command, ...settings.map((setting) => `--set ${setting}`)].join(" \\\n  ");
  }

  /* The workers: one for what the sliders say, one for what is as it is. */
  const known = new Map(); // by id, what was answered last
  const newest = { own: "", asIs: "" };
  const code = new Blob([document.getElementById("worker").textContent], { type: "text/javascript" });
  function worker(which) {
    const made = new Worker(URL.createObjectURL(code));
    made.onmessage = ({ data: answer }) => {
      known.set(answer.id, answer);
      if (answer.id === newest[which]) show();
    };
    return made;
  }
  const workers = { own: worker("own"), asIs: worker("asIs") };

  function wish(which, wanted) {
    newest[which] = wanted.id;
    if (known.get(wanted.id)?.stage !== "settled") workers[which].postMessage(wanted);
  }

  async function unpack() {
    const packed = Uint8Array.from(atob(document.getElementById("twin").textContent), (char) => char.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const module = await WebAssembly.compile(await new Response(stream).arrayBuffer());
    for (const one of Object.values(workers)) one.postMessage({ module });
  }

  /* What is shown: the last good answer stays until the next. */
  let own = null;
  let asIs = null;

  function show() {
    const answer = known.get(newest.own);
    if (answer && !answer.error) own = answer;
    const other = isOther() ? known.get(newest.asIs) : null;
    asIs = other && !other.error ? other : null;
    const problem = document.getElementById("problem");
    problem.hidden = !answer?.error;
    problem.textContent = answer?.error
      ? `This ${data.noun} cannot be simulated: ${answer.error}. What is shown is the last one that could be.`
      : "";
    if (own) draw();
  }

  const at = (answer) => answer?.points.find((point) => point.depth === depth());

  /* What limits, by the names that reports give it: of a group of servers the busiest, where one stands out. */
  function limitOf(limit) {
    const one = limit?.resource;
    if (!one) return data.limits.names[limit?.kind];
    const standsOut = limit.kind !== data.limits.queue && one.servers > 1 && one.busiest - one.mean > data.limits.standsOut;
    const many = one.name.endsWith("CPU") ? `${one.name}s` : one.name;
    return standsOut ? `the busiest of ${one.servers} ${many}` : one.name;
  }

  function sentence(point, before) {
    const name = limitOf(point.limit);
    // Few words, so that the page does not jump when the settled figures come.
    const pass = [own, before && asIs].some((answer) => answer?.stage === "sketch") ? "First pass: " : "";
    const first = `${pass}${compact(iops(point))} IOPS with ${group(depth(), 0)} ${data.inFlight}` + (name ? `, limited by ${name}` : "");
    if (!before) return `${first}.`;
    const ratio = iops(point) / iops(before);
    if (Math.abs(ratio - 1) < LEVEL) return `${first}: level with ${AS_IT_IS}.`;
    return `${first}: ${group(ratio, 2)} times ${AS_IT_IS}.`;
  }

  function number(key, text, more, ratio, better) {
    const cell = document.querySelector(`[data-number="${key}"]`);
    cell.hidden = text === null;
    if (text === null) return;
    cell.querySelector("strong").textContent = text;
    cell.querySelector("small").textContent = more || "\u00a0";
    const delta = cell.querySelector(".delta");
    const told = Number.isFinite(ratio);
    delta.textContent = told ? signed(ratio) : "";
    const level = !told || Math.abs(ratio - 1) < LEVEL;
    delta.dataset.way = level ? "" : ratio > 1 === better ? "good" : "bad";
  }

  function numbers(point, before) {
    number("iops", compact(iops(point)), `${group(mbps(point), 0)} MB/s`, before && iops(point) / iops(before), true);
    for (const op of ["read", "write"]) {
      const [ours, theirs] = [of(point, op), before && of(before, op)];
      const p99 = ours?.p99_us ? `p99 ${latency(ours.p99_us)}` : "";
      number(op, ours ? latency(ours.mean_us) : null, p99, theirs && ours && ours.mean_us / theirs.mean_us, false);
    }
    const [waf, other] = [wafOf(own.points), asIs && wafOf(asIs.points)];
    number("waf", waf === null ? null : group(waf, 2), "over the curve", other && waf / other, false);
    const watts = point.watts;
    number("watts", watts === null ? null : `${group(watts, 1)} W`, `${compact(iops(point) / watts)} IOPS/W`, before && watts / before.watts, false);
  }

  /* The chart. Colours are read off the page, so that light and dark are its own. */
  const element = document.getElementById("curve");
  const chart = echarts.init(element, null, { renderer: "canvas" });
  let scheme = ""; // the page's own, unless it is drawn for paper
  function colour(name) {
    const probe = document.createElement("i");
    probe.style.colorScheme = scheme;
    probe.style.color = `var(--${name})`;
    document.body.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  }
  const nice = (value) => {
    const unit = 10 ** Math.floor(Math.log10(value));
    return unit * [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((step) => step * unit >= value);
  };
  const below = (value) => {
    const unit = 10 ** Math.floor(Math.log10(value));
    return unit * [5, 2, 1].find((step) => step * unit <= value);
  };

  function line(name, answer, look) {
    const points = answer.points.toSorted((a, b) => a.depth - b.depth);
    return {
      type: "line",
      name,
      data: points.map((point) => ({ value: [iops(point), meanUs(point), point.depth], symbolSize: point.depth === depth() ? 15 : 6 })),
      symbol: "circle",
      showAllSymbol: true,
      animation: false,
      color: look.colour,
      lineStyle: { color: look.colour, width: look.width, type: answer.stage === "sketch" ? [5, 4] : "solid" },
      itemStyle: { color: look.colour, borderColor: colour("paper"), borderWidth: 1.5 },
      emphasis: { disabled: true },
      endLabel: { show: true, formatter: name, color: look.colour, offset: [0, -14], align: "right" },
      z: look.z,
    };
  }

  function option() {
    const named = isOther() ? "changed" : AS_IT_IS;
    const series = [line(named, own, { colour: colour("c0"), width: 2.5, z: 3 })];
    if (asIs) series.unshift(line("as it is", asIs, { colour: colour("muted"), width: 1.5, z: 2 }));
    const all = [own, asIs].filter(Boolean).flatMap((answer) => answer.points);
    const axis = {
      axisLine: { lineStyle: { color: colour("rule-strong") } },
      axisLabel: { color: colour("muted"), hideOverlap: true },
      splitLine: { lineStyle: { color: colour("rule") } },
      nameTextStyle: { color: colour("muted") },
    };
    return {
      textStyle: { fontFamily: getComputedStyle(document.body).fontFamily },
      grid: { left: 8, right: 18, top: 26, bottom: 24, containLabel: true },
      tooltip: {
        trigger: "item",
        backgroundColor: colour("panel"),
        borderColor: colour("rule-strong"),
        textStyle: { color: colour("ink"), fontSize: 13 },
        formatter: ({ value }) => `${value[2]} ${data.inFlight}<br><b>${compact(value[0])} IOPS</b>, ${latency(value[1])}`,
      },
      xAxis: {
        type: "value", name: "IOPS", nameLocation: "middle", nameGap: 24, min: 0, max: nice(Math.max(...all.map(iops))),
        ...axis, axisLabel: { ...axis.axisLabel, formatter: compact }, splitLine: { show: false },
      },
      yAxis: {
        type: "log", min: below(Math.min(...all.map(meanUs))), max: nice(1.15 * Math.max(...all.map(meanUs))),
        ...axis, axisLine: { show: false }, axisLabel: { ...axis.axisLabel, formatter: latency },
      },
      series,
    };
  }

  function draw() {
    const point = at(own);
    const before = at(asIs);
    document.getElementById("sentence").textContent = sentence(point, before);
    numbers(point, before);
    chart.setOption(option(), { notMerge: true });
    element.dataset.stage = own.stage;
    element.dataset.id = own.id;
    element.dataset.took = own.took_ms;
    element.dataset.points = JSON.stringify(own.points);
    element.dataset.asIs = asIs?.stage ?? "";
  }

  /* On paper: a vector drawing in light colours instead of the canvas. */
  const PAPER = { width: 720, height: 320 };
  function toPaper() {
    if (!own || document.querySelector(".chart-paper")) return;
    const paper = echarts.init(null, null, { renderer: "svg", ssr: true, ...PAPER });
    scheme = "light";
    paper.setOption(option());
    scheme = "";
    const holder = document.createElement("div");
    holder.className = "chart-paper";
    holder.innerHTML = paper.renderToSVGString();
    holder.firstElementChild.removeAttribute("height");
    holder.firstElementChild.setAttribute("width", "100%");
    element.after(holder);
    paper.dispose();
  }
  const fromPaper = () => document.querySelector(".chart-paper")?.remove();
  addEventListener("beforeprint", toPaper);
  addEventListener("afterprint", fromPaper);
  matchMedia("print").addEventListener("change", (event) => (event.matches ? toPaper() : fromPaper()));

  function changed() {
    for (const one of sliders) {
      one.output.textContent = choice(one).label;
      one.input.setAttribute("aria-valuetext", choice(one).label);
      one.input.closest(".slider").classList.toggle("moved", isMoved(one));
    }
    document.getElementById("command").textContent = command();
    document.getElementById("as-it-is").disabled = !sliders.some(isMoved);
    wish("own", request(true));
    if (isOther()) wish("asIs", request(false));
    show();
  }

  form.addEventListener("input", changed);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(changed));
  for (const one of sliders)
    one.input.addEventListener("dblclick", () => {
      one.input.value = one.start;
      changed();
    });
  document.getElementById("copy").addEventListener("click", async ({ target }) => {
    try {
      await navigator.clipboard.writeText(command());
      target.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(document.getElementById("command"));
      target.textContent = "Selected: copy it";
    }
  });

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const themeButton = document.getElementById("theme");
  function setTheme(theme) {
    root.dataset.theme = theme;
    show();
  }
  themeButton.addEventListener("click", () =>
    setTheme((root.dataset.theme || (dark.matches ? "dark" : "light")) === "dark" ? "light" : "dark"),
  );
  /* Inside a report the report's button is the only one. */
  themeButton.hidden = parent !== window;
  addEventListener("message", ({ source, data: sent }) => {
    if (source === parent && parent !== window && ["light", "dark"].includes(sent?.theme)) setTheme(sent.theme);
  });
  dark.addEventListener("change", show);
  new ResizeObserver(() => chart.resize()).observe(element);

  form.reset();
  changed();
  unpack();
})();
