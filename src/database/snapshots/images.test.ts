import { readdirSync, readFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  ItemDatabase,
  type ItemDatabase as Items,
  itemsNow,
} from '../../../test/support/item-database.ts';
import { contentOf } from '../../../test/support/store/images.ts';
import { checkSnapshot } from '../../history/check-snapshot.ts';
import { verifyDeeply } from '../../history/deep-verify.ts';
import { findFiles } from '../../history/files.ts';
import { blockKinds } from '../../log/block.ts';
import { withReader } from '../../log/segment-reader.ts';
import { readOutline, snapshotBlocks } from '../../log/snapshot-reader.ts';
import { MachineClock } from '../../node/clock.ts';
import { machineAlarms } from '../../node/machine-alarm.ts';
import { nextTurn } from '../../node/next-turn.ts';
import { TextIndex } from '../../search/text-index.ts';
import { SimulatedDisk } from '../../testing/simulated-disk.ts';
import { LocalSnapshots } from './local-snapshots.ts';
import { sizesOfLimits } from './snapshot-due.ts';

/** Snapshots of a database whose texts have an index, through the files. */

interface Around {
  readonly disk: SimulatedDisk;
  readonly heldBytesMin?: number;
}

function open(rowCount: number, { disk, heldBytesMin }: Around, isReopened = false) {
  const warnings: string[] = [];
  const sizes = { ...sizesOfLimits, heldBytesMin: heldBytesMin ?? sizesOfLimits.heldBytesMin };
  const snapshots = {
    snapshotDesk: new LocalSnapshots({ disk, salt: () => 7 }),
    makeAlarm: machineAlarms(new MachineClock()),
    snapshotSizes: sizes,
  };
  const warn = (message: string) => warnings.push(message);
  const options = { disk, warn, snapshots, isReopened, hasTextIndex: true };
  return ItemDatabase.open(rowCount, options).then((items) => ({ items, warnings }));
}

async function take(items: Items): Promise<void> {
  const reply = await items.request({ kind: 'snapshot' });
  expect(reply).toMatchObject({ kind: 'snapshot', outcome: { kind: 'taken' } });
}

const identityOf = (items: Items) => items.core.identity;
const nameOf = (disk: SimulatedDisk) => disk.list().find((name) => name.endsWith('.rdbs')) ?? '';

/** The kinds of the blocks of the snapshot, with their places. */
function blocksOf(disk: SimulatedDisk, identity: Items['core']['identity']) {
  return withReader(disk, nameOf(disk), (reader) => {
    const outline = readOutline(reader, identity);
    return [...snapshotBlocks(reader, outline)].map(({ block, position }) => ({ block, position }));
  });
}

/** Another disk with one file changed. */
function changed(disk: SimulatedDisk, name: string, bytes: Uint8Array): SimulatedDisk {
  const files = disk.list().map((each) => [each, disk.contentOf(each)] as const);
  return new SimulatedDisk(new Map([...files, [name, bytes]]));
}

async function taken(rowCount: number) {
  const disk = new SimulatedDisk();
  const { items } = await open(rowCount, { disk });
  await items.put(1, 'two foxes ran');
  await take(items);
  await items.put(2, 'a fox since');
  await items.remove(3);
  const expected = contentOf(items.table);
  await items.database.close();
  return { disk, expected, identity: identityOf(items), rows: itemsNow(items.table) };
}

afterEach(() => vi.restoreAllMocks());

describe('[history 2.32] a snapshot of a table with a text index', () => {
  it('has its image, from which a start has the index without reading the texts', async () => {
    const { disk, expected, identity } = await taken(300);
    const derived = blocksOf(disk, identity).filter(({ block }) => block.kind === 'derived');
    expect(derived.length).toBeGreaterThanOrEqual(4);
    const add = vi.spyOn(TextIndex.prototype, 'add');
    const { items, warnings } = await open(0, { disk }, true);
    // The log since has one new row.
    expect(add).toHaveBeenCalledTimes(1);
    expect(contentOf(items.table)).toBe(expected);
    expect(warnings).toEqual([]);
    await items.database.close();
  });

  it('opens without one, as earlier versions wrote it', async () => {
    const folder = new URL('../../../test/fixtures/snapshot-without-images/', import.meta.url);
    const names = readdirSync(folder).filter((name) => name.endsWith('.br'));
    const files = names.map((name) => {
      const bytes = brotliDecompressSync(readFileSync(new URL(name, folder)));
      return [name.slice(0, -'.br'.length), new Uint8Array(bytes)] as const;
    });
    const disk = new SimulatedDisk(new Map(files));
    const { items, warnings } = await open(0, { disk }, true);
    expect(items.core.snapshot?.offset).toBe(4);
    expect(warnings).toEqual([]);
    const { disk: other } = await taken(40);
    const { items: same } = await open(0, { disk: other }, true);
    expect(contentOf(items.table)).toBe(contentOf(same.table));
    for (const each of [items, same]) await each.database.close();
  });

  it('is verified with it, and the image is compared with the rows', async () => {
    const { disk, identity } = await taken(50);
    expect(verifyDeeply(disk, identity)).toEqual([]);
    const { lineage } = findFiles(disk, identity);
    expect(await checkSnapshot(disk, nameOf(disk), lineage, nextTurn)).toBeUndefined();
    // An index that is not that of its rows, in a file that is whole.
    vi.spyOn(TextIndex.prototype, 'load').mockImplementation(() => undefined);
    expect(verifyDeeply(disk, identity)).toEqual([
      { name: nameOf(disk), reason: 'the index item_text_idx_text is not that of its rows' },
    ]);
  });

  it('has none while rows that changed take much of the memory for it', async () => {
    const disk = new SimulatedDisk();
    const { items } = await open(3_000, { disk, heldBytesMin: 40_000 });
    const request = items.request({ kind: 'snapshot' });
    const { store } = items.core;
    // Half of the memory is held from the first slice on: a quarter of the rows is less.
    const bytes = vi.spyOn((await pinsOf(items)).constructor.prototype, 'heldBytes', 'get');
    bytes.mockReturnValue(0.6 * 40_000);
    expect(await request).toMatchObject({ kind: 'snapshot', outcome: { kind: 'taken' } });
    expect(blocksOf(disk, identityOf(items)).some(({ block }) => block.kind === 'derived')).toBe(
      false,
    );
    expect([...store.tables].every(({ held }) => held.isIdle)).toBe(true);
    await items.database.close();
  });
});

async function pinsOf(items: Items) {
  const { store } = items.core;
  const pins = store.pinAll();
  pins.release();
  await nextTurn();
  return pins;
}

describe('[history 2.33] a damaged image', () => {
  it('is passed over: the snapshot is used, and the index is built from the rows', async () => {
    const { disk, expected, identity, rows } = await taken(20);
    const name = nameOf(disk);
    const { offset } = withReader(disk, name, (reader) => readOutline(reader, identity).place);
    const whole = disk.contentOf(name);
    const blocks = blocksOf(disk, identity);
    const start = blocks.find(({ block }) => block.kind === 'derived')?.position ?? 0;
    const end = withReader(disk, name, (reader) => readOutline(reader, identity)).footer
      .directoryPosition;
    expect(end - start).toBeGreaterThan(250);
    for (let at = start; at < end; at += 3) {
      const bytes = whole.slice();
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8));
      const other = changed(disk, name, bytes);
      const { items, warnings } = await open(0, { disk: other }, true);
      expect([at, items.core.snapshot?.offset]).toEqual([at, offset]);
      expect(contentOf(items.table)).toBe(expected);
      expect(itemsNow(items.table)).toEqual(rows);
      expect(warnings.join()).toMatch(/images of indexes are not used: .*Nothing is lost/);
      expect(other.list()).toContain(name);
      await items.database.close();
      // What retention rests on must be whole.
      const { lineage } = findFiles(other, identity);
      const fault = await checkSnapshot(other, name, lineage, nextTurn);
      expect(fault?.kind).toBe('damaged');
    }
  });

  it('does not make a cut file a snapshot: the log has everything', async () => {
    const { disk, expected, identity } = await taken(20);
    const name = nameOf(disk);
    const whole = disk.contentOf(name);
    const start = blocksOf(disk, identity).find(({ block }) => block.kind === 'derived')?.position;
    for (let end = start ?? 0; end < whole.length; end += 41) {
      const { items } = await open(0, { disk: changed(disk, name, whole.slice(0, end)) }, true);
      expect(items.core.snapshot).toBeUndefined();
      expect(contentOf(items.table)).toBe(expected);
      await items.database.close();
    }
  });

  it('stands behind the rows and in front of the directory', async () => {
    const { disk, identity } = await taken(20);
    const kinds = blocksOf(disk, identity).map(({ block }) => blockKinds[block.kind]);
    const first = kinds.indexOf(blockKinds.derived);
    expect(kinds.slice(0, first)).not.toContain(blockKinds.derived);
    expect(new Set(kinds.slice(first))).toEqual(new Set([blockKinds.derived]));
  });
});
