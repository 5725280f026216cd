/* Runs the sets in a folder on the twin of pages, and writes the recordings, or why there is none. */
import fs from "node:fs";

const [folder] = process.argv.slice(2);
const sets = JSON.parse(fs.readFileSync(`${folder}/sets.json`));
const compiled = await WebAssembly.compile(fs.readFileSync(`${folder}/twin.wasm`));
const twin = (await WebAssembly.instantiate(compiled, {})).exports;

function ask(call, request) {
  const text = new TextEncoder().encode(JSON.stringify(request ?? null));
  const at = twin.input(text.length);
  new Uint8Array(twin.memory.buffer, at, text.length).set(text);
  const length = call();
  return new TextDecoder().decode(new Uint8Array(twin.memory.buffer, twin.output(), length));
}

const recordings = sets.map(({ parameters, seed, job, job_seed, hosts }) => {
  for (const [call, request] of [[twin.make, { parameters, seed }], [twin.run, { job, seed: job_seed, hosts }]]) {
    const { error } = JSON.parse(ask(call, request));
    if (error) return `error: ${error}`;
  }
  return ask(twin.recording);
});
fs.writeFileSync(`${folder}/recordings.json`, JSON.stringify(recordings));
