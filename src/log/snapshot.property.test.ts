import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { someRuns } from '../../test/support/share.ts';
import { MemoryDisk } from '../node/memory-disk.ts';
import { indexId, tableId } from '../schema/ids.ts';
import { commitOffset } from '../store/commit-offset.ts';
import { Random } from '../testing/random.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { epoch } from './epoch.ts';
import { withReader } from './segment-reader.ts';
import type { SnapshotBlock, SnapshotPlace } from './snapshot.ts';
import { readOutline, readSnapshot } from './snapshot-reader.ts';
import { SnapshotWriter } from './snapshot-writer.ts';

function randomPlace(random: Random): SnapshotPlace {
  return {
    databaseIdentity: databaseIdentity(random.bigint(256)),
    epoch: epoch(random.bigint(64)),
    offset: commitOffset(Number(random.bigint(random.pick([4, 32, 53])))),
    position: Number(random.bigint(random.pick([8, 40, 50]))) * 8,
    chainLow: Number(random.bigint(32)) | 0,
    chainHigh: Number(random.bigint(32)) | 0,
    lastMicros: random.bigint(53),
    begunMicros: random.bigint(63) - 2n ** 62n,
    segment: Number(random.bigint(26)),
  };
}

function randomBlocks(random: Random): SnapshotBlock[] {
  const pieces = Array.from({ length: random.below(4) }, () => random.bytes(random.below(3000)));
  const programBytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const tables = Array.from({ length: random.below(5) }, (_, at) => at * 300 + random.below(300));
  return [
    {
      kind: 'schema',
      schema: {
        programKind: random.pick(['js', 'wasm']),
        catalog: random.bytes(random.below(500)),
        definition: random.bytes(random.below(500)),
        programBytes,
        publishedMicros: random.bigint(63) - 2n ** 62n,
        offset: commitOffset(random.below(1000)),
      },
    },
    ...pieces.map((bytes) => ({ kind: 'program' as const, bytes })),
    {
      kind: 'marks',
      sequences: Array.from({ length: random.below(4) }, () => ({
        id: random.below(5000),
        value: random.bigint(random.pick([8, 64, 256])) - (random.chance(0.5) ? 1n << 62n : 0n),
      })),
    },
    ...tables.flatMap((id) => {
      return Array.from({ length: random.between(1, 4) }, () => ({
        kind: 'rows' as const,
        tableId: tableId(id),
        rows: { count: random.between(1, 500), bytes: random.bytes(random.below(9000)) },
      }));
    }),
    ...tables.flatMap((id) => {
      return Array.from({ length: random.below(3) }, () => ({
        kind: 'derived' as const,
        tableId: tableId(id),
        piece: {
          indexId: indexId(random.below(500)),
          part: random.pick(['begin', 'entries', 'missed', 'end'] as const),
          bytes: random.bytes(random.below(900)),
        },
      }));
    }),
  ];
}

describe('a snapshot', () => {
  it('[history 2.20, 2.22] reads back as written, the sizes of its tables first', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        const random = new Random(seed);
        const place = randomPlace(random);
        const blocks = randomBlocks(random);
        const disk = new MemoryDisk();
        const writer = SnapshotWriter.begin(disk, place, Number(random.bigint(32)) | 0);
        for (const block of blocks) await writer.add(block);
        const { name } = await writer.finish(Promise.resolve());
        withReader(disk, name, (reader) => {
          const found: SnapshotBlock[] = [];
          const outline = readOutline(reader, place.databaseIdentity);
          readSnapshot(reader, outline, (block) => found.push(structuredClone(block)));
          expect(outline.place).toEqual(place);
          expect(found).toEqual(blocks);
          expect(outline.tables.map(sizeOf)).toEqual(sizesOf(blocks));
        });
      }),
      { numRuns: someRuns(200) },
    );
  });
});

interface Size {
  readonly tableId: number;
  readonly rowCount: number;
  readonly rowBytes: number;
}

function sizeOf({ tableId: id, rowCount, rowBytes }: Size): Size {
  return { tableId: id, rowCount, rowBytes };
}

function sizesOf(blocks: readonly SnapshotBlock[]): Size[] {
  const sizes = new Map<number, Size>();
  for (const block of blocks) {
    if (block.kind !== 'rows') continue;
    const { tableId: id, rows } = block;
    const before = sizes.get(id) ?? { tableId: id, rowCount: 0, rowBytes: 0 };
    const rowCount = before.rowCount + rows.count;
    sizes.set(id, { tableId: id, rowCount, rowBytes: before.rowBytes + rows.bytes.length });
  }
  return [...sizes.values()];
}
