import { readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { withReader } from '../../src/log/segment-reader.ts';
import { readSnapshotHeader } from '../../src/log/snapshot.ts';
import { readOutline, snapshotBlocks } from '../../src/log/snapshot-reader.ts';
import { MachineDisk } from '../../src/node/disk.ts';
import { type Person, Running } from './running.ts';
import { written } from './written-module.ts';

const module = await written({
  tables: {
    note: `{ public: true }, {
      id: t.u32().primaryKey(),
      labels: t.array(t.string()).index('inverted'),
      body: t.string().index('text', { language: 'english' }),
      at: t.vector(3).index('vector', { metric: 'l2' }),
    }`,
  },
});

let running: Running;
let owner: Person;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  expect((await running.upload('notes', module, owner)).status).toBe(200);
});
afterAll(() => running.stop());

const rows = (statement: string) => running.rows('notes', statement, owner);

/** Parts of images in the only snapshot of the database, by index. */
function imagesIn(folder: string): string[][] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const file = names
    .filter((name) => name.endsWith('.rdbs'))
    .map((name) => path.join(folder, name));
  const images = file.flatMap((name) => {
    return withReader(new MachineDisk(path.dirname(name)), path.basename(name), (reader) => {
      const reading = readSnapshotHeader(reader.header());
      if (reading.kind !== 'valid') throw new Error('the header is not valid');
      const outline = readOutline(reader, reading.header.place.databaseIdentity);
      const parts = new Map<number, string[]>();
      for (const { block } of snapshotBlocks(reader, outline)) {
        if (block.kind !== 'derived') continue;
        const { indexId, part } = block.piece;
        parts.set(indexId, [...(parts.get(indexId) ?? []), part]);
      }
      return [...parts.values()];
    });
  });
  return images;
}

it('[history 2.32] a service opens a database with the indexes that its snapshot has', async () => {
  const values = Array.from({ length: 60 }, (_, id) => {
    return `(${id}, ['all', 'label ${id % 7}'], 'note ${id} runs', [${id}, ${id % 5}, 1])`;
  });
  const inserted = await running.sql(
    'notes',
    `INSERT INTO note (id, labels, body, at) VALUES ${values.join()}`,
    owner,
  );
  expect(inserted.status).toBe(200);
  const near = 'SELECT id FROM note ORDER BY l2_distance(at, [30.2, 0, 1]) LIMIT 1';
  const check = async () => {
    expect(await rows("SELECT id FROM note WHERE 'label 3' = ANY(labels) AND id < 11")).toEqual([
      [3],
      [10],
    ]);
    expect(await rows("SELECT id FROM note WHERE search(body, '41 running')")).toEqual([[41]]);
    expect(await rows(near)).toEqual([[30]]);
  };
  await check();
  const taken = await running.ask('POST', '/v1/database/notes/snapshot', { as: owner });
  expect(taken.status).toBe(202);
  await expect.poll(() => imagesIn(running.folder).length, { timeout: 20_000 }).toBe(3);
  for (const parts of imagesIn(running.folder)) {
    expect(parts).toEqual(['begin', 'entries', 'missed', 'end']);
  }
  await rows("SELECT id FROM note WHERE search(body, 'since')");
  expect((await running.sql('notes', 'DELETE FROM note WHERE id = 3', owner)).status).toBe(200);
  await running.pause();
  running = await Running.start({ dataDirectory: running.folder });
  expect(await rows("SELECT id FROM note WHERE 'label 3' = ANY(labels) AND id < 11")).toEqual([
    [10],
  ]);
  expect(await rows("SELECT id FROM note WHERE search(body, '41 running')")).toEqual([[41]]);
  expect(await rows(near)).toEqual([[30]]);
});
