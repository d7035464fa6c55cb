import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { someBlocks, writeSnapshot } from '../../test/simulation/snapshot-fixture.ts';
import { limits } from '../limits.ts';
import { MemoryDisk } from '../node/memory-disk.ts';
import { tableId } from '../schema/ids.ts';
import { commitOffset } from '../store/commit-offset.ts';
import { SimulatedDisk } from '../testing/simulated-disk.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { crc32c } from './checksum.ts';
import type { Disk } from './disk.ts';
import { epoch } from './epoch.ts';
import { withReader } from './segment-reader.ts';
import type { SnapshotBlock, SnapshotPlace } from './snapshot.ts';
import { readOutline, readSnapshot } from './snapshot-reader.ts';
import { SnapshotWriter } from './snapshot-writer.ts';

const identity = databaseIdentity(77n);
const name = 'snapshot-0000000000000012.rdbs';

const place: SnapshotPlace = {
  databaseIdentity: identity,
  epoch: epoch(0x0123456789abcdefn),
  offset: commitOffset(12),
  position: 4096,
  chainLow: 0x11223344,
  chainHigh: -2,
  lastMicros: 1_700_000_000_000_000n,
  begunMicros: 1_700_000_000_000_001n,
  segment: 3,
};

/** The example of the document that describes the format. */
function vector(): string {
  const document = new URL('../../docs/format/snapshot.md', import.meta.url);
  const [, example = ''] = /## Example[\s\S]*?```\n([\s\S]*?)```/.exec(
    readFileSync(document, 'utf8'),
  ) ?? [''];
  return example.replaceAll(/^[a-z]+(?: of \d)? {3,}|\s/gm, '');
}

function contentOf(disk: Disk, file: string): Uint8Array {
  const opened = disk.open(file, 'existing');
  const bytes = new Uint8Array(opened.size());
  opened.read(bytes, 0);
  return bytes;
}

async function exampleFile(): Promise<Uint8Array> {
  const disk = new MemoryDisk();
  const content = { place, salt: 0x12345678, records: ['a', 'b'], program: new Uint8Array([7, 7]) };
  await writeSnapshot(disk, content, () => Promise.resolve());
  return contentOf(disk, name);
}

/** Why a file is not a snapshot, and where; `undefined` if it is one. */
function faultOf(bytes: Uint8Array, file = name): string | undefined {
  const disk = new SimulatedDisk([[file, bytes]]);
  try {
    withReader(disk, file, (reader) => {
      readSnapshot(reader, readOutline(reader, identity), () => undefined);
    });
    return undefined;
  } catch (error) {
    expect(error).toMatchObject({ name: 'SnapshotDamageError', file });
    return (error as Error).message;
  }
}

function resealed(bytes: Uint8Array, change: (view: DataView) => void): Uint8Array {
  const copy = bytes.slice();
  const view = new DataView(copy.buffer);
  change(view);
  view.setUint32(124, crc32c(copy, 0, 124), true);
  return copy;
}

describe('the file of a snapshot', () => {
  it('[history 2.20, 2.21] is as docs/format/snapshot.md says, byte for byte', async () => {
    const bytes = await exampleFile();
    expect(vector()).toHaveLength(2 * 536);
    expect(Buffer.from(bytes).toString('hex')).toBe(vector());
    expect(faultOf(bytes)).toBeUndefined();
  });

  it('[history 2.20] with any bit flipped is not a snapshot', async () => {
    const bytes = await exampleFile();
    for (let position = 0; position < bytes.length; position++) {
      for (let bit = 0; bit < 8; bit++) {
        const changed = bytes.slice();
        changed[position] = (changed[position] ?? 0) ^ (1 << bit);
        expect(faultOf(changed), `byte ${position}, bit ${bit}`).toBeDefined();
      }
    }
  });

  it('[history 2.20] of any other length is not a snapshot', async () => {
    const bytes = await exampleFile();
    for (let length = 0; length < bytes.length; length++) {
      expect(faultOf(bytes.slice(0, length)), `${length} bytes`).toBeDefined();
    }
    for (const more of [1, 8, 80, 4096]) {
      const longer = new Uint8Array(bytes.length + more);
      longer.set(bytes);
      expect(faultOf(longer), `${more} bytes more`).toBeDefined();
    }
  });

  it('[history 2.20] without a block, or with two swapped, is not a snapshot', async () => {
    const bytes = await exampleFile();
    // The blocks of the two tables have the same length.
    const swapped = bytes.slice();
    swapped.copyWithin(304, 352, 400);
    swapped.set(bytes.subarray(304, 352), 352);
    expect(faultOf(swapped)).toContain('a block follows another one');
    for (const [from, to] of [
      [128, 184],
      [184, 224],
      [304, 352],
      [400, 456],
    ] as const) {
      const shorter = new Uint8Array([...bytes.subarray(0, from), ...bytes.subarray(to)]);
      expect(faultOf(shorter)).toBeDefined();
    }
  });

  it('[history 2.20] of another database, offset or version says so', async () => {
    const bytes = await exampleFile();
    const other = resealed(bytes, (view) => view.setUint32(16, 78, true));
    expect(faultOf(other)).toContain('it belongs to another database, 0000');
    expect(faultOf(bytes, 'snapshot-0000000000000013.rdbs')).toContain('it is of offset 12');
    const later = resealed(bytes, (view) => view.setUint32(8, 2, true));
    expect(faultOf(later)).toContain('version 2, this program reads version 1');
    const epochs = resealed(bytes, (view) => view.setUint32(48, 1, true));
    expect(faultOf(epochs)).toContain('does not belong to its header');
  });

  it('[history 2.20] whose ends are from two files is not a snapshot', async () => {
    const bytes = await exampleFile();
    const other = new MemoryDisk();
    const content = { place, salt: 5, records: ['a', 'b'], program: new Uint8Array([7, 7]) };
    await writeSnapshot(other, content, () => Promise.resolve());
    const second = contentOf(other, name);
    for (const at of [128, 184, 304, 456]) {
      const mixed = new Uint8Array([...bytes.subarray(0, at), ...second.subarray(at)]);
      expect(faultOf(mixed)).toBeDefined();
    }
  });
});

describe('a snapshot writer', () => {
  const someRows = (count: number, bytes: number, table = 1): SnapshotBlock => {
    return {
      kind: 'rows',
      tableId: tableId(table),
      rows: { bytes: new Uint8Array(bytes), count },
    };
  };

  async function begun(disk: Disk): Promise<SnapshotWriter> {
    const writer = SnapshotWriter.begin(disk, place, 1);
    for (const block of someBlocks) await writer.add(block);
    return writer;
  }

  it('[history 2.4, 2.5] writes the footer once the log is durable, then the name', async () => {
    const disk = new SimulatedDisk();
    const writer = await begun(disk);
    let isDurable = (): void => undefined;
    const durable = new Promise<void>((resolve) => {
      isDurable = resolve;
    });
    const finished = writer.finish(durable);
    await expect.poll(() => disk.counts.get('sync')).toBe(1);
    const before = disk.contentOf(`${name}.part`).length;
    expect(disk.list()).toEqual([`${name}.part`]);
    isDurable();
    const { bytes } = await finished;
    expect(bytes).toBe(before + 80);
    expect(disk.list()).toEqual([name]);
    expect(disk.counts.get('sync')).toBe(2);
    expect(disk.counts.get('syncDirectory')).toBe(1);
  });

  it('[history 2.9] leaves nothing behind when the log does not become durable', async () => {
    const disk = new SimulatedDisk();
    const writer = await begun(disk);
    await expect(writer.finish(Promise.reject(new Error('no log')))).rejects.toThrow('no log');
    expect(disk.list()).toEqual([]);
    expect(() => writer.abort()).not.toThrow();
  });

  it.each(['create', 'write', 'sync', 'rename'] as const)(
    '[history 2.9] that fails at a %s leaves nothing behind',
    async (operation) => {
      for (let number = 1; number <= 3; number++) {
        const disk = new SimulatedDisk();
        disk.failAt(operation, number, 'EIO');
        const whole = async () => (await begun(disk)).finish(Promise.resolve());
        const outcome = await whole().catch((error: Error) => error.name);
        if (outcome === 'DiskError') expect(disk.list()).toEqual([]);
        else expect(disk.list()).toEqual([name]);
      }
    },
  );

  it('[history 2.5] replaces what an earlier one left, and can be given up', async () => {
    const disk = new SimulatedDisk([[`${name}.part`, new Uint8Array(9)]]);
    const writer = await begun(disk);
    writer.abort();
    expect(disk.list()).toEqual([]);
    await expect(writer.add(someRows(1, 1))).rejects.toThrow('ended');
    await expect(writer.finish(Promise.resolve())).rejects.toThrow('ended');
  });

  it('[history 2.3] syncs as it goes, so that the last sync is short', async () => {
    const disk = new SimulatedDisk();
    const writer = await begun(disk);
    const block = someRows(100, limits.snapshotBlockBytes);
    const count = (2 * limits.snapshotSyncBytes) / limits.snapshotBlockBytes;
    for (let added = 0; added < count; added++) await writer.add(block);
    expect(disk.counts.get('sync')).toBe(2);
    writer.abort();
  });

  it('[history 2.3] rejects blocks out of order, too large, and tables in two places', async () => {
    const disk = new SimulatedDisk();
    const fresh = () => SnapshotWriter.begin(disk, place, 1);
    await expect(fresh().add(someRows(1, 1))).rejects.toThrow('kind 4 after one of kind 0');
    await expect(fresh().finish(Promise.resolve())).rejects.toThrow('a schema, a program');
    const writer = await begun(disk);
    const tooLarge = someRows(2, limits.snapshotBlockBytes + 1);
    await expect(writer.add(tooLarge)).rejects.toThrow('too large');
    await writer.add(someRows(1, limits.snapshotBlockBytes + 1));
    await writer.add(someRows(1, 5, 2));
    await expect(writer.add(someRows(1, 5, 1))).rejects.toThrow('in two places');
  });
});
