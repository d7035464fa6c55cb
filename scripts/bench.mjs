// Runs the benchmarks: `npm run bench [-- NAME] [-- --scale 0.1] [--record]`.
//
// Each `*.bench.ts` exports `benchmarks(scale)`, which returns its figures. A figure that has a
// baseline was measured in the same run as it, so the ratio holds on a noisy machine; the figure
// alone does not. `--record` writes them with the machine and date to `bench/results/`.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { root } from './run.mjs';

const args = process.argv.slice(2);
const scale = Number(flagValue('--scale') ?? 1);
const isRecording = args.includes('--record');
const wanted = args.find((arg, at) => !arg.startsWith('--') && args[at - 1] !== '--scale');

/** A bundled file still finds what lies beside its source. */
const keepPlaces = {
  name: 'keep-places',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\](src|bench)[/\\].*\.ts$/ }, ({ path: place }) => ({
      contents: readFileSync(place, 'utf8').replaceAll(
        'import.meta.url',
        JSON.stringify(pathToFileURL(place).href),
      ),
      loader: 'ts',
    }));
  },
};

const files = findBenchmarks().filter((file) => wanted === undefined || file.includes(wanted));
const figures = [];
for (const file of files) {
  const { benchmarks } = await load(file);
  for (const measured of await benchmarks(scale)) {
    const figure = withRatio(measured);
    figures.push({ file, ...figure });
    print(file, figure);
  }
}
if (isRecording) record();

/** Above 1, the product takes that many times as long as the baseline of the same run. */
function withRatio(figure) {
  const { value, unit, baseline, ratio } = figure;
  if (ratio !== undefined || baseline === undefined) return figure;
  return { ...figure, ratio: unit.endsWith('/s') ? baseline / value : value / baseline };
}

function findBenchmarks() {
  return ['src', 'bench']
    .flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.bench.ts'))
        .map((name) => path.join(folder, name)),
    )
    .sort();
}

async function load(file) {
  const outfile = path.join(root, 'node_modules/.cache/reducerdb/bench', `${file}.mjs`);
  await build({
    entryPoints: [path.join(root, file)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    plugins: [keepPlaces],
  });
  return import(pathToFileURL(outfile).href);
}

function print(file, { name, value, unit, ratio, bar }) {
  const room = path.basename(file, '.bench.ts');
  const amount = value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2);
  const compared = ratio === undefined ? '' : `  ratio ${ratio.toFixed(2)}`;
  console.log(`${room}: ${name}: ${amount} ${unit}${compared}${bar ? `  (bar: ${bar})` : ''}`);
}

function record() {
  const machine = `${os.cpus().length} x ${os.cpus()[0]?.model}, ${Math.round(os.totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
  const day = new Date().toISOString().slice(0, 10);
  const folder = path.join(root, 'bench/results');
  mkdirSync(folder, { recursive: true });
  const text = JSON.stringify({ day, machine, scale, figures }, null, 2);
  writeFileSync(path.join(folder, `${day}.json`), `${text}\n`);
  console.log(`recorded in bench/results/${day}.json (${machine})`);
}

function flagValue(flag) {
  const at = args.indexOf(flag);
  return at < 0 ? undefined : args[at + 1];
}
