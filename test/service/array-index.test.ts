import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Person, Running } from './running.ts';
import { written } from './written-module.ts';

const module = await written({
  tables: {
    ticket: `{ public: true }, {
      id: t.u32().primaryKey(),
      labels: t.array(t.string()).index('inverted'),
    }`,
  },
  exports: `
    export const relabel = db.reducer({ id: t.u32(), label: t.string() }, (ctx, { id, label }) => {
      ctx.db.ticket.id.update({ id, labels: [label] });
      if (label === 'refused') throw new SenderError('refused');
    });
  `,
});

let running: Running;
let owner: Person;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  const answer = await running.upload('desk', module, owner);
  expect(answer.status).toBe(200);
});
afterAll(() => running.stop());

const rows = (statement: string) => running.rows('desk', statement, owner);
const labelled = (label: string) =>
  rows(`SELECT id FROM ticket WHERE '${label}' = ANY(labels) ORDER BY id`);

it('[ease 3.3] an index of elements follows calls and statements, and is there after a restart', async () => {
  const values = Array.from({ length: 50 }, (_, id) => `(${id}, ['all', 'label ${id % 25}'])`);
  const inserted = await running.sql(
    'desk',
    `INSERT INTO ticket (id, labels) VALUES ${values.join()}`,
    owner,
  );
  expect(inserted.status).toBe(200);
  expect((await running.call('desk', 'relabel', [3, 'moved'], owner)).status).toBe(200);
  expect((await running.call('desk', 'relabel', [4, 'refused'], owner)).status).toBe(530);
  const check = async () => {
    const plan = await rows("EXPLAIN SELECT id FROM ticket WHERE 'moved' = ANY(labels)");
    expect(JSON.stringify(plan)).toContain('search ticket by ticket_labels_idx_inverted');
    expect(await labelled('moved')).toEqual([[3]]);
    expect(await labelled('refused')).toEqual([]);
    expect(await labelled('label 3')).toEqual([[28]]);
    expect(await labelled('label 4')).toEqual([[4], [29]]);
    expect(await labelled('all')).toHaveLength(49);
  };
  await check();
  await running.pause();
  running = await Running.start({ dataDirectory: running.folder });
  await check();
});

it('[ease 3.3] those who look at a schema see the index', async () => {
  const shown = await rows('SHOW COLUMNS FROM ticket');
  expect(shown.map((row) => row[3])).toEqual(['primary', 'inverted']);
  const schema = await running.ask('GET', '/v1/database/desk/schema?version=10', { as: owner });
  expect(schema.text).toContain('"DerivedIndexes"');
  const answer = JSON.parse(await running.tool('desk', 'get_schema', {}, owner));
  expect(answer.tables[0].derived_indexes).toEqual([{ kind: 'inverted', column: 'labels' }]);
});
