import { unreachable } from '../assert.ts';
import { decodeValue } from '../values/decode.ts';
import { valueToText } from '../values/text.ts';
import type { NamedType } from '../values/type.ts';
import type { FullTable, FullView } from './flatten.ts';
import type { AddedColumn, MigrationStep } from './migration-steps.ts';
import { wholeTypeWords } from './type-words.ts';

export type PlanStyle = 'plain' | 'ansi';

/** A plan as text for people. Tools use `breaksClients` and the steps instead. */
export function planText(steps: readonly MigrationStep[], style: PlanStyle): string {
  const paint = painterOf(style);
  return planLines(
    steps.flatMap((step) => entryOf(step, paint)),
    paint,
  );
}

/** The lines of a plan, under its heading. */
export function planLines(entries: readonly string[], paint: Paint): string {
  const header = [rule, 'Database Migration Plan', rule].map((line) => paint('blue', line));
  return `${[...header, '', ...entries].join('\n')}\n`;
}

export function painterOf(style: PlanStyle): Paint {
  return style === 'ansi' ? ansiPaint : plainPaint;
}

const rule = '━'.repeat(60);

export type Paint = (colour: keyof typeof ansiCodes, text: string) => string;

const ansiCodes = {
  green: '32',
  red: '31',
  yellow: '33',
  blue: '34',
  cyan: '36',
  magenta: '35',
  warning: '37;41',
} as const;

const plainPaint: Paint = (_, text) => text;
const ansiPaint: Paint = (colour, text) => `\u001b[${ansiCodes[colour]}m${text}\u001b[0m`;

/** The lines of one step. */
export function entryOf(step: MigrationStep, paint: Paint): string[] {
  switch (step.kind) {
    case 'removeIndex':
    case 'addIndex':
      return [`${verb(step, paint)} index ${step.index.name} on ${place(step, paint)}`];
    case 'removeDerivedIndex':
    case 'addDerivedIndex': {
      const where = `[${step.column}] of table ${paint('cyan', step.table)}`;
      return [`${verb(step, paint)} ${step.index.kind} index ${step.index.name} on ${where}`];
    }
    case 'removeConstraint':
    case 'addConstraint': {
      const { name } = step.constraint;
      return [`${verb(step, paint)} unique constraint ${name} on ${place(step, paint)}`];
    }
    case 'removeSequence':
    case 'addSequence': {
      const where = `column ${step.column} of table ${paint('cyan', step.table)}`;
      return [`${verb(step, paint)} auto-increment constraint ${step.sequence.name} on ${where}`];
    }
    case 'removeSchedule':
    case 'addSchedule': {
      const what = `table ${paint('cyan', step.table)} calling reducer`;
      return [`${verb(step, paint)} schedule for ${what} ${step.schedule.functionName}`];
    }
    case 'removeCron':
    case 'addCron': {
      const { name, expression, timeZone = 'UTC' } = step.cron;
      return [`${verb(step, paint)} cron ${paint('cyan', name)} (${expression}, ${timeZone})`];
    }
    case 'removeView':
    case 'addView':
      return describeView(step, verb(step, paint), paint);
    case 'removeRowFilter':
    case 'addRowFilter':
      return [`${verb(step, paint)} row level security policy:`, `    \`${step.sql}\``];
    case 'removeTable':
      return [`▸ ${paint('red', 'Removed')} table: ${paint('cyan', step.table)}`];
    case 'addTable':
      return describeTable(step, paint);
    case 'changeColumns':
      return [
        `▸ ${paint('yellow', 'Changed')} columns for table ${paint('cyan', step.table)}`,
        ...step.columns.map(({ name, from, to }) => {
          const types = `${paint('magenta', from)} → ${paint('magenta', to)}`;
          return `    ~ Modified: ${name} (${types})`;
        }),
      ];
    case 'replaceEventTable': {
      const table = paint('cyan', step.table);
      return [`▸ ${paint('yellow', 'Changed')} schema of event table ${table}`];
    }
    case 'addColumns':
      return describeColumns(step.table, step.columns, paint);
    case 'changeIndexSourceName':
    case 'changeTableSourceName':
    case 'changeColumnSourceName':
    case 'changeAccess':
    case 'changePrimaryKey':
      return [`▸ ${paint('yellow', 'Changed')} ${describeAttribute(step, paint)}`];
    case 'disconnectClients': {
      const text = 'All clients will be disconnected due to breaking schema changes';
      return [paint('warning', `!!! Warning: ${text}`)];
    }
    default:
      return unreachable(step);
  }
}

function verb({ kind }: { readonly kind: string }, paint: Paint): string {
  return `▸ ${kind.startsWith('add') ? paint('green', 'Created') : paint('red', 'Removed')}`;
}

function place(
  step: { readonly table: string; readonly columns: readonly string[] },
  paint: Paint,
): string {
  return `[${step.columns.join(', ')}] of table ${paint('cyan', step.table)}`;
}

type AttributeKind =
  | 'changeIndexSourceName'
  | 'changeTableSourceName'
  | 'changeColumnSourceName'
  | 'changeAccess'
  | 'changePrimaryKey';

function describeAttribute(
  step: Extract<MigrationStep, { kind: AttributeKind }>,
  paint: Paint,
): string {
  const table = paint('cyan', step.table);
  switch (step.kind) {
    case 'changeIndexSourceName':
      return `index accessor name for ${step.index} of table ${table}`;
    case 'changeTableSourceName':
      return `table accessor name for ${table}`;
    case 'changeColumnSourceName':
      return `column accessor name for ${table}.${step.column}`;
    case 'changeAccess':
      return `access for table ${table} (${step.from} → ${step.to})`;
    case 'changePrimaryKey':
      return `primary key on table ${table} (${describeKey(step.from, step.to)})`;
    default:
      return unreachable(step);
  }
}

function describeKey(from: string | undefined, to: string | undefined): string {
  if (to === undefined) return 'removed';
  return from === undefined ? `added on column ${to}` : `changed to column ${to}`;
}

function describeColumns(table: string, columns: readonly AddedColumn[], paint: Paint): string[] {
  const noun = columns.length === 1 ? 'column' : 'columns';
  const lines = columns.map(({ name, type, typespace, defaultBytes }) => {
    const value = valueToText(type, decodeValue(type, defaultBytes, typespace), typespace);
    const text = paint('magenta', wholeTypeWords(type, typespace));
    return `    + ${name}: ${text} (default: ${value})`;
  });
  return [`▸ ${paint('green', 'Created')} ${noun} in table ${paint('cyan', table)}`, ...lines];
}

function describeTable({ table, typespace }: FullTable, paint: Paint): string[] {
  const name = (position: number) => table.columns[position]?.name ?? '';
  const on = (columns: readonly number[]) => `[${columns.map(name).join(', ')}]`;
  const title = `${table.tableType} table: ${paint('cyan', table.name)} (${table.access})`;
  return [
    `▸ ${paint('green', 'Created')} ${title}`,
    ...section(
      'Columns',
      table.columns.map((column) => {
        return `${column.name}: ${paint('magenta', wholeTypeWords(column.type, typespace))}`;
      }),
    ),
    ...section(
      'Unique constraints',
      table.constraints.map((constraint) => `${constraint.name} on ${on(constraint.columns)}`),
    ),
    ...section(
      'Indexes',
      table.indexes.map((index) => `${index.name} on ${on(index.columns)}`),
    ),
    ...section(
      'Derived indexes',
      table.derivedIndexes.map((index) => `${index.name} on ${on([index.column])}`),
    ),
    ...section(
      'Auto-increment constraints',
      table.sequences.map((sequence) => `${sequence.name} on ${name(sequence.column)}`),
    ),
    ...section(
      'Schedule',
      table.schedule === undefined ? [] : [`Calls reducer: ${table.schedule.functionName}`],
    ),
  ];
}

/** Readers of these texts expect the doubled mark. */
function describeView({ view, typespace }: FullView, done: string, paint: Paint): string[] {
  const kind = view.isAnonymous ? 'anonymous view' : 'view';
  const list = (items: readonly NamedType[]) => {
    return items.map(({ name = '_', type }) => {
      return `${name}: ${paint('magenta', wholeTypeWords(type, typespace))}`;
    });
  };
  return [
    `▸ ${done} ${kind}: ${paint('cyan', view.name)}`,
    ...section('Parameters', list(view.params.elements)),
    ...section('Columns', list(view.columns)),
  ];
}

/** A titled list, or nothing when there is nothing to list. */
function section(title: string, items: readonly string[]): string[] {
  if (items.length === 0) return [];
  return [`    ${title}:`, ...items.map((item) => `        • ${item}`)];
}
