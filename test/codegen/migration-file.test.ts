import { describe, expect, it } from 'vitest';
import { openQuestion, questionKey } from '../../src/codegen/migration-changes.ts';
import { migrationFile } from '../../src/codegen/migration-file.ts';
import { validateModule } from '../../src/schema/validate.ts';
import { optionType, sum, timestampType, unitType } from '../../src/values/special-types.ts';
import type { AlgebraicType } from '../../src/values/type.ts';
import {
  moduleOf,
  named,
  ref,
  type TableSketch,
  text,
  u8,
  u32,
  u64,
} from '../schema/module-builder.ts';

const definitionOf = (tables: readonly TableSketch[], types: readonly AlgebraicType[] = []) => {
  const names = types.map((_, index) => named(`Named${index}`, tables.length + index));
  return validateModule(moduleOf(tables, { typespace: { types }, types: names }));
};

/** Answers every question with what is likely. */
function likelyAnswers(
  old: ReturnType<typeof definitionOf>,
  next: ReturnType<typeof definitionOf>,
) {
  const answers = new Map<string, string | undefined>();
  const asked: string[] = [];
  for (;;) {
    const question = openQuestion(old, next, answers);
    if (question === undefined) return { answers, asked };
    const { table, from, likely, candidates } = question;
    asked.push(`${question.kind} ${table} ${from}: ${candidates} (${likely ?? 'new'})`);
    answers.set(questionKey(question), likely);
  }
}

function draft(
  old: readonly TableSketch[],
  next: readonly TableSketch[],
  types: readonly AlgebraicType[] = [],
) {
  const [before, after] = [definitionOf(old, types), definitionOf(next, types)];
  const { answers, asked } = likelyAnswers(before, after);
  const file = migrationFile({ id: '0001-x', from: 'f', old: before, next: after, answers });
  const lines = /steps: \(m\) => \[\n(.*)\n {2}\],/s.exec(file.text)?.[1];
  const line = /steps: \(m\) => \[(.*)\],\n/.exec(file.text)?.[1] ?? '';
  return { ...file, asked, steps: lines?.replace(/^ {4}/gm, '') ?? `${line},` };
}

const user: TableSketch = { name: 'user', columns: { id: u64, name: text, age: u8 } };
const withColumns = (columns: TableSketch['columns'], more: Partial<TableSketch> = {}) => ({
  ...user,
  columns,
  ...more,
});

describe('the questions of a new migration', () => {
  it('[living 5.1] a table that is gone may be a new one with like columns', () => {
    const person = { ...user, name: 'person', columns: { ...user.columns, email: text } };
    const { asked, steps } = draft([user], [person]);
    expect(asked).toEqual(['table user user: person (person)']);
    expect(steps).toContain("m.renameTable('user', 'person'),\nm.addColumn('person', 'email', {");
  });

  it('[living 5.1] a table with other columns is new, and nobody is asked', () => {
    const { asked, steps } = draft([user], [{ name: 'place', columns: { x: u32, name: text } }]);
    expect(asked).toEqual([]);
    expect(steps).toBe("m.dropTable('user', { rows: 'discard' }),");
  });

  it('[living 5.1] of several tables the one that has most in common is likely', () => {
    const half = { name: 'half', columns: { id: u64, name: text } };
    const whole = { name: 'whole', columns: user.columns };
    expect(draft([user], [half, whole]).asked).toEqual(['table user user: whole,half (whole)']);
  });

  it('[living 5.1] a table is one other table only', () => {
    const [one, two] = [user, { ...user, name: 'user_two' }];
    const { asked } = draft([one, two], [{ ...user, name: 'person' }]);
    expect(asked).toEqual(['table user user: person (person)']);
  });

  it('[living 5.1] a column that is gone may be a new one of its type', () => {
    const { asked, steps } = draft([user], [withColumns({ id: u64, full_name: text, age: u8 })]);
    expect(asked).toEqual(['column user name: full_name (full_name)']);
    expect(steps).toBe("m.renameColumn('user', 'name', 'full_name'),");
  });

  it('[living 5.1] a column elsewhere with another name is new rather than renamed', () => {
    const next = withColumns({ id: u64, age: u8, city: text }, { defaults: {} });
    const { asked, steps } = draft([user], [next]);
    expect(asked).toEqual(['column user name: city (new)']);
    expect(steps).toContain("m.dropColumn('user', 'name'),\nm.addColumn('user', 'city', {");
  });

  it('[living 5.1] a column of another type is new, and nobody is asked', () => {
    expect(draft([user], [withColumns({ id: u64, name: text, years: u32 })]).asked).toEqual([]);
  });

  it('[living 5.1] columns are compared within a table that is renamed', () => {
    const person = { name: 'person', columns: { id: u64, name: text, years: u8 } };
    expect(draft([user], [person])).toMatchObject({
      asked: ['table user user: person (person)', 'column person age: years (years)'],
      steps: "m.renameTable('user', 'person'),\nm.renameColumn('person', 'age', 'years'),",
    });
  });
});

describe('the steps of a new migration', () => {
  it('[living 5.1] are none where the automatic plan does it all', () => {
    const more = withColumns(
      { ...user.columns, score: u32 },
      { defaults: { score: Uint8Array.of(7, 0, 0, 0) } },
    );
    const { text: file, stepCount } = draft([user], [more, { name: 'new', columns: { a: u8 } }]);
    expect(stepCount).toBe(0);
    expect(file).toContain('  steps: (m) => [],\n');
  });

  it('[living 5.1] fill a column before others with its default, and put it there', () => {
    const next = withColumns(
      { id: u64, score: u32, name: text, age: u8 },
      { defaults: { score: Uint8Array.of(7, 0, 0, 0) } },
    );
    expect(draft([user], [next]).steps).toBe(
      "m.addColumn('user', 'score', { fill: () => 7 }),\n" +
        "m.moveColumns('user', ['id', 'score', 'name', 'age']),",
    );
  });

  it('[living 5.1] leave an option without a value, and throw for others', () => {
    const next = withColumns({ ...user.columns, nick: optionType(text), since: timestampType });
    expect(draft([user], [next])).toMatchObject({
      steps:
        "m.addColumn('user', 'nick', { fill: () => undefined }),\n" +
        "m.addColumn('user', 'since', {\n  fill: () => {\n" +
        "    throw new Error('return the value for user.since (Timestamp)');\n  },\n}),",
      stubs: ['addColumn user.since'],
    });
  });

  it.each([
    ['a whole number that gets larger', u8, u32, '(old) => old.c'],
    ['a small number to a large one', u32, u64, '(old) => BigInt(old.c)'],
    ['a large number to a small one', u64, u32, '(old) => Number(old.c)'],
    ['a number to text', u64, text, '(old) => String(old.c)'],
    ['text to a number', text, u64, '(old) => BigInt(old.c)'],
    ['a value to an option', u8, optionType(u64), '(old) => BigInt(old.c)'],
    ['a value to a list', text, { kind: 'array', element: text }, '(old) => [old.c]'],
  ] as const)('[living 5.1] convert %s', (_, from, to, using) => {
    const steps = draft(
      [{ name: 't', columns: { c: from } }],
      [{ name: 't', columns: { c: to } }],
    ).steps;
    expect(steps).toBe(`m.changeColumn('t', 'c', { using: ${using} }),`);
  });

  it.each([
    ['a fraction to a whole number', { kind: 'f64' }, u32, 'number'],
    ['an option to its value', optionType(u8), u8, 'number | undefined'],
    ['text to a time', text, timestampType, 'string'],
  ] as const)('[living 5.1] leave %s to people', (_, from, to, was) => {
    const { steps, stubs } = draft(
      [{ name: 't', columns: { c: from } }],
      [{ name: 't', columns: { c: to } }],
    );
    expect(steps).toContain(`return the value for t.c of old.c, ${was} (`);
    expect(stubs).toEqual(['changeColumn t.c']);
  });

  it('[living 5.1] name the type of the row where the table is renamed', () => {
    const next = [{ name: 'person', columns: { ...user.columns, age: u32 } }];
    expect(draft([user], next).steps).toBe(
      "m.renameTable('user', 'person'),\n" +
        "m.changeColumn('person', 'age', { using: (old: Before['user']) => old.age }),",
    );
  });

  it('[living 5.1] are written for no event table', () => {
    const event = { ...user, isEvent: true };
    const changed = { ...event, columns: { id: u64 } };
    expect(draft([event, { ...event, name: 'gone' }], [changed]).stepCount).toBe(0);
  });

  it('[living 5.1] say what none of them does', () => {
    expect(draft([user], [{ ...user, isEvent: true }]).notes).toEqual([
      'Table `user` becomes an event table, which no step does: give the new one another name.',
    ]);
  });
});

describe('the file of a new migration', () => {
  it('[living 5.1] has the old rows with their types, in the spelling of the module', () => {
    const mood = sum(['calm', unitType], ['named', text]);
    const tree = { kind: 'array', element: ref(3) } as const;
    const old = [{ name: 'user', columns: { id: u64, mood: ref(1), at: timestampType, tree } }];
    const types = [mood, optionType(u8), tree];
    const next = [{ name: 'user', columns: { id: u64, at: timestampType, tree } }];
    expect(
      draft(old, next, types).text,
    ).toBe(`import { migration, type Timestamp } from 'reducerdb/server';

type Named0 = { tag: 'calm' } | { tag: 'named'; value: string };

type Named2 = Named2[];

/** The rows of all tables as they are before this migration. */
interface Before {
  user: {
    id: bigint;
    mood: Named0;
    at: Timestamp;
    tree: Named2[];
  };
}

export default migration<Before>({
  id: '0001-x',
  from: 'f',
  steps: (m) => [m.dropColumn('user', 'mood')],
});
`);
  });
});
