import path from 'node:path';
import {
  columnChanges,
  draftTables,
  openQuestion,
  questionKey,
  type RenameAnswers,
  type RenameQuestion,
  tablePairs,
} from '../../codegen/migration-changes.ts';
import type { MigrationFile } from '../../codegen/migration-file.ts';
import { definitionFromSchema } from '../../codegen/schema-document.ts';
import type { Api } from '../api.ts';
import { CliError } from '../io.ts';
import { migrationIds, nextMigrationId } from '../migration-files.ts';
import {
  type Comparison,
  compareWithDatabase,
  draftCompared,
  writeCompared,
} from '../new-migration.ts';
import type { Choice, DevInput } from './dev-input.ts';
import type { DevScreen } from './dev-screen.ts';
import {
  countRows,
  countsText,
  type RowCounts,
  rowsText,
  runningSchema,
  totalOf,
} from './row-counts.ts';

/** What happens to a change of the schema that needs a decision. */
export type OnConflict = 'ask' | 'migrate' | 'reset' | 'stop';

export interface SchemaConflict {
  readonly api: Api;
  readonly database: string;
  /** Folder of the module. */
  readonly module: string;
  readonly program: Uint8Array;
  /** Why the service has refused the program. */
  readonly reason: string;
  readonly policy: OnConflict;
  readonly screen: DevScreen;
  readonly input: DevInput;
  /** Takes the question back: the sources have changed again. */
  readonly signal: AbortSignal;
}

export type Resolution =
  /** A migration was written; if it is complete, it can be published. */
  | { readonly kind: 'written'; readonly files: readonly string[]; readonly isComplete: boolean }
  | { readonly kind: 'reset' }
  /** The old program stays in force. */
  | { readonly kind: 'kept' };

/** One way to go on. */
type Way =
  | { readonly kind: 'migrate'; readonly answers: RenameAnswers }
  | { readonly kind: 'one-by-one' }
  | { readonly kind: 'reset' }
  | { readonly kind: 'keep' };

/**
 * Says what stands against the program, and which rows are at stake.
 * Then it asks, or follows the policy.
 */
export async function resolveConflict(conflict: SchemaConflict): Promise<Resolution> {
  const { api, database, screen, policy, signal } = conflict;
  screen.fault(`the schema has changed in a way that needs a decision:\n${shortReason(conflict)}`);
  const running = definitionFromSchema(await runningSchema(api, database));
  const counts = await countRows(api, database, running);
  const atStake = countsText(counts);
  screen.warn(atStake === '' ? 'No rows are at stake.' : `Rows at stake: ${atStake}.`);
  const isDecided = policy === 'reset' || policy === 'stop';
  const compared = isDecided ? undefined : await comparisonOf(conflict);
  if (signal.aborted) return { kind: 'kept' };
  const known = { conflict, compared, counts };
  switch (policy) {
    case 'ask':
      return follow(known, await asked(known));
    case 'migrate':
      return follow(known, migrateWay(known));
    case 'reset':
      return follow(known, { kind: 'reset' });
    case 'stop':
      return follow(known, { kind: 'keep' });
  }
}

interface Known {
  readonly conflict: SchemaConflict;
  readonly compared: Comparison | undefined;
  readonly counts: RowCounts;
}

/** `undefined`: the tables are the same, or no migration can be written now. */
async function comparisonOf(conflict: SchemaConflict): Promise<Comparison | undefined> {
  const { api, database, module, program, screen } = conflict;
  const running = { name: database, api: async () => api, isNamed: true };
  try {
    const place = { name: 'change', project: module, database: running };
    return await compareWithDatabase(place, program);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    screen.warn(error.message);
    return undefined;
  }
}

function shortReason({ reason }: SchemaConflict): string {
  const lines = reason.split('\n').map((line) => line.trim());
  const kept = lines.filter((line) => line !== '' && line !== 'Errors occurred:');
  return kept.map((line) => `  ${line}`).join('\n');
}

async function asked(known: Known): Promise<Way> {
  const { screen, input, signal } = known.conflict;
  const choices = choicesOf(known);
  screen.hold();
  const way = await input
    .choose('What should happen?', choices, signal)
    .finally(() => screen.release());
  if (way !== undefined) return way;
  if (!signal.aborted && !input.isTerminal) screen.warn(nobodyText);
  return { kind: 'keep' };
}

const nobodyText =
  'Nobody has answered; --on-conflict=migrate or --on-conflict=reset answers for scripts.';

function choicesOf({ compared, counts }: Known): Choice<Way>[] {
  const ways: Choice<Way>[] = compared === undefined ? [] : migrationChoices(compared, counts);
  const total = totalOf(counts);
  const loss = total === 0 ? 'it has no rows' : `${rowsText(total)} are deleted`;
  ways.push({ value: { kind: 'reset' }, label: `reset this development database: ${loss}` });
  ways.push({ value: { kind: 'keep' }, label: 'keep the old program until the next save' });
  return ways;
}

function migrationChoices(compared: Comparison, counts: RowCounts): Choice<Way>[] {
  const likely = answersBy(compared, ({ likely }) => likely);
  const gone = answersBy(compared, () => undefined);
  const labels = new Map<string, Way>();
  for (const answers of [likely, gone]) {
    const file = draftCompared(compared, answers);
    if (file.stepCount === 0) continue;
    const label = `write a migration: ${effectsText(compared, answers, counts)}${openText(file)}`;
    if (!labels.has(label)) labels.set(label, { kind: 'migrate', answers });
  }
  if (likely.size > 1) labels.set('write a migration: decide one by one', { kind: 'one-by-one' });
  return [...labels].map(([label, value]) => ({ label, value }));
}

function openText({ stubs }: MigrationFile): string {
  return stubs.length === 0 ? '' : `; you then write ${stubs.join(', ')}`;
}

/** Renames and losses in words. */
function effectsText(compared: Comparison, answers: RenameAnswers, counts: RowCounts): string {
  const { renames, losses } = effectsOf(compared, answers);
  const parts = [
    ...renames.map(({ from, to }) => `rename ${from} to ${to}`),
    ...losses.map(({ name, table }) => `drop ${name}, ${lossText(counts.get(table))}`),
  ];
  return parts.length === 0 ? 'the rows are kept and changed' : parts.join('; ');
}

function lossText(count: number | undefined): string {
  return count === undefined ? 'with its rows' : `of ${rowsText(count)}`;
}

interface Effects {
  readonly renames: readonly { readonly from: string; readonly to: string }[];
  /** Tables and columns that are gone; `table` is where the rows are now. */
  readonly losses: readonly { readonly name: string; readonly table: string }[];
}

function effectsOf({ old, next }: Comparison, answers: RenameAnswers): Effects {
  const [before, after] = [draftTables(old.definition), draftTables(next.definition)];
  const pairs = tablePairs(old.definition, next.definition, answers);
  const movedTables = pairs.flatMap((pair) => {
    const [from, to] = [pair.old.table.name, pair.next.table.name];
    return from === to ? [] : [{ from, to }];
  });
  const kept = new Set(pairs.map((pair) => pair.old.table.name));
  const goneTables = [...before.values()]
    .filter(({ table }) => !kept.has(table.name) && !table.isEvent && !after.has(table.name))
    .map(({ table }) => ({ name: table.name, table: table.name }));
  const columns = pairs.map((pair) => {
    const { renamed, dropped } = columnChanges(pair, answers);
    const table = pair.old.table.name;
    return {
      renamed: renamed.map(([from, to]) => ({ from: `${table}.${from.name}`, to: to.name })),
      dropped: dropped.map(({ name }) => ({ name: `${table}.${name}`, table })),
    };
  });
  return {
    renames: [...movedTables, ...columns.flatMap(({ renamed }) => renamed)],
    losses: [...goneTables, ...columns.flatMap(({ dropped }) => dropped)],
  };
}

function answersBy(
  { old, next }: Comparison,
  answer: (question: RenameQuestion) => string | undefined,
): Map<string, string | undefined> {
  const answers = new Map<string, string | undefined>();
  for (;;) {
    const question = openQuestion(old.definition, next.definition, answers);
    if (question === undefined) return answers;
    answers.set(questionKey(question), answer(question));
  }
}

/** What is likely, unless rows would be lost by it: that takes an answer of its own. */
function migrateWay({ conflict, compared, counts }: Known): Way {
  const { screen } = conflict;
  if (compared === undefined) return { kind: 'keep' };
  const answers = answersBy(compared, ({ likely }) => likely);
  const lost = effectsOf(compared, answers).losses.filter(({ table }) => counts.get(table) !== 0);
  if (lost.length === 0) return { kind: 'migrate', answers };
  const names = lost.map(({ name }) => name).join(', ');
  screen.warn(
    `--on-conflict=migrate loses no rows: write the migration that drops ${names} yourself, ` +
      'with `reducerdb migrate new`, or pass --on-conflict=ask.',
  );
  return { kind: 'keep' };
}

async function follow(known: Known, way: Way): Promise<Resolution> {
  switch (way.kind) {
    case 'keep':
      known.conflict.screen.warn('The old program stays in force; no rows were changed.');
      return { kind: 'kept' };
    case 'reset':
      return { kind: 'reset' };
    case 'migrate':
      return write(known, way.answers);
    case 'one-by-one': {
      const answers = await oneByOne(known);
      return answers === undefined ? follow(known, { kind: 'keep' }) : write(known, answers);
    }
  }
}

async function oneByOne({ conflict, compared, counts }: Known): Promise<RenameAnswers | undefined> {
  const { input, signal } = conflict;
  const answers = new Map<string, string | undefined>();
  for (;;) {
    const [old, next] = [compared?.old.definition, compared?.next.definition];
    if (old === undefined || next === undefined) return answers;
    const question = openQuestion(old, next, answers);
    if (question === undefined) return answers;
    const { kind, table, from, candidates } = question;
    const named = kind === 'table' ? `table ${from}` : `${table}.${from}`;
    const gone = `it is gone, ${lossText(counts.get(kind === 'table' ? from : table))}`;
    const choices: Choice<{ readonly to: string | undefined }>[] = [
      ...candidates.map((to) => ({ value: { to }, label: `it is now ${to}` })),
      { value: { to: undefined }, label: gone },
    ];
    const answer = await input.choose(`What became of ${named}?`, choices, signal);
    if (answer === undefined) return undefined;
    answers.set(questionKey(question), answer.to);
  }
}

function write({ conflict, compared }: Known, answers: RenameAnswers): Resolution {
  const { module, screen } = conflict;
  if (compared === undefined) return { kind: 'kept' };
  const id = nextMigrationId(migrationIds(module), nameOf(compared, answers));
  const named = { ...compared, id };
  const file = draftCompared(named, answers);
  const place = writeCompared(module, named, file);
  const shown = path.relative(module, place);
  const isComplete = file.stubs.length === 0;
  screen.say(`wrote ${shown}`);
  for (const note of file.notes) screen.warn(note);
  if (!isComplete) {
    screen.warn(`${shown} throws until you write ${file.stubs.join(', ')}; then save it.`);
    screen.warn('The old program stays in force until then.');
  }
  const files = [place, place.replace(/\.ts$/, '.schema.json')];
  return { kind: 'written', files, isComplete };
}

const nameLengthMax = 40;

/** `rename-name-to-title`: after the first thing that it does. */
function nameOf(compared: Comparison, answers: RenameAnswers): string {
  const { renames, losses } = effectsOf(compared, answers);
  const [rename] = renames;
  const [loss] = losses;
  const last = (name: string) => name.split('.').at(-1) ?? name;
  const text =
    rename !== undefined
      ? `rename-${last(rename.from)}-to-${rename.to}`
      : loss !== undefined
        ? `drop-${last(loss.name)}`
        : 'change-columns';
  const plain = text.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  return plain.slice(0, nameLengthMax).replace(/^-+|-+$/g, '');
}
