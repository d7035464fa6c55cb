import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  checked,
  checkedRead,
  refusal as refusalOf,
  sampleSchema,
  scopeFor,
} from '../check-statement.ts';
import { itAnswers, noTable, notInScope, RulesDatabase } from './rules-database.ts';

let db: RulesDatabase;

beforeAll(async () => {
  db = await RulesDatabase.start();
  await db.fill();
});
afterAll(() => db.stop());

const refusal = (sql: string) => db.refusal(sql);
const answer = (sql: string) => db.answer(sql);

describe('tables and views', () => {
  itAnswers(
    '[sql 4] canonical and accessor names, exact and case-sensitive',
    {
      'SELECT * FROM user_profile': '[[1,"Ann"]]',
      'SELECT * FROM userProfile': '[[1,"Ann"]]',
      'SELECT * FROM "userProfile"': '[[1,"Ann"]]',
      'SELECT * FROM UserProfile': noTable('UserProfile'),
      'SELECT * FROM USER_PROFILE': noTable('USER_PROFILE'),
      'SELECT * FROM my_notes': '[]',
      'SELECT * FROM myNotes': '[]',
      'SELECT * FROM mynotes': noTable('mynotes'),
      'SELECT id FROM plain LIMIT 0': '[]',
    },
    answer,
  );

  itAnswers(
    '[sql 4] they share one name space: a view joins like a table',
    { 'SELECT k.viewed FROM s JOIN keyed AS k ON s.id = k.key WHERE s.x = -2': '[["s2"]]' },
    answer,
  );

  const shadowed = sampleSchema({
    tables: [
      { name: 'first', sourceName: 'second', columns: { a: { kind: 'u32' } } },
      { name: 'second', sourceName: 'third', columns: { b: { kind: 'u32' } } },
      { name: 'hidden', isPrivate: true, columns: { c: { kind: 'u32' } } },
      { name: 'shown', sourceName: 'hidden', columns: { d: { kind: 'u32' } } },
    ],
  });
  const inShadowed = (sql: string, who: 'owner' | 'stranger' = 'owner') =>
    refusalOf(() => checked(sql, scopeFor(shadowed, who)));

  itAnswers(
    '[sql 4] canonical names are matched first',
    {
      'SELECT b FROM second': 'ok',
      'SELECT a FROM second': notInScope('a'),
      'SELECT b FROM third': 'ok',
      'SELECT a FROM first': 'ok',
    },
    inShadowed,
  );

  itAnswers(
    '[sql 4] a table that the caller may not read behaves as if it did not exist',
    {
      'SELECT * FROM secret': noTable('secret'),
      'SELECT * FROM no_such': noTable('no_such'),
      'SELECT s.* FROM s JOIN secret ON s.id = secret.id': noTable('secret'),
      'SELECT * FROM hidden_notes': noTable('hidden_notes'),
      'SELECT id FROM s WHERE id IN (SELECT id FROM secret)': noTable('secret'),
    },
    (sql) => db.refusal(sql, 'ada'),
  );
  it('[sql 4] nor does it stand in the way of a name that the caller may read', () => {
    expect(inShadowed('SELECT d FROM hidden', 'stranger')).toBe('ok');
    expect(inShadowed('SELECT d FROM hidden')).toBe(notInScope('d'));
  });
});

describe('relations in scope', () => {
  itAnswers(
    '[sql 4] the alias if given, and then not the name; else the name as written',
    {
      'SELECT q.id FROM s AS q WHERE s.id = 1': notInScope('s'),
      'SELECT s.id FROM s AS q': notInScope('s'),
      'SELECT q.* FROM s AS q WHERE q.id = 1': 'ok',
      'SELECT s.* FROM s WHERE s.id = 1': 'ok',
      'SELECT userProfile.userId FROM userProfile': 'ok',
      'SELECT user_profile.* FROM userProfile': notInScope('user_profile'),
      'SELECT userProfile.* FROM user_profile': notInScope('userProfile'),
      'SELECT S.id FROM s': notInScope('S'),
      'SELECT q.id FROM s AS Q': notInScope('q'),
      "UPDATE userProfile SET fullName = 'x' WHERE user_profile.user_id = 1":
        notInScope('user_profile'),
    },
    refusal,
  );
});

describe('columns', () => {
  itAnswers(
    '[sql 4] accessor and canonical names, exact and case-sensitive',
    {
      'SELECT userId, full_name FROM user_profile': '[[1,"Ann"]]',
      'SELECT user_id, fullName FROM userProfile': '[[1,"Ann"]]',
      'SELECT UserId FROM user_profile': notInScope('UserId'),
      'SELECT userid FROM user_profile': notInScope('userid'),
      "SELECT user_id FROM user_profile WHERE FullName = 'Ann'": notInScope('FullName'),
      "SELECT user_id FROM user_profile WHERE fullName = 'Ann' AND full_name = 'Ann'": '[[1]]',
    },
    answer,
  );

  const crossed = sampleSchema({
    tables: [
      {
        name: 'crossed',
        columns: { left: { kind: 'u32' }, right: { kind: 'string' } },
        sourceNames: { left: 'right', right: 'left' },
      },
    ],
  });
  it('[sql 4] accessor names are matched first', () => {
    const typeOf = (sql: string) => checkedRead(sql, scopeFor(crossed)).query.columns[0]?.type.kind;
    expect(typeOf('SELECT crossed.right FROM crossed')).toBe('u32');
    expect(typeOf('SELECT crossed.left FROM crossed')).toBe('string');
  });

  itAnswers(
    '[sql 4] the hidden column of a view can neither be selected nor filtered',
    {
      'SELECT arg_hash FROM my_notes': notInScope('arg_hash'),
      'SELECT * FROM my_notes WHERE arg_hash = 0': notInScope('arg_hash'),
      'SELECT my_notes.arg_hash FROM my_notes': notInScope('arg_hash'),
    },
    refusal,
  );
  it('[sql 4] nor does * show it', async () => {
    expect(await db.columns('SELECT * FROM my_notes')).toEqual(['id', 'owner', 'text']);
  });
});
