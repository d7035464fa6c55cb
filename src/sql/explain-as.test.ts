import { expect, it } from 'vitest';
import { QueryLab } from '../../test/sql/query-lab.ts';
import { identityToHex } from '../values/identity.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import { identityType } from '../values/special-types.ts';
import { QueryBudget } from './budget.ts';
import { SqlFailure } from './failure.ts';
import { ownerRights, type Rights, strangerRights } from './rights.ts';
import { checkStatement, isWrite, prepare, startRead } from './statement.ts';

const u32 = { kind: 'u32' } as const;
const lab = new QueryLab(
  [
    {
      name: 'doc',
      columns: { id: u32, owner: identityType, room: u32 },
      indexes: ['unique:btree:id', 'btree:owner', 'btree:room'],
    },
    { name: 'secret', columns: { id: u32 }, isPrivate: true },
  ],
  { doc: ['SELECT * FROM doc WHERE owner = :sender', 'SELECT * FROM doc WHERE room = 1'] },
);
const ada = identityToHex(0xc2adan);
const developer: Rights = { ...ownerRights, key: 'developer', writes: false };

function explained(sql: string, rights: Rights): string {
  const caller = { identity: callerIdentity(0xabn), rights };
  const scope = { schema: lab.schema, caller, parameterNames: new Set<string>() };
  try {
    const prepared = prepare(checkStatement(sql, scope), lab.tables);
    if (isWrite(prepared)) throw new Error(`writes: ${sql}`);
    const budget = new QueryBudget();
    const request = { tables: lab.tables, caller, parameters: new Map(), budget, nowMicros: 0n };
    const execution = startRead(prepared, request);
    execution.run();
    return new TextDecoder().decode(execution.result().rows);
  } catch (error) {
    if (error instanceof SqlFailure) return `refused: ${error.error.message}`;
    throw error;
  }
}

const question = 'SELECT id FROM doc WHERE id > 3';

it.each([ownerRights, developer])('[ease 3.9] the filters are in the plan for $key', (rights) => {
  expect(explained(`EXPLAIN ${question}`, rights)).not.toContain('owner =');
  const plan = explained(`EXPLAIN AS '${ada}' ${question}`, rights);
  expect(plan).toContain(`doc_owner_idx_btree (0x${ada})`);
  expect(plan).toContain(`doc.owner <> 0x${ada}`);
  expect(plan).toMatch(/union all/);
  expect(plan).not.toContain(':sender');
  // A number for the whole table is not in the plan of a caller who sees a part of it.
  expect(explained(`explain as '0x${ada.toUpperCase()}' ${question}`, rights)).toBe(plan);
});

it('[ease 3.9] what is not there for others is not there behind AS', () => {
  expect(explained('EXPLAIN SELECT * FROM secret', ownerRights)).toContain('scan secret');
  expect(explained(`EXPLAIN AS '${ada}' SELECT * FROM secret`, ownerRights)).toMatch(
    /^refused: no such table: `secret`/,
  );
});

it('[ease 3.9] nobody below a developer asks as others', () => {
  const refused = 'refused: EXPLAIN AS needs the rights of a developer of the database';
  const reader: Rights = { ...developer, key: 'reader', readsProgram: false };
  const limited: Rights = { ...developer, key: 'limited', bypassesFilters: false };
  for (const rights of [strangerRights, reader, limited]) {
    for (const sql of [question, 'SELECT * FROM secret', 'SELECT * FROM nothing']) {
      expect(explained(`EXPLAIN AS '${ada}' ${sql}`, rights)).toBe(refused);
    }
  }
});

it.each([
  [`EXPLAIN AS 'ada' ${question}`, 'EXPLAIN AS takes an identity: 64 hexadecimal digits in'],
  [
    `EXPLAIN AS '${ada}' DELETE FROM doc`,
    'EXPLAIN AS supports only SELECT: other callers cannot write with SQL',
  ],
  [`EXPLAIN AS ${question}`, 'Unsupported: EXPLAIN AS'],
  [`EXPLAIN AS '${ada}'`, 'Unsupported: EXPLAIN AS'],
  [`EXPLAIN ANALYZE AS '${ada}' ${question}`, 'Unsupported: EXPLAIN ANALYZE AS'],
  [`EXPLAIN AS '${ada}' EXPLAIN ${question}`, 'Unsupported: EXPLAIN AS'],
])('[ease 3.9] %s is refused', (sql, text) => {
  expect(explained(sql, ownerRights)).toContain(`refused: ${text}`);
});
