import { expect, it } from 'vitest';
import { checked, sampleSchema, scopeFor } from '../../../test/sql/check-statement.ts';
import { sampleTables } from '../../../test/sql/sample-tables.ts';
import { SensibleStatements } from '../../../test/sql/sensible-statements.ts';
import { assertSound } from '../../../test/sql/typed-invariants.ts';
import { Random } from '../../testing/random.ts';
import { SqlFailure } from '../failure.ts';
import { parse } from '../syntax/parse.ts';
import { checkSubscription } from './check-subscription.ts';

const schema = sampleSchema({
  tables: sampleTables,
  views: ['users'],
  filters: {
    t: ['SELECT * FROM t WHERE a > 5', 'SELECT t.* FROM t JOIN s ON t.id = s.id'],
    s: ['SELECT * FROM s WHERE x = 1'],
  },
});
const scopes = [scopeFor(schema, 'owner', ['1']), scopeFor(schema, 'stranger', ['1'])];

/** How many of `count` statements are checked in full. */
function checkRandomStatements(count: number, seed: number): number {
  const random = new Random(seed);
  const statements = new SensibleStatements(random);
  let sound = 0;
  for (let at = 0; at < count; at++) {
    const sql = statements.next();
    try {
      assertSound(checked(sql, random.pick(scopes)));
      sound++;
    } catch (error) {
      if (error instanceof SqlFailure) continue;
      throw new Error(`seed ${seed}, statement ${at}: ${sql}`, { cause: error });
    }
  }
  return sound;
}

/** Subscriptions: whole rows of one relation, with any of the conditions above. */
function checkRandomSubscriptions(count: number, seed: number): number {
  const random = new Random(seed);
  const statements = new SensibleStatements(random);
  let sound = 0;
  for (let at = 0; at < count; at++) {
    const sql = statements.next();
    try {
      const joinRules = random.chance(0.5);
      const { fragments } = checkSubscription(parse(sql), random.pick(scopes), { joinRules });
      for (const fragment of fragments) assertSound(fragment);
      sound++;
    } catch (error) {
      if (error instanceof SqlFailure) continue;
      throw new Error(`seed ${seed}, subscription ${at}: ${sql}`, { cause: error });
    }
  }
  return sound;
}

it('every random subscription is refused, or made of fragments in which all types fit', () => {
  expect(checkRandomSubscriptions(4_000, 20_261_122)).toBeGreaterThan(5);
});

it('every random statement is refused, or typed so that all types fit', () => {
  const count = 4_000;
  expect(checkRandomStatements(count, 20_261_121)).toBeGreaterThan(count / 10);
});
