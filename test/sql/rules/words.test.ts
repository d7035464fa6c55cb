import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { itAnswers, noTable, notInScope, RulesDatabase } from './rules-database.ts';

let db: RulesDatabase;

beforeAll(async () => {
  db = await RulesDatabase.start();
  await db.fill();
});
afterAll(() => db.stop());

const refusal = (sql: string) => db.refusal(sql);

const relationWords = 'lateral table unnest';
const insertWords = 'directory local table';
const columnWords = `case current_catalog current_date current_time current_timestamp current_user
  false localtime localtimestamp not null session_user true user`;
/** Words of functions are names as well, unless a parenthesis follows. */
const functionWords = `array_agg cast ceil exists extract floor interval listagg overlay position
  safe_cast substring trim try_cast`;
const firstItemWords = 'all distinct top';
const relationAliasWords = `analyze as cluster cross distribute end except explain fetch full group
  having inner intersect join lateral left limit natural offset on order outer partition pivot
  qualify right select set sort top union using view where window with`;
const columnAliasWords = `analyze and as between cluster collate distribute div end except explain
  fetch from group having ilike in intersect into is lateral like limit offset operator or order
  select similar sort top union view where with xor`;

/** A word that is read as a name is missed under that name: no table or column has it. */
interface Position {
  readonly where: string;
  /** The word stands at `@`. */
  readonly statement: string;
  readonly words: string;
  readonly missing: (word: string) => string;
}

const fieldOf = (table: string) => (word: string) =>
  `\`${table}\` does not have a field \`${word}\``;

const positions: readonly Position[] = [
  {
    where: 'relation in SELECT',
    statement: 'SELECT * FROM @',
    words: relationWords,
    missing: noTable,
  },
  {
    where: 'relation after JOIN',
    statement: 'SELECT t.* FROM t CROSS JOIN @',
    words: relationWords,
    missing: noTable,
  },
  {
    where: 'relation in UPDATE',
    statement: 'UPDATE @ SET a = 1',
    words: relationWords,
    missing: noTable,
  },
  {
    where: 'relation in DELETE',
    statement: 'DELETE FROM @',
    words: relationWords,
    missing: noTable,
  },
  {
    where: 'table after INSERT INTO',
    statement: 'INSERT INTO @ (a) VALUES (1)',
    words: insertWords,
    missing: noTable,
  },
  {
    where: 'unqualified column in WHERE',
    statement: 'SELECT * FROM t WHERE @ = 1',
    words: columnWords,
    missing: notInScope,
  },
  {
    where: 'unqualified column in a SELECT list',
    statement: 'SELECT id, @ FROM t',
    words: columnWords,
    missing: notInScope,
  },
  {
    where: 'first SELECT item',
    statement: 'SELECT @ FROM t',
    words: `${firstItemWords} ${columnWords}`,
    missing: notInScope,
  },
];

const listOf = (words: string) => words.split(/\s+/);

for (const { where, statement, words, missing } of positions) {
  describe(where, () => {
    for (const word of listOf(words)) {
      it(`[sql 2.1] ${where}: ${word} stands only in quotes`, async () => {
        for (const spelling of [word, word.toUpperCase()]) {
          expect(await refusal(statement.replace('@', spelling))).not.toBe(missing(spelling));
          const quoted = statement.replace('@', `"${spelling}"`);
          expect(await refusal(quoted)).toBe(missing(spelling));
        }
      });
    }

    it(`[sql 2.1] ${where}: every other word stands unquoted`, async () => {
      const taken = new Set(listOf(words));
      // A clause that may follow SELECT or FROM at once is not a name there.
      const all = `${relationWords} ${insertWords} ${columnWords} ${functionWords}
        ${firstItemWords} ${relationAliasWords} ${columnAliasWords}`;
      for (const word of new Set(listOf(all))) {
        if (taken.has(word)) continue;
        expect(await refusal(statement.replace('@', word)), word).toBe(missing(word));
      }
    });
  });
}

describe('positions without any such word', () => {
  const all = new Set(
    listOf(`${relationWords} ${insertWords} ${columnWords} ${functionWords}
      ${firstItemWords} ${relationAliasWords} ${columnAliasWords}`),
  );
  const free: readonly (readonly [string, string, (word: string) => string])[] = [
    ['a qualified column in WHERE', 'SELECT * FROM t WHERE t.@ = 1', notInScope],
    ['a qualified column in a list', 'SELECT t.@ FROM t', notInScope],
    ['a column in an INSERT list', 'INSERT INTO s (id, @) VALUES (1, 2)', fieldOf('s')],
    ['a column in UPDATE SET', 'UPDATE t SET @ = 1', fieldOf('t')],
    ['a column alias after AS', 'SELECT id AS @ FROM s', () => 'ok'],
    ['a relation alias after AS', 'SELECT id FROM s AS @', () => 'ok'],
  ];
  for (const [where, statement, missing] of free) {
    it(`[sql 2.1] every word may be ${where}`, async () => {
      for (const word of all) {
        expect(await refusal(statement.replace('@', word)), word).toBe(missing(word));
      }
    });
  }
});

describe('aliases without AS', () => {
  for (const word of listOf(relationAliasWords)) {
    it(`[sql 2.1] relation alias without AS: ${word} stands only in quotes`, async () => {
      expect(await refusal(`SELECT ${word}.id FROM s ${word}`)).not.toBe('ok');
      expect(await refusal(`SELECT "${word}".id FROM s "${word}"`)).toBe('ok');
    });
  }
  for (const word of listOf(columnAliasWords)) {
    it(`[sql 2.1] column alias without AS: ${word} stands only in quotes`, async () => {
      expect(await refusal(`SELECT id ${word} FROM s`)).not.toBe('ok');
      expect(await db.columns(`SELECT id "${word}" FROM s`)).toEqual([word]);
    });
  }

  it('[sql 2.1] every other word is an alias without AS', async () => {
    const columnOnly = listOf(columnAliasWords).filter(
      (word) => !listOf(relationAliasWords).includes(word),
    );
    for (const word of columnOnly) {
      expect(await refusal(`SELECT ${word}.id FROM s ${word}`), word).toBe('ok');
    }
    const relationOnly = listOf(relationAliasWords).filter(
      (word) => !listOf(columnAliasWords).includes(word),
    );
    for (const word of relationOnly) {
      expect(await db.columns(`SELECT id ${word} FROM s`), word).toEqual([word]);
    }
  });
});

describe('no general list of reserved words', () => {
  itAnswers(
    '[sql 2.1] these parse',
    {
      'SELECT * FROM order': noTable('order'),
      'SELECT * FROM user': noTable('user'),
      'SELECT select, from, group FROM t': notInScope('select'),
      'SELECT * FROM t WHERE end = 1': notInScope('end'),
      'SELECT * FROM t WHERE left = 1': notInScope('left'),
    },
    refusal,
  );

  const bare = ['user', 'current_user', 'session_user', 'current_catalog'];
  for (const word of bare) {
    itAnswers(
      `[sql 2.1] ${word} is read as a call without arguments`,
      {
        [`SELECT * FROM t WHERE ${word} = 1`]: `Unsupported expression: ${word}`,
        [`SELECT ${word} FROM t`]: 'Aggregate expressions must have column aliases',
        [`SELECT id, ${word} FROM t`]: `Unsupported projection expression: ${word}`,
      },
      refusal,
    );
  }
  const clocks = [
    'current_date',
    'current_time',
    'current_timestamp',
    'localtime',
    'localtimestamp',
  ];
  for (const word of clocks) {
    it(`[sql 2.1] ${word} is read as a call without arguments`, async () => {
      expect(await refusal(`SELECT ${word} FROM t`)).toBe(
        'Aggregate expressions must have column aliases',
      );
      const subscription = `SELECT * FROM t WHERE ${word} = 1`;
      expect(db.subscription(subscription)).toBe(`Unsupported expression: ${word}`);
    });
  }
});
