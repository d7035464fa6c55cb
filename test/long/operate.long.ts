import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Bed } from '../operate/bed.ts';
import { data } from '../operate/data.ts';
import { disks, unmount } from '../operate/disks.ts';
import { ends } from '../operate/ends.ts';
import type { Fault } from '../operate/fault.ts';
import { others } from '../operate/others.ts';
import { root } from '../service/harness.ts';

const faults: readonly Fault[] = [...ends, ...disks, ...data, ...others];
const wanted = process.env.FAULT;

interface Line {
  readonly kind: string;
  readonly outcome: string;
  readonly isIntact: 'yes' | 'no' | '-';
}

const lines: Line[] = [];

afterAll(() => {
  const width = Math.max(...lines.map(({ kind }) => kind.length));
  const table = lines.map(
    (line) => `${line.kind.padEnd(width)}  ${line.isIntact.padEnd(6)}  ${line.outcome}`,
  );
  console.log([`${'kind'.padEnd(width)}  intact  outcome`, ...table].join('\n'));
});

it('has a line in the documents for each kind of fault', () => {
  const text = readFileSync(path.join(root, 'docs/operate/faults.md'), 'utf8');
  const listed = [...text.matchAll(/^\| ([^|]+?) \| /gm)].map(([, kind]) => kind);
  const kinds = listed.filter((kind) => kind !== 'fault' && kind !== '---');
  expect(kinds.toSorted()).toEqual(faults.map(({ kind }) => kind).toSorted());
});

describe('after each kind of fault the data is there', () => {
  const chosen = faults.filter(({ kind }) => wanted === undefined || kind.includes(wanted));
  it.each(chosen)('$kind', async ({ kind, isolation = 'thread', missing, mount, run }) => {
    if (missing !== undefined) {
      lines.push({ kind, outcome: `not tried: ${missing}`, isIntact: '-' });
      return;
    }
    const bed = await Bed.make(isolation, mount);
    let outcome = 'not as promised';
    let isIntact: Line['isIntact'] = 'no';
    try {
      outcome = await run(bed);
      await bed.intact();
      isIntact = 'yes';
    } finally {
      lines.push({ kind, outcome, isIntact });
      if (mount !== undefined) unmount(bed.data);
      await bed.remove();
    }
  });
});
