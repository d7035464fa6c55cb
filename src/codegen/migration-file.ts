import type { ModuleDefinition } from '../schema/definition.ts';
import { draftTables, type RenameAnswers } from './migration-changes.ts';
import { type DraftStep, draftMigration } from './migration-draft.ts';
import { fillFunction, usingFunction } from './migration-functions.ts';
import { ModuleTypeTexts } from './module-type-text.ts';
import { keyText, quoted } from './names.ts';
import { indent } from './source-file.ts';

/** What a new migration is written from. */
export interface MigrationFileInput {
  /** The name of its file without the ending. */
  readonly id: string;
  /** The hash of the schema that it begins with. */
  readonly from: string;
  readonly old: ModuleDefinition;
  readonly next: ModuleDefinition;
  readonly answers: RenameAnswers;
}

export interface MigrationFile {
  readonly text: string;
  readonly stepCount: number;
  /** Steps whose functions throw until they are written, as `addColumn user.age`. */
  readonly stubs: readonly string[];
  /** What no step does, as sentences. */
  readonly notes: readonly string[];
}

/** The text of `migrations/NNNN-name.ts`, with all steps that the automatic plan lacks. */
export function migrationFile(input: MigrationFileInput): MigrationFile {
  const { id, from, old, next, answers } = input;
  const { steps, notes } = draftMigration(old, next, answers);
  const before = new ModuleTypeTexts(old, []);
  // Types after the migration stand in messages only: their names need not differ from others.
  const after = new ModuleTypeTexts(next, []);
  const stubs: string[] = [];
  const calls = steps.map((step) => stepText(step, { before, after, stubs }));
  const rows = beforeText(old, before);
  const imports = ['migration', ...before.imports.map((name) => `type ${name}`)];
  const text = [
    `import { ${imports.join(', ')} } from 'reducerdb/server';`,
    ...before.declarations,
    rows,
    [
      'export default migration<Before>({',
      `  id: ${quoted(id)},`,
      `  from: ${quoted(from)},`,
      `${indent(`steps: (m) => ${stepsText(calls)},`)}`,
      '});',
    ].join('\n'),
  ].join('\n\n');
  return { text: `${text}\n`, stepCount: steps.length, stubs, notes };
}

/** One step to a line, unless there is only one and it is short. */
function stepsText(calls: readonly string[]): string {
  const line = `[${calls.join(' ').replace(/,$/, '')}]`;
  const isShort = calls.length < 2 && line.length <= 80 && !line.includes('\n');
  return isShort ? line : `[\n${indent(calls.join('\n'))}\n]`;
}

/** The rows of every table, so that steps which are written later have them too. */
function beforeText(old: ModuleDefinition, types: ModuleTypeTexts): string {
  const tables = [...draftTables(old).values()].map(({ table, sourceTypespace }) => {
    const row = sourceTypespace.types[table.rowTypeRef];
    const fields = row?.kind === 'product' ? row.elements : [];
    const lines = fields.map(({ name = '', type }) => {
      return `${keyText(name)}: ${types.of(type, sourceTypespace)};`;
    });
    return `${keyText(table.sourceName)}: {\n${indent(lines.join('\n'))}\n};`;
  });
  const head = '/** The rows of all tables as they are before this migration. */';
  if (tables.length === 0) return `${head}\ntype Before = Record<never, never>;`;
  return `${head}\ninterface Before {\n${indent(tables.join('\n'))}\n}`;
}

interface StepPlace {
  readonly before: ModuleTypeTexts;
  readonly after: ModuleTypeTexts;
  readonly stubs: string[];
}

function stepText(step: DraftStep, { before, after, stubs }: StepPlace): string {
  switch (step.kind) {
    case 'renameTable':
      return call('renameTable', quoted(step.from), quoted(step.to));
    case 'renameColumn':
      return call('renameColumn', quoted(step.table), quoted(step.from), quoted(step.to));
    case 'dropTable':
      return call('dropTable', quoted(step.table), "{ rows: 'discard' }");
    case 'dropColumn':
      return call('dropColumn', quoted(step.table), quoted(step.column));
    case 'moveColumns':
      return call('moveColumns', quoted(step.table), orderText(step.order));
    case 'addColumn': {
      const { table, column } = step;
      const { text, isStub } = fillFunction(column, table, after);
      if (isStub) stubs.push(`addColumn ${table}.${column.name}`);
      return call('addColumn', quoted(table), quoted(column.name), optionText('fill', text));
    }
    case 'changeColumn': {
      const { table, oldTable, from, column } = step;
      const { text, isStub } = usingFunction(from, column, { table, oldTable, before, after });
      if (isStub) stubs.push(`changeColumn ${table}.${column.name}`);
      return call('changeColumn', quoted(table), quoted(column.name), optionText('using', text));
    }
  }
}

function call(name: string, ...args: readonly string[]): string {
  return `m.${name}(${args.join(', ')}),`;
}

/** An object with a function: on one line where the function is. */
function optionText(key: string, value: string): string {
  const line = `{ ${key}: ${value} }`;
  return line.includes('\n') || line.length > 60 ? `{\n${indent(`${key}: ${value},`)}\n}` : line;
}

function orderText(names: readonly string[]): string {
  const line = `[${names.map(quoted).join(', ')}]`;
  if (line.length <= 70) return line;
  return `[\n${indent(names.map((name) => `${quoted(name)},`).join('\n'))}\n]`;
}
