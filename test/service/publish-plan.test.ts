import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildModule } from '../../src/bundle/build-module.ts';
import { describeProgram } from '../../src/host/publishing/describe-program.ts';
import { writeSchemaFile } from '../../src/schema/schema-file.ts';
import { writeFiles } from './cli-support.ts';
import { type Person, Running } from './running.ts';

/** More rows than are rewritten at once. */
const rowCount = 60_000;

const moduleOf = (columns: string) => `
  import { schema, t, table } from 'reducerdb/server';
  const db = schema({ item: table({ public: true }, { id: t.u32().primaryKey(), ${columns} }) });
  export default db;
  export const fill = db.reducer({ count: t.u32() }, (ctx, { count }) => {
    for (let id = 0; id < count; id += 1) ctx.db.item.insert({ id, size: '1', name: 'a' } as never);
  });
`;
const before = 'size: t.string(), name: t.string()';

let running: Running;
let owner: Person;
let folder: string;
let old: Uint8Array<ArrayBuffer>;
let described: Uint8Array;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-publish-plan-'));
  old = await program(moduleOf(before));
  described = await descriptionOf(old);
});
afterAll(async () => {
  await running.stop();
  rmSync(folder, { recursive: true });
});

let projectCount = 0;

async function descriptionOf(program: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const description = await describeProgram(program);
  if (description.kind === 'refused') throw new Error(description.message);
  return description.bytes;
}

interface Written {
  readonly steps: string;
  /** The description of the program that it starts from. */
  readonly from: Uint8Array;
}

/** Builds a module, with one migration from the old tables if there are steps, and with others. */
async function program(
  module: string,
  steps?: string,
  others: readonly Written[] = [],
): Promise<Uint8Array<ArrayBuffer>> {
  projectCount += 1;
  const project = path.join(folder, `p${projectCount}`);
  writeFiles(project, { 'package.json': '{"name":"p","type":"module"}', 'src/index.ts': module });
  const first = steps === undefined ? [] : [{ steps, from: described }];
  for (const [at, migration] of [...first, ...others].entries()) {
    const id = `000${at + 1}-x`;
    const schema = writeSchemaFile(migration.from);
    const from = JSON.parse(schema).hash;
    writeFiles(project, {
      [`migrations/${id}.schema.json`]: schema,
      [`migrations/${id}.ts`]: `
        import { migration } from 'reducerdb/server';
        export default migration({
          id: '${id}', from: '${from}', steps: (m) => [${migration.steps}],
        });
      `,
    });
  }
  return new Uint8Array((await buildModule(project, {})).program);
}

async function filled(database: string, count: number): Promise<void> {
  await running.upload(database, old, owner);
  expect((await running.call(database, 'fill', [count])).status).toBe(200);
}

async function planOf(database: string, next: Uint8Array<ArrayBuffer>) {
  const answer = await running.plan(database, next, owner, '&style=NoColor&trial=true');
  expect([answer.status, answer.text.slice(0, 15)]).toEqual([200, '{"AutoMigrate":']);
  return JSON.parse(answer.text).AutoMigrate;
}

const sizesAsNumbers = moduleOf('size: t.u32(), name: t.string()');

describe('a plan that is tried', () => {
  it('[living 5.10] shows steps and rows of a run that leaves nothing behind', async () => {
    await filled('tried', 4);
    const steps = `
      m.changeColumn('item', 'size', { using: (old) => Number(old.size) + old.id }),
      m.assert('SELECT COUNT(*) = 4 FROM item', 'four items'),
    `;
    const {
      migrate_plan: text,
      token,
      trial,
    } = await planOf('tried', await program(sizesAsNumbers, steps));
    expect(text).toContain('0001-x');
    expect(trial).toMatchObject({
      tables: [{ before: 'item', after: 'item', rows_before: 4, rows_after: 4 }],
      conflicts: [],
      assertions: [{ migration: '0001-x', text: 'four items', holds: true }],
      failure: null,
      online: false,
    });
    expect(trial.tables[0].samples).toHaveLength(3);
    expect(trial.tables[0].samples[1]).toEqual({
      before: { id: 1, size: '1', name: 'a' },
      after: [{ table: 'item', row: { id: 1, size: 2, name: 'a' } }],
    });
    expect(await running.rows('tried', "SELECT id FROM item WHERE size = '1'")).toHaveLength(4);
    // Another program has another token.
    const other = await program(sizesAsNumbers, `${steps.trim()} m.run(() => {})`);
    const query = `&policy=BreakClients&token=${token}`;
    const refused = await running.upload('tried', other, owner, query);
    expect([refused.status, refused.text]).toEqual([
      400,
      expect.stringContaining('Token provided'),
    ]);
  });

  it('[living 5.10] shows what would fail: equal rows, assertions, functions', async () => {
    await filled('failing', 3);
    const unique = moduleOf('size: t.u32().unique(), name: t.string()');
    const using = "m.changeColumn('item', 'size', { using: (old) => Number(old.size) })";
    const equal = await planOf('failing', await program(unique, using));
    expect(equal.trial.failure).toContain('nique');
    expect(equal.trial.conflicts).toEqual([
      expect.objectContaining({
        table: 'item',
        columns: ['size'],
        groups: [{ value: '1', rows: 3 }],
      }),
    ]);
    const refuted = `${using}, m.assert('SELECT COUNT(*) = 9 FROM item', 'nine items')`;
    const wrong = await planOf('failing', await program(sizesAsNumbers, refuted));
    expect(wrong.trial.assertions).toEqual([
      { migration: '0001-x', text: 'nine items', holds: false },
    ]);
    expect(wrong.trial.failure).toContain('nine items');
    const throwing = `m.changeColumn('item', 'size', { using: () => { throw new Error('no way'); } })`;
    const thrown = await planOf('failing', await program(sizesAsNumbers, throwing));
    expect(thrown.trial.failure).toContain('no way');
  });

  it('[living 5.10] shows rows as the first stretch of several migrations left them', async () => {
    await filled('stretches', 2);
    const middle = await program(moduleOf('size: t.u32(), name: t.string()'));
    const using = "m.changeColumn('item', 'size', { using: (old) => 7 }), m.run(() => {})";
    const then = "m.changeColumn('item', 'size', { using: (old) => 'large ' + old.size })";
    const later = { steps: then, from: await descriptionOf(middle) };
    const { trial } = await planOf('stretches', await program(moduleOf(before), using, [later]));
    expect(trial.failure).toBeNull();
    expect(trial.tables[0].samples[1].after).toEqual([
      { table: 'item', row: { id: 1, size: 7, name: 'a' } },
    ]);
  });

  it('[living 5.1] gives the definition that a migration begins with', async () => {
    await filled('defined', 0);
    const { text } = await running.plan('defined', old, owner, '&definition=true');
    const { definition } = JSON.parse(text).AutoMigrate;
    expect(Buffer.from(definition, 'base64').equals(described)).toBe(true);
  });
});

describe('a migration of many rows', () => {
  /** Slow enough for somebody to change their mind. */
  const slowly = `m.changeColumn('item', 'size', { using: (old) => {
    let sum = 0;
    for (let at = 0; at < 2_000; at += 1) sum += at % 7;
    return Number(old.size) + (sum < 0 ? 1 : 0);
  } })`;

  /** Begins a publish; gives its events as they come. */
  async function begin(database: string, next: Uint8Array<ArrayBuffer>, signal?: AbortSignal) {
    const { token } = JSON.parse((await running.plan(database, next, owner)).text).AutoMigrate;
    const answer = await fetch(
      `${running.service.url}/v1/database/${database}?host_type=Js&policy=BreakClients&token=${token}`,
      {
        method: 'PUT',
        headers: { authorization: `Bearer ${owner.token}`, accept: 'application/x-ndjson' },
        body: next,
        ...(signal && { signal }),
      },
    );
    return eventsOf(answer.body as unknown as AsyncIterable<Uint8Array>);
  }

  async function* eventsOf(body: AsyncIterable<Uint8Array>) {
    let text = '';
    for await (const piece of body) {
      text += Buffer.from(piece).toString();
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) yield JSON.parse(line);
    }
  }

  const isAsBefore = async (database: string) => {
    const counted = "SELECT COUNT(*) AS n FROM item WHERE size = '1'";
    expect(await running.rows(database, counted)).toEqual([[rowCount]]);
    expect((await running.call(database, 'fill', [0])).status).toBe(200);
  };

  it('[living 5.8] says how far it is, and ends with the new rows', async () => {
    await filled('large', rowCount);
    const events = [];
    for await (const event of await begin('large', await program(sizesAsNumbers, slowly))) {
      events.push(event);
    }
    expect(events[0]).toMatchObject({ event: 'plan', break_clients: true });
    expect(events.at(-1)).toMatchObject({ event: 'done', Success: { op: 'updated' } });
    const progress = events.slice(1, -1);
    expect(progress.length).toBeGreaterThan(0);
    for (const event of progress) {
      expect(event).toMatchObject({ event: 'progress', table: 'item', total: rowCount });
      expect(event.done).toBeLessThanOrEqual(rowCount);
      expect(event.rows_per_second).toEqual(expect.any(Number));
    }
    expect(await running.rows('large', 'SELECT COUNT(*) AS n FROM item WHERE size = 1')).toEqual([
      [rowCount],
    ]);
  });

  it('[living 5.8] is abandoned from elsewhere, and leaves everything as it was', async () => {
    await filled('cancelled', rowCount);
    let last: { event: string; status?: number } | undefined;
    for await (const event of await begin('cancelled', await program(sizesAsNumbers, slowly))) {
      if (event.event === 'progress' && last?.event !== 'progress') {
        const answer = await running.ask('DELETE', '/v1/database/cancelled/publish', { as: owner });
        expect(answer.text).toBe('{"cancelled":true}');
      }
      last = event;
    }
    expect(last).toEqual({
      event: 'error',
      status: 409,
      message: expect.stringContaining('cancelled'),
    });
    await isAsBefore('cancelled');
  });

  it('[living 5.8] is abandoned by a client that leaves', async () => {
    await filled('left', rowCount);
    const leaving = new AbortController();
    const next = await program(sizesAsNumbers, slowly);
    const events = await begin('left', next, leaving.signal);
    const follow = async () => {
      for await (const event of events) if (event.event === 'progress') leaving.abort();
    };
    await expect(follow()).rejects.toThrow('abort');
    const isOver = async () => {
      return (await running.ask('DELETE', '/v1/database/left/publish', { as: owner })).text;
    };
    await expect.poll(isOver, { timeout: 30_000 }).toBe('{"cancelled":false}');
    await isAsBefore('left');
  });
});
