/* Runs the twin beside the page. A request has an id, parameters, hosts, a seed and steps. It is answered twice:
   by a sketch, whose windows are short, and by what is settled. A newer request takes the place of an older one. */
"use strict";

const SKETCH = { time_ns: 20_000_000, count: 3000 };
const SKETCH_WARM_UP = { time_ns: 100_000_000, count: 20_000 };
/* A window is of no use unless each I/O in flight comes round a few times. */
const ROUNDS = 6;

let module = null;
let twin = null;
let wanted = null;
let busy = false;

const channel = new MessageChannel();
/* Lets messages in that came meanwhile; a timer would wait for 4 ms. */
const breathe = () =>
  new Promise((resolve) => {
    channel.port1.onmessage = resolve;
    channel.port2.postMessage(null);
  });

function ask(call, request) {
  const text = new TextEncoder().encode(JSON.stringify(request));
  // The memory may grow in a call, and is another buffer then.
  const at = twin.input(text.length);
  new Uint8Array(twin.memory.buffer, at, text.length).set(text);
  const length = call();
  return JSON.parse(new TextDecoder().decode(new Uint8Array(twin.memory.buffer, twin.output(), length)));
}

function shortened(step, hosts) {
  const count = Math.max(SKETCH.count, ROUNDS * hosts * step.depth);
  const most = step.measured ? { ...SKETCH, count } : SKETCH_WARM_UP;
  return { ...step.job, until: { ...step.job.until, ...most } };
}

async function serve({ id, parameters, hosts, seed, steps }) {
  const began = performance.now();
  for (const stage of ["sketch", "settled"]) {
    const made = ask(twin.make, { parameters, seed });
    if (made.error) return postMessage({ id, error: made.error });
    const points = [];
    for (const step of steps) {
      await breathe();
      if (wanted) return;
      const job = stage === "sketch" ? shortened(step, hosts) : step.job;
      const figures = ask(twin.run, { job, seed: step.seed, hosts });
      if (figures.error) return postMessage({ id, error: figures.error });
      if (step.measured) points.push({ name: step.name, depth: step.depth, ...figures });
    }
    postMessage({ id, stage, points, took_ms: performance.now() - began });
  }
}

async function serveAll() {
  if (busy || !module) return;
  busy = true;
  while (wanted) {
    const request = wanted;
    wanted = null;
    try {
      twin ??= new WebAssembly.Instance(module, {}).exports;
      await serve(request);
    } catch (defect) {
      twin = null;
      postMessage({ id: request.id, error: `the model stopped by a defect (${defect.message}); please report it` });
    }
  }
  busy = false;
}

onmessage = ({ data }) => {
  if (data.module) module = data.module;
  else wanted = data;
  serveAll();
};
