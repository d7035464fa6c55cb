import type { Command } from 'commander';
import { databaseAndQueries } from '../database-argument.ts';
import { CliError, type Io } from '../io.ts';
import type { ChangedRows } from '../known-rows.ts';
import type { LiveChanges } from '../live-changes.ts';
import { Session } from '../session.ts';
import { checkConfirmed, withAnonymous, withServer, withYes } from '../shared-flags.ts';

interface SubscribeFlags {
  readonly numUpdates?: string;
  readonly timeout?: string;
  readonly printInitialUpdate?: boolean;
  readonly confirmed?: string;
  readonly json?: boolean;
}

export function addSubscribe(program: Command, io: Io): void {
  withAnonymous(withYes(withServer(program.command('subscribe [words...]'))))
    .usage('[options] [database] <query>…')
    .description('print the rows of queries, and then their changes')
    .option('-n, --num-updates <n>', 'end after so many updates')
    .option('-t, --timeout <seconds>', 'end after so many seconds')
    .option('--json', 'print a JSON object for each update')
    .option('--print-initial-update', 'print the first rows, also where the output is no terminal')
    .option('--confirmed <bool>', 'show changes only once they are durable (default: true)')
    .addHelpText('after', examples)
    .action(async (words: string[], flags: SubscribeFlags, command: Command) => {
      const bounds = boundsOf(flags);
      const session = new Session(io, command);
      const { chosen, rest: queries } = databaseAndQueries(session, words);
      const { database, server } = chosen;
      const source = { kind: 'database', name: database, server: server.url } as const;
      // Loaded on demand: other commands need neither definitions nor messages.
      const [{ readDefinition }, { liveChanges }] = await Promise.all([
        import('../module-definition.ts'),
        import('../live-changes.ts'),
      ]);
      const definition = await readDefinition(source, session);
      const { confirmed } = flags;
      const signal = bounds.signal;
      const isForPeople = io.showsResults && flags.json !== true;
      const shape = isForPeople ? 'plain' : 'named';
      const tell = (line: string): void => io.err(line);
      const live = { database, definition, queries, shape, confirmed, signal, tell } as const;
      const changes = liveChanges(await session.api(server), live);
      await show(io, changes, { flags, bounds, isForPeople });
    });
}

const examples = `
Examples:
  reducerdb subscribe my-db "SELECT * FROM task WHERE done = false"
  reducerdb subscribe my-db "SELECT * FROM task" --json --num-updates 1 --timeout 30`;

/** When to end. */
interface Bounds {
  readonly updates: number | undefined;
  /** As given. */
  readonly seconds: string;
  /** Is aborted when the time is over. */
  readonly signal: AbortSignal;
}

/** What a timer of Node can wait for. */
const timeoutSecondsMax = 2_147_483;

function boundsOf({ numUpdates, timeout, confirmed }: SubscribeFlags): Bounds {
  checkConfirmed(confirmed);
  if (numUpdates !== undefined && !/^[1-9]\d{0,14}$/.test(numUpdates)) {
    throw new CliError('--num-updates must be a whole number, 1 at least', 2);
  }
  const seconds = Number(timeout ?? 0);
  const isTime = /^\d+(?:\.\d+)?$/.test(timeout ?? '0') && seconds <= timeoutSecondsMax;
  if (!isTime || (timeout !== undefined && seconds === 0)) {
    const text = `--timeout must be a number of seconds above 0, ${timeoutSecondsMax} at most`;
    throw new CliError(text, 2);
  }
  const never = new AbortController().signal;
  return {
    updates: numUpdates === undefined ? undefined : Number(numUpdates),
    seconds: timeout ?? '',
    signal: timeout === undefined ? never : AbortSignal.timeout(seconds * 1_000),
  };
}

interface Showing {
  readonly flags: SubscribeFlags;
  readonly bounds: Bounds;
  readonly isForPeople: boolean;
}

/** Prints changes until there were enough, the time is over, or the server ends them. */
async function show(
  io: Io,
  changes: AsyncIterable<LiveChanges>,
  { flags, bounds, isForPeople }: Showing,
): Promise<void> {
  const { updates, seconds, signal } = bounds;
  const showsFirst = isForPeople || flags.json === true || flags.printInitialUpdate === true;
  const print = (change: LiveChanges): void => {
    if (isForPeople) for (const line of linesOf(change)) io.out(line);
    else io.out(objectOf(change.tables));
  };
  let received = 0;
  const soFar = () => `after receiving ${received}/${updates} updates`;
  try {
    for await (const change of changes) {
      if (!change.isFirst || showsFirst) print(change);
      if (change.isFirst) continue;
      received += 1;
      if (received === updates) return;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    io.err(`timed out after ${seconds}s`);
    if (updates === undefined) return;
    throw new CliError(`subscription timed out after ${seconds}s ${soFar()}`);
  }
  if (updates !== undefined) throw new CliError(`subscription closed ${soFar()}`);
  io.err('disconnected by server');
}

/** The first rows below a line with their number, then a line for each row that came or went. */
function linesOf({ isFirst, tables }: LiveChanges): string[] {
  if (isFirst && tables.length === 0) return ['no rows yet'];
  return tables.flatMap(({ table, deletes, inserts }) => {
    if (isFirst) {
      const count = `${inserts.length} ${inserts.length === 1 ? 'row' : 'rows'}`;
      return [`${table}: ${count}`, ...inserts.map((row) => `  ${row}`)];
    }
    return [
      ...deletes.map((row) => `- ${table} ${row}`),
      ...inserts.map((row) => `+ ${table} ${row}`),
    ];
  });
}

/** `{"task":{"deletes":[…],"inserts":[…]}}` */
function objectOf(tables: readonly ChangedRows[]): string {
  const members = tables.map(({ table, deletes, inserts }) => {
    const rows = `{"deletes":[${deletes.join(',')}],"inserts":[${inserts.join(',')}]}`;
    return `${JSON.stringify(table)}:${rows}`;
  });
  return `{${members.join(',')}}`;
}
