import type { Kept, ShownLog } from '../service/repair.ts';
import { drawTable } from './sql-table.ts';
import { timeText } from './time-text.ts';

type Figures = NonNullable<ShownLog['rest']>;
type Tail = NonNullable<ShownLog['tails']>[number];

/** The parts that a printed command must name. */
interface Named {
  /** As given by the user. */
  readonly database: string;
  /** ` --data-dir …`, or nothing for the default folder. */
  readonly folder: string;
}

/** Files listed for each part, at most. */
const filesMax = 8;

/** Describes the state of a database's log to people. */
export function logText(log: ShownLog, { database, folder }: Named): string {
  const head = `Log of ${database}: ${log.log}`;
  const { common, tails = [] } = log;
  if (common === undefined) return head;
  const parts = [
    ['common', common] as const,
    ...tails.map((tail) => [nameOf(log, tail), tail] as const),
  ];
  const rows = parts.map(([name, part]) => [name, ...cellsOf(part)]);
  const header = ['PART', 'OFFSETS', 'COMMITS', 'ROWS', 'FIRST COMMIT', 'LAST COMMIT'];
  const files = parts.flatMap(([name, part]) => filesOf(name, part.files));
  const reason = log.reason === null ? [] : [log.reason, ''];
  const notes = notesOf(log, tails, { database, folder });
  return [head, ...reason, drawTable({ header, rows }), '', ...files, ...notes].join('\n');
}

/** Why the log needs repair; `undefined` if a start can open it. */
export function faultText({ state, kept }: ShownLog): string | undefined {
  switch (state) {
    case 'intact':
    case 'torn':
      return undefined;
    case 'damaged':
      return 'The log is damaged. Nothing was changed.';
    case 'forked':
      return 'The history is forked. Nothing was changed.';
    case 'interrupted':
      return `A repair was interrupted. Finish it with --keep ${kept}.`;
  }
}

/** The question to ask first; `undefined` if there is none. */
export function keepQuestion(log: ShownLog, kept: Kept): string | undefined {
  const { common, tails = [], rest } = log;
  const chosen = tails.find(({ tail }) => tail === kept);
  const isRefused =
    kept === 'common' ? isUnclear(log) : chosen === undefined || !chosen.can_be_kept;
  if (common === undefined || isRefused) return undefined;
  const end = chosen?.last_offset ?? common.last_offset ?? 0;
  const others = tails.filter((tail) => tail !== chosen);
  const commits = others.reduce((sum, tail) => sum + tail.commits, rest?.commits ?? 0);
  const what = commits === 1 ? '1 commit is' : `${commits} commits are`;
  return `The log will end after offset ${end}; ${what} set aside. Proceed?`;
}

/** It is unknown where the common part ends, and a tail continues it. */
function isUnclear({ parting_known: isKnown, tails = [] }: ShownLog): boolean {
  return isKnown === false && tails.some((tail) => tail.can_be_kept);
}

/** Only a tail that can be kept has a number to select it by. */
function nameOf({ state }: ShownLog, { tail }: Tail): string {
  return state === 'damaged' ? 'lost' : `tail ${tail}`;
}

function cellsOf(figures: Figures): string[] {
  const { commits, rows_inserted, rows_deleted, first_offset, last_offset } = figures;
  return [
    first_offset === null ? '' : `${first_offset} to ${last_offset}`,
    String(commits),
    `+${rows_inserted} -${rows_deleted}`,
    momentText(figures.first_time),
    momentText(figures.last_time),
  ];
}

function momentText(time: string | null): string {
  return time === null ? '' : timeText(Date.parse(time));
}

function filesOf(name: string, files: Tail['files']): string[] {
  const lines = files
    .slice(0, filesMax)
    .map((file) => `${name}: ${file.name}, bytes ${file.from} to ${file.to}`);
  const more = files.length - lines.length;
  return more === 0 ? lines : [...lines, `${name}: ${more} more files`];
}

const tornNote =
  'The next start cuts off the end of the log, which was never durable, ' +
  'and keeps it beside the log, as `….torn-1`.';

function notesOf(log: ShownLog, tails: readonly Tail[], named: Named): string[] {
  const { state, rest, common } = log;
  if (state === 'intact') return ['', 'The log is intact: there is nothing to repair.'];
  if (state === 'torn') return ['', tornNote];
  const isForked = state === 'forked';
  const gone = tails.filter((tail) => !tail.can_be_kept).map((tail) => nameOf(log, tail));
  const last = common?.last_offset ?? 0;
  const notes = [''];
  if (isForked && log.parting_known === false) {
    notes.push(
      `The histories diverge after offset ${last} or earlier; the exact point is unknown.`,
    );
  }
  const first = tails.find(({ is_first: isFirst }) => isFirst);
  if (isForked && first !== undefined) {
    notes.push(
      `The segments lead to ${nameOf(log, first)}: a service that did not check would read it.`,
    );
  }
  if (gone.length > 0 && !isForked) {
    notes.push('What follows the damage cannot be kept, because commits before it are gone.');
  } else if (gone.length > 0) {
    notes.push(`Cannot be kept, because what comes before is gone: ${gone.join(', ')}.`);
  }
  if (rest !== undefined && rest.commits > 0) {
    notes.push(`${rest.commits} more commits are in pieces that are not listed.`);
  }
  return [...notes, ...waysOf(log, tails, named)];
}

function waysOf(log: ShownLog, tails: readonly Tail[], { database, folder }: Named): string[] {
  const whole = tails.filter((tail) => tail.can_be_kept);
  const wayOf = (kept: Kept) => `  reducerdb repair ${database} --keep ${kept}${folder}`;
  const ways = whole.map(({ tail }) => wayOf(tail));
  if (!isUnclear(log)) ways.push(wayOf('common'));
  return ['Keep one part; the rest is set aside:', ...ways];
}
