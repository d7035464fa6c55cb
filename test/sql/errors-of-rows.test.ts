import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { areErrorsOfRows, type Engines } from './differential/errors-of-rows.ts';
import { modes, Ours } from './differential/ours.ts';
import { Postgres } from './differential/postgres.ts';
import { tableOf } from './differential/regressions.ts';
import { type Expression, expression, type Select, statementText } from './differential/tree.ts';

let postgres: Postgres;

beforeAll(async () => {
  postgres = await Postgres.open();
}, 90_000);
afterAll(() => postgres.close());

const table = tableOf('t0(id i64, c0 i8, c1 i8) [unique:btree:id]', [
  [1n, 0n, 1n],
  [2n, 100n, 1n],
  [3n, 0n, 100n],
]);
const divided = expression('i8', [{ ours: 'r.c1 / r.c0', postgres: 'trunc(r.c1 / r.c0)' }]);
const doubled = expression('i8', [
  { ours: 'r.c0 + r.c0', postgres: 'fit(r.c0 + r.c0, -128, 127)' },
]);

/** Whether an overflow of ours stands beside a division by zero there. */
async function isAccepted(items: readonly Expression[], where: string): Promise<boolean> {
  const [usual] = modes;
  if (usual === undefined) throw new Error('no mode');
  await postgres.load([table]);
  const ours = Ours.of([table], usual);
  const engines: Engines = {
    ours: (asked, kinds) => ours.run(statementText(asked, 'ours'), kinds),
    theirs: (asked, kinds) => postgres.run(statementText(asked, 'postgres'), kinds),
  };
  const body: Select = {
    kind: 'select',
    isDistinct: false,
    star: undefined,
    items: items.map((item, at) => ({ expression: item, alias: `x${at}` })),
    from: [{ join: 'first', relation: 't0', alias: 'r', on: undefined }],
    where: expression('bool', [where]),
    groupBy: [],
    having: undefined,
  };
  const nothing = { commonTables: [], orderBy: [], limit: undefined, offset: undefined };
  const refusals = {
    ours: { kind: 'refused', reason: 'overflow', message: '' },
    theirs: { kind: 'refused', reason: 'division', message: '' },
  } as const;
  const given = { engines, refusals };
  return await areErrorsOfRows({ kind: 'query', body, ...nothing }, [table], given);
}

describe('errors that differ', () => {
  it('are accepted where one row raises the one, and another row the other', async () => {
    expect(await isAccepted([divided, doubled], 'TRUE')).toBe(true);
  });

  it('are accepted where two items of one row raise them', async () => {
    const quadrupled = expression('i8', [
      { ours: 'r.c1 + r.c1', postgres: 'fit(r.c1 + r.c1, -128, 127)' },
    ]);
    expect(await isAccepted([divided, quadrupled], 'r.id = 3')).toBe(true);
  });

  it('are not where no row raises the one, or WHERE leaves it out', async () => {
    expect(await isAccepted([divided], 'TRUE')).toBe(false);
    expect(await isAccepted([doubled], 'TRUE')).toBe(false);
    expect(await isAccepted([divided, doubled], 'r.id <> 2')).toBe(false);
    expect(await isAccepted([divided, doubled], 'r.c0 <> 0')).toBe(false);
  });
});
