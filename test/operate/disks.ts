import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, statfsSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Bed, eventually, type Load, said, until } from './bed.ts';
import type { Fault } from './fault.ts';

/** A small file system in memory. */
function mountSmall(folder: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=600m', 'tmpfs', folder]);
}

export function unmount(folder: string): void {
  execFileSync('umount', ['--lazy', folder]);
}

function whyNot(): string | undefined {
  if (process.platform !== 'linux') return 'there is no tmpfs';
  return process.getuid?.() === 0 ? undefined : 'only root may mount';
}

/** Disks that are full, that cannot be written, or whose folders go away. */
export const disks: readonly Fault[] = [
  {
    kind: 'the disk is full for a while',
    missing: whyNot(),
    mount: mountSmall,
    async run(bed) {
      const load = await filledUnderLoad(bed);
      await load.stop();
      const reading = await bed.sql('ledger', 'SELECT COUNT(*) AS n FROM entry');
      if (reading.status !== 200) throw new Error(`a read: ${reading.status} ${reading.text}`);
      const refusal = said([...load.refusals.values()].join(), /disk|space|full/i);
      empty(bed);
      await eventually('it writes again', () => bed.append('ledger', bed.newWriter(), 0));
      await eventually('it writes again', () => bed.append('neighbour', bed.newWriter(), 0));
      return `writes are refused (${refusal}), reads go on; it writes again by itself`;
    },
  },
  {
    kind: 'kill -9 while the disk is full',
    missing: whyNot(),
    mount: mountSmall,
    async run(bed) {
      const load = await filledUnderLoad(bed);
      await bed.kill();
      await load.stop();
      empty(bed);
      await bed.start();
      return 'the next start serves';
    },
  },
  {
    kind: 'the disk is full when the service starts',
    missing: whyNot(),
    mount: mountSmall,
    async run(bed) {
      await bed.stop();
      fill(bed);
      await bed.refusedStart(/^Error: .*(ENOSPC|the disk is full)/);
      fill(bed, 64 * 1024);
      await bed.start();
      const sql = 'SELECT COUNT(*) AS n FROM entry';
      await eventually('it reads', () => bed.sql('ledger', sql));
      empty(bed);
      await eventually('it writes again', () => bed.append('ledger', bed.newWriter(), 0));
      return 'with a little room it reads, and writes when there is more; with none, the start is refused';
    },
  },
  {
    kind: 'the disk can only be read',
    missing: whyNot(),
    mount: mountSmall,
    async run(bed) {
      await bed.stop();
      execFileSync('mount', ['-o', 'remount,ro', bed.data]);
      await bed.refusedStart(/EROFS|read-only/);
      execFileSync('mount', ['-o', 'remount,rw', bed.data]);
      return 'the start is refused, with the path';
    },
  },
  {
    kind: 'the folder of a database is deleted while it is written',
    async run(bed) {
      const folder = path.dirname(await bed.logFolder('ledger'));
      await bed.stop();
      bed.keep();
      await bed.start();
      await bed.sql('ledger', 'SELECT COUNT(*) AS n FROM entry');
      rmSync(folder, { recursive: true });
      // What is written from here on is nowhere, so nobody notes it.
      const where = '/v1/database/ledger/call/append?confirmed=true';
      let number = 0;
      await until('it is noticed', async () => {
        number += 1;
        return (await bed.ask('POST', where, `[4000000000, ${number}]`)).status !== 200;
      });
      said(bed.service.output, /it was deleted, moved or replaced/);
      await bed.write('neighbour', 5);
      await bed.stop();
      bed.restore(path.relative(bed.data, folder));
      return 'it is noticed within seconds and stops that database alone';
    },
  },
];

/** Callers who write to a disk that is full by now. */
async function filledUnderLoad(bed: Bed): Promise<Load> {
  const load = await bed.underLoad();
  fill(bed);
  await until('writes are refused', () => load.refusals.size > 0);
  return load;
}

const ballast = (bed: Bed) => path.join(bed.data, 'ballast');

/** Takes all the room there is, or leaves so many bytes. */
function fill(bed: Bed, left = 0): void {
  empty(bed);
  const piece = Buffer.alloc(64 * 1024);
  const flags = { flag: 'a' };
  try {
    for (;;) writeFileSync(ballast(bed), piece, flags);
  } catch (error) {
    if (!String(error).includes('ENOSPC')) throw error;
  }
  truncateSync(ballast(bed), statSync(ballast(bed)).size - left);
  const { bavail, bsize } = statfsSync(bed.data);
  if (bavail * bsize > left + 64 * 1024) throw new Error(`${bavail} blocks are free`);
}

function empty(bed: Bed): void {
  if (existsSync(ballast(bed))) rmSync(ballast(bed));
}
