// Benchmarks of this checkout and of another one by turns, so that what else the machine does hits
// both alike: each turn is a process of its own, and every second pair begins with the other one.
// Prints for each figure the medians of both, and the median of the ratios of the pairs with the
// smallest and the largest of them. The other checkout needs its `node_modules` (`npm ci`).
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root } from './run.mjs';

/** `wanted`: a word in the names of the files, or `undefined` for all. */
export function comparePairs({ wanted, scale, against, rounds }) {
  const other = path.resolve(against);
  for (const needed of ['bench', 'src', 'node_modules']) {
    if (existsSync(path.join(other, needed))) continue;
    throw new Error(`${other} has no ${needed}: give a checkout in which \`npm ci\` has run`);
  }
  if (!Number.isInteger(rounds) || rounds < 1)
    throw new Error('--rounds is a whole number above 0');
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-pairs-'));
  try {
    const pairs = [];
    for (let round = 0; round < rounds; round += 1) {
      const turns = round % 2 === 0 ? [root, other] : [other, root];
      const measured = new Map(
        turns.map((one) => [one, figuresOf(one, { wanted, scale, folder })]),
      );
      pairs.push({ here: measured.get(root), there: measured.get(other) });
    }
    printPairs(pairs);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** By file and name: value and unit. */
function figuresOf(sources, { wanted, scale, folder }) {
  const file = path.join(folder, 'figures.json');
  const script = path.join(root, 'scripts/bench.mjs');
  const name = wanted === undefined ? [] : [wanted];
  const args = [...name, '--scale', String(scale), '--sources', sources, '--figures', file];
  const stdio = ['ignore', 'ignore', 'inherit'];
  const { status } = spawnSync(process.execPath, [script, ...args], { stdio });
  if (status !== 0) throw new Error(`the benchmarks of ${sources} failed`);
  const figures = JSON.parse(readFileSync(file, 'utf8'));
  return new Map(figures.map((figure) => [`${figure.file}: ${figure.name}`, figure]));
}

function printPairs(pairs) {
  const [first] = pairs;
  const names = [...first.here.keys()].filter((name) => first.there.has(name));
  for (const name of names) {
    const of = (side) => pairs.map((pair) => pair[side].get(name)?.value ?? Number.NaN);
    const [here, there] = [of('here'), of('there')];
    const ratios = here.map((value, at) => value / there[at]).sort((one, two) => one - two);
    const spread = `${ratios[0].toFixed(2)} to ${ratios.at(-1).toFixed(2)}`;
    console.log(
      `${name}: ${amount(median(here))} here, ${amount(median(there))} there ` +
        `${first.here.get(name).unit}; ratio ${median(ratios).toFixed(2)} (${spread})`,
    );
  }
}

function median(values) {
  const sorted = [...values].sort((one, two) => one - two);
  const half = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

function amount(value) {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2);
}
