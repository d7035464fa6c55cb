import { describe, expect, it } from 'vitest';
import { moduleOf, named, problemsOf, ref, text, u32 } from '../../test/schema/module-builder.ts';
import { definitionFromSchema } from '../codegen/schema-document.ts';
import { sum } from '../values/special-types.ts';
import type { AlgebraicType } from '../values/type.ts';
import { planMigration } from './migration-plan.ts';
import type { RawDerivedIndex } from './raw-module.ts';
import { schemaJson } from './schema-json.ts';
import { validateModule } from './validate.ts';

const arrayOf = (element: AlgebraicType): AlgebraicType => ({ kind: 'array', element });

const labels: RawDerivedIndex = {
  tableName: 'openTickets',
  column: 1,
  kind: 'inverted',
  options: [],
};

function moduleWith(derivedIndexes: readonly RawDerivedIndex[], type = arrayOf(text)) {
  const table = { name: 'openTickets', columns: { id: u32, allLabels: type } };
  return moduleOf([table], {
    derivedIndexes,
    typespace: { types: [sum(['leaf', u32], ['fork', arrayOf(ref(1))])] },
    types: [named('Tree', 1)],
  });
}

describe('[ease 3.3] derived indexes of a module', () => {
  it('get the canonical names of their table and column', () => {
    const [table] = validateModule(moduleWith([labels])).tables;
    expect(table?.derivedIndexes).toEqual([
      { name: 'open_tickets_all_labels_idx_inverted', kind: 'inverted', column: 1, options: [] },
    ]);
  });

  it.each([
    ['another table', { tableName: 'closed' }, text, 'Table closed not found'],
    ['another column', { column: 2 }, text, 'not found in table `open_tickets`'],
    ['another type', { column: 0 }, text, 'an inverted index is of an array, not of `U32`'],
    ['a recursive type', {}, ref(1), 'elements of a recursive type'],
    [
      'an option',
      { options: [{ name: 'language', value: 'german' }] },
      text,
      'an inverted index has no option `language`',
    ],
  ] as const)('are refused with %s', (_, parts, element, message) => {
    const problems = problemsOf(moduleWith([{ ...labels, ...parts }], arrayOf(element)));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(message);
  });

  it('are refused twice over', () => {
    expect(problemsOf(moduleWith([labels, labels]))).toEqual([
      'name `open_tickets_all_labels_idx_inverted` is used for multiple entities',
    ]);
  });

  it('are in the schema of version 10 alone, from which bindings are generated', () => {
    const indexed = validateModule(moduleWith([labels]));
    const json = schemaJson(indexed, 10);
    const index = {
      name: 'open_tickets_all_labels_idx_inverted',
      table_name: 'open_tickets',
      kind: 'inverted',
      col_id: 1,
      options: [],
    };
    expect(JSON.parse(json).sections.at(-1)).toEqual({ DerivedIndexes: [index] });
    expect(definitionFromSchema(json).tables[0]?.derivedIndexes).toEqual(
      indexed.tables[0]?.derivedIndexes,
    );
    expect(schemaJson(indexed, 9)).not.toContain('inverted');
    expect(schemaJson(validateModule(moduleWith([])), 10)).not.toContain('DerivedIndexes');
  });

  it('[ease 3.11] of words are of a string, and have a language', () => {
    const body: RawDerivedIndex = { ...labels, kind: 'text' };
    const german = [{ name: 'language', value: 'german' }];
    const [table] = validateModule(moduleWith([{ ...body, options: german }], text)).tables;
    expect(table?.derivedIndexes).toMatchObject([
      { name: 'open_tickets_all_labels_idx_text', kind: 'text', options: german },
    ]);
    const problem = (options: RawDerivedIndex['options'], type: AlgebraicType = text) =>
      problemsOf(moduleWith([{ ...body, options }], type)).join();
    expect(problem([])).toBe('');
    expect(problem([], arrayOf(text))).toContain(
      'a text index is of a string, not of `Array<String>`',
    );
    expect(problem([{ name: 'language', value: 'klingon' }])).toContain(
      '`klingon` is not a language of a text index; use one of `simple`, `english`, `german`',
    );
    expect(problem([{ name: 'stem', value: 'yes' }])).toContain(
      'a text index has no option `stem`',
    );
    expect(problem([...german, ...german])).toContain('a text index has one language');
  });

  it('[ease 3.11] in another language are another index', () => {
    const inLanguage = (value: string) => {
      const options = [{ name: 'language', value }];
      return validateModule(moduleWith([{ ...labels, kind: 'text', options }], text));
    };
    const plan = planMigration(inLanguage('german'), inLanguage('dutch'));
    expect(plan).toMatchObject({
      kind: 'automatic',
      steps: [{ kind: 'removeDerivedIndex' }, { kind: 'addDerivedIndex' }],
    });
  });

  it('come and go with an automatic migration, which says so', () => {
    const bare = validateModule(moduleWith([]));
    const indexed = validateModule(moduleWith([labels]));
    const textOf = (from: typeof bare, to: typeof bare) => {
      const plan = planMigration(from, to);
      return plan.kind === 'automatic' ? { text: plan.text, breaks: plan.breaksClients } : plan;
    };
    const where =
      'index open_tickets_all_labels_idx_inverted on [all_labels] of table open_tickets';
    expect(textOf(bare, indexed)).toEqual({
      text: expect.stringContaining(`Created inverted ${where}`),
      breaks: false,
    });
    expect(textOf(indexed, bare)).toEqual({
      text: expect.stringContaining(`Removed inverted ${where}`),
      breaks: false,
    });
    expect(planMigration(indexed, indexed)).toMatchObject({ steps: [] });
  });
});
