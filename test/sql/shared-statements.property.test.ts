import { describe, expect, it } from 'vitest';
import { keyMark, literalTextOf } from '../../src/sql/literal-text.ts';
import { Random } from '../../src/testing/random.ts';
import { someSeeds } from '../support/share.ts';
import { modes, Ours } from './differential/ours.ts';
import { randomQuery } from './differential/random-query.ts';
import { randomSchema } from './differential/random-schema.ts';
import { randomWrite } from './differential/random-write.ts';
import { kindsOf } from './differential/run.ts';
import { statementText } from './differential/tree.ts';

const numbers = ['0', '1', '2', '7', '20', '300', '70000', '1.5', '1e3', '99999999999999999999'];
const strings = ['', 'a', 'b', 'A', "it's", '5', '2025-02-17T10:30:45Z', 'red', 'x%', '\u{1f600}'];

/** The text with other literals, some of which do not fit their places. */
function withOthers(sql: string, random: Random): string {
  const text = literalTextOf(sql);
  if (text === undefined) return sql;
  const parts = text.key.split(new RegExp(`${keyMark}[sn]`));
  return parts.reduce((before, after, at) => {
    const literal = text.literals[at - 1];
    if (literal === undefined) return before + after;
    const list = literal.kind === 'string' ? strings : numbers;
    const other = random.chance(0.3) ? literal.text : random.pick(list);
    const written = literal.kind === 'string' ? `'${other.replaceAll("'", "''")}'` : other;
    return before + written + after;
  });
}

/** Which of several rows fails first is not defined. */
function shown(answer: ReturnType<Ours['run']>): string {
  if (answer.kind === 'rows') {
    const rows = answer.rows.map((row) => row.map(String).join(' | '));
    return rows.sort().join('\n');
  }
  const isOfRow = answer.reason === 'division' || answer.reason === 'overflow';
  return isOfRow ? 'a row fails' : answer.message;
}

describe('[ease 3.8] statements shared by texts that differ in literals', () => {
  it.each(someSeeds(20_261_129, 12))(
    'answer as each text alone does, seed %i',
    (seed) => {
      const random = new Random(seed);
      const schema = randomSchema(random);
      const [usual, ...others] = modes;
      const sharing = others.find(({ shares }) => shares === true);
      if (usual === undefined || sharing === undefined) throw new Error('both modes');
      const [alone, shared] = [Ours.of(schema, usual), Ours.of(schema, sharing)];
      for (let left = 15; left > 0; left--) {
        const write = random.chance(0.3) ? randomWrite(schema, random) : undefined;
        const statement = write ?? randomQuery(schema, random);
        const kinds = kindsOf(statement);
        const sql = statementText(statement, 'ours');
        for (const text of [
          sql,
          ...Array.from({ length: 5 }, () => withOthers(sql, random)),
          sql,
        ]) {
          expect(shown(shared.run(text, kinds)), text).toBe(shown(alone.run(text, kinds)));
        }
      }
    },
    60_000,
  );
});
