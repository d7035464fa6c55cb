import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { Random } from '../../src/testing/random.ts';
import { forkLog } from '../service/forked-log.ts';
import { unpackOldData } from '../service/old-data.ts';
import { type Bed, eventually, said } from './bed.ts';
import type { Fault } from './fault.ts';

/** Data folders that are not as the service left them. Each is put back afterwards. */
export const data: readonly Fault[] = [
  {
    kind: 'one bit of a log is another one',
    async run(bed) {
      const log = await segmentOf(bed);
      await bed.stop();
      bed.keep();
      const whole = readFileSync(log);
      const length = whole.findLastIndex((byte) => byte !== 0) + 1;
      const random = new Random(11);
      for (let flip = 0; flip < 30; flip += 1) {
        const bytes = Buffer.from(whole);
        const at = random.below(length);
        bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
        writeFileSync(log, bytes);
        const { code, stdout } = await bed.sandbox.run(['verify']);
        if (code !== 1) throw new Error(`bit at ${at}: verify says ${code}\n${stdout}`);
      }
      await damaged(bed);
      return '30 of 30 found by verify; only that database is refused';
    },
  },
  {
    kind: 'the end of a log is missing',
    run: (bed) =>
      withLog(bed, (log) => {
        const length = readFileSync(log).findLastIndex((byte) => byte !== 0);
        truncateSync(log, Math.floor(length / 2));
      }),
  },
  { kind: 'a segment of a log is missing', run: (bed) => withLog(bed, (log) => rmSync(log)) },
  { kind: 'a log is empty', run: (bed) => withLog(bed, (log) => truncateSync(log, 0)) },
  {
    kind: 'two services have written to the log of a database',
    async run(bed) {
      const log = path.dirname(await segmentOf(bed));
      await bed.stop();
      // Neither adds a row, so that what callers know is what either of them leaves.
      await forkLog(log, { commits: 3 }, { commits: 5 });
      const { code, stdout } = await bed.sandbox.run(['verify']);
      if (code !== 1) throw new Error(`verify says ${code}:\n${stdout}`);
      said(stdout, /forked history/);
      await bed.start();
      const { status, text } = await bed.append('ledger', bed.newWriter(), 0);
      if (status === 200) throw new Error('it serves');
      said(text, /reducerdb repair/);
      await bed.stop();
      await bed.sandbox.ok(['repair', 'ledger', '--keep', '2', '--yes']);
      return 'verify finds it; only that database is refused; repair keeps one tail';
    },
  },
  {
    kind: 'the folder of a database is missing',
    run: (bed) =>
      withLog(bed, (log) => rmSync(path.dirname(path.dirname(log)), { recursive: true })),
  },
  {
    kind: 'the registry is missing',
    async run(bed) {
      await bed.stop();
      bed.keep();
      rmSync(path.join(bed.data, 'registry'), { recursive: true });
      return refused(bed, /registry/);
    },
  },
  {
    kind: 'one bit of the registry is another one',
    async run(bed) {
      await bed.stop();
      bed.keep();
      const folder = path.join(bed.data, 'registry');
      const log = readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.log'))
        .map((name) => path.join(folder, name))[0];
      if (log === undefined) throw new Error('the registry has no log');
      const bytes = readFileSync(log);
      const at = Math.floor(bytes.findLastIndex((byte) => byte !== 0) / 2);
      bytes[at] = (bytes[at] ?? 0) ^ 4;
      writeFileSync(log, bytes);
      return refused(bed, /registry: .*damaged/);
    },
  },
  {
    kind: 'the keys are missing',
    async run(bed) {
      await bed.stop();
      const folder = path.join(bed.sandbox.folder, 'root/config');
      const aside = path.join(bed.sandbox.folder, 'keys');
      mkdirSync(aside);
      const keys = readdirSync(folder).filter((name) => name.startsWith('id_ecdsa'));
      for (const name of keys) renameSync(path.join(folder, name), path.join(aside, name));
      await bed.refusedStart(/key/);
      for (const name of keys) renameSync(path.join(aside, name), path.join(folder, name));
      return 'the start is refused, in words';
    },
  },
  {
    kind: 'a program that was linked and kept is damaged',
    async run(bed) {
      await bed.stop();
      const folder = path.join(bed.data, 'databases');
      const kept = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
        name.includes(`${path.sep}programs${path.sep}`),
      );
      for (const name of kept) writeFileSync(path.join(folder, name), 'not a program');
      await bed.start();
      await bed.write('ledger', 1);
      return `${kept.length} are linked again`;
    },
  },
  {
    kind: 'a data folder of the version before',
    async run(bed) {
      const folder = path.join(bed.sandbox.folder, 'old');
      unpackOldData(folder);
      const { code, stdout } = await bed.sandbox.run(['verify', '--data-dir', folder]);
      if (code !== 0) throw new Error(stdout);
      return 'it opens';
    },
  },
  {
    kind: 'a copy of a stopped service on another machine',
    async run(bed) {
      await bed.stop();
      bed.keep();
      bed.restore();
      await bed.start();
      return 'it serves';
    },
  },
];

async function segmentOf(bed: Bed): Promise<string> {
  const folder = await bed.logFolder('ledger');
  const name = readdirSync(folder).find((entry) => entry.endsWith('.log'));
  return path.join(folder, name ?? '');
}

/** Does something to the log of one database: it is refused with its reason, the other one serves. */
async function withLog(bed: Bed, change: (log: string) => void): Promise<string> {
  const log = await segmentOf(bed);
  await bed.stop();
  bed.keep();
  change(log);
  const { code, stdout } = await bed.sandbox.run(['verify']);
  if (code !== 1) throw new Error(`verify says ${code}:\n${stdout}`);
  await damaged(bed);
  return 'verify finds it; only that database is refused';
}

/** One database is refused, with its reason in the service log, and the other one serves. */
async function damaged(bed: Bed): Promise<void> {
  await bed.start();
  const { status, text } = await bed.append('ledger', bed.newWriter(), 0);
  if (status === 200 || status === 0) throw new Error(`${status} ${text}`);
  await eventually('the other serves', () =>
    bed.sql('neighbour', 'SELECT COUNT(*) AS n FROM entry'),
  );
  said(bed.service.output, /"level":50.*(damaged|missing|ends at|durable|lacks|ENOENT)/);
  await bed.stop();
  bed.restore();
}

async function refused(bed: Bed, words: RegExp): Promise<string> {
  await bed.refusedStart(words);
  bed.restore();
  return 'the start is refused, in words';
}
