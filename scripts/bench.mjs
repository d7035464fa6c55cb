// Runs the benchmarks: `npm run bench [-- NAME] [-- --scale 0.1] [--record] [--peers]`, or those of
// this checkout and of another one by turns: `npm run bench -- NAME --against FOLDER [--rounds 5]`.
//
// Each `*.bench.ts` exports `benchmarks(scale)`, which returns its figures. A figure that has a
// baseline was measured in the same run as it, so the ratio holds on a noisy machine; the figure
// alone does not. `--record` writes them with the machine and date to `bench/results/`, in the place
// of older figures of the same files. `--peers` measures other systems too: their packages, which
// are no part of the product, are installed in `bench/peers` when they are missing. `--against` is in
// `bench-pairs.mjs`, which runs this file with `--sources FOLDER --figures FILE`.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { comparePairs } from './bench-pairs.mjs';
import { root } from './run.mjs';

const args = process.argv.slice(2);
const withValue = ['--scale', '--against', '--rounds', '--sources', '--figures'];
const scale = Number(flagValue('--scale') ?? 1);
const isRecording = args.includes('--record');
const peers = args.includes('--peers');
const against = flagValue('--against');
/** The checkout whose benchmarks run. */
const sources = path.resolve(flagValue('--sources') ?? root);
const figuresFile = flagValue('--figures');
const wanted = args.find((arg, at) => !arg.startsWith('--') && !withValue.includes(args[at - 1]));

/** A bundled file still finds what lies beside its source. */
const keepPlaces = {
  name: 'keep-places',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\](src|bench|test)[/\\].*\.ts$/ }, ({ path: place }) => ({
      // Not where it is a text, as among the options of a build.
      contents: readFileSync(place, 'utf8').replaceAll(
        /(?<!['"])import\.meta\.url/g,
        JSON.stringify(pathToFileURL(place).href),
      ),
      loader: 'ts',
    }));
  },
};

await embedGuest();
const figures = [];
const files = findBenchmarks().filter((file) => wanted === undefined || file.includes(wanted));
if (against === undefined) await runAll();
else comparePairs({ wanted, scale, against, rounds: Number(flagValue('--rounds') ?? 5) });

/** By the script of the checkout that is measured; older checkouts have none and need none. */
async function embedGuest() {
  const script = path.join(sources, 'scripts/embed-guest.mjs');
  if (existsSync(script)) (await import(pathToFileURL(script).href)).embedGuest();
}

async function runAll() {
  if (peers) installPeers();
  for (const file of files) {
    const { benchmarks } = await load(file);
    for (const measured of await benchmarks(scale, { peers })) {
      const figure = withRatio(measured);
      figures.push({ file, ...(scale === 1 ? {} : { scale }), ...figure });
      print(file, figure);
    }
  }
  if (isRecording) record();
  if (figuresFile !== undefined) writeFileSync(figuresFile, JSON.stringify(figures));
}

function installPeers() {
  const folder = path.join(root, 'bench/peers');
  if (existsSync(path.join(folder, 'node_modules'))) return;
  const { status } = spawnSync('npm', ['ci'], { cwd: folder, stdio: 'inherit' });
  if (status !== 0) throw new Error('the packages of bench/peers could not be installed');
}

/** Above 1, the product takes that many times as long as the baseline of the same run. */
function withRatio(figure) {
  const { value, unit, baseline, ratio } = figure;
  if (ratio !== undefined || baseline === undefined) return figure;
  return { ...figure, ratio: unit.endsWith('/s') ? baseline / value : value / baseline };
}

function findBenchmarks() {
  return ['src', 'bench']
    .flatMap((folder) =>
      readdirSync(path.join(sources, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.bench.ts'))
        .map((name) => path.join(folder, name)),
    )
    .sort();
}

async function load(file) {
  const outfile = path.join(sources, 'node_modules/.cache/reducerdb/bench', `${file}.mjs`);
  await build({
    entryPoints: [path.join(sources, file)],
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

function print(file, { name, value, unit, ratio, bar, p50Millis, p99Millis, durability }) {
  const room = path.basename(file, '.bench.ts');
  const amount = value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2);
  const compared = ratio === undefined ? '' : `  ratio ${ratio.toFixed(2)}`;
  console.log(`${room}: ${name}: ${amount} ${unit}${compared}${bar ? `  (bar: ${bar})` : ''}`);
  if (p50Millis === undefined) return;
  console.log(`  p50 ${p50Millis.toFixed(2)} ms, p99 ${p99Millis.toFixed(2)} ms; ${durability}`);
}

function record() {
  const machine = `${os.cpus().length} x ${os.cpus()[0]?.model}, ${Math.round(os.totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
  const day = new Date().toISOString().slice(0, 10);
  const folder = path.join(root, 'bench/results');
  mkdirSync(folder, { recursive: true });
  const target = path.join(folder, `${day}.json`);
  const kept = recorded(target).filter(({ file }) => !files.includes(file));
  const all = [...kept, ...figures];
  const text = JSON.stringify({ day, machine, figures: all }, null, 2);
  writeFileSync(target, `${text}\n`);
  console.log(`recorded in bench/results/${day}.json (${machine})`);
}

function recorded(target) {
  return existsSync(target) ? JSON.parse(readFileSync(target, 'utf8')).figures : [];
}

function flagValue(flag) {
  const at = args.indexOf(flag);
  return at < 0 ? undefined : args[at + 1];
}
