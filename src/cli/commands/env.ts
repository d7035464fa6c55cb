import type { Command } from 'commander';
import {
  boolean,
  list,
  number,
  object,
  optional,
  type Shaped,
  string,
} from '../../values/json-shape.ts';
import { type Api, databasePath, readAnswer } from '../api.ts';
import { type ChosenDatabase, databaseAndValue, onlyDatabase } from '../database-argument.ts';
import { checkName, divided, valueIn } from '../env-values.ts';
import { CliError, type Io } from '../io.ts';
import { Session } from '../session.ts';
import { withServer, withYes } from '../shared-flags.ts';
import { drawTable } from '../sql-table.ts';
import { timeText } from '../time-text.ts';

const listedEnv = object({
  name: string,
  secret: boolean,
  /** Only of a secret. */
  readable: optional(boolean),
  /** Never of a secret. */
  value: optional(string),
  set_by: string,
  /** Microseconds since the Unix epoch. */
  set_at: number,
});

type ListedEnv = Shaped<typeof listedEnv>;

const setValue = object({ name: string, secret: boolean, hint: optional(string) });

const envList = object({ env: list(listedEnv) });

/** Adds `env`, for the values that the functions of a database read as `ctx.env`. */
export function addEnv(program: Command, io: Io): void {
  const env = program
    .command('env')
    .description('set, get, list and unset the configuration and secrets of a database');
  addSet(env, io);
  addGet(env, io);
  addList(env, io);
  addUnset(env, io);
}

interface SetFlags {
  readonly secret?: boolean;
  readonly fromFile?: string;
}

function addSet(env: Command, io: Io): void {
  withYes(withServer(env.command('set <word> [word]')))
    .usage('[options] [database] <name>[=value]')
    .description('set a value; without one, it is asked for, or read from standard input')
    .option('--secret', 'only procedures and HTTP handlers can read it, and nobody else')
    .option('--from-file <file>', 'read the value from a file; `-` is standard input')
    .action(async (first: string, second: string | undefined, flags: SetFlags, command) => {
      const session = new Session(io, command);
      const { chosen, value: word } = databaseAndValue(session, [first, second]);
      const { name, value: given } = divided(word);
      checkName(name);
      const { secret, fromFile } = flags;
      if (given !== undefined && fromFile !== undefined) {
        throw new CliError('a value and --from-file cannot be combined', 2);
      }
      const { api, path } = await placeOf(session, chosen, name);
      const value =
        given ?? (fromFile === undefined ? await asked(io, name) : await valueIn(io, fromFile));
      const body = JSON.stringify({ value, ...(secret === true && { secret }) });
      const headers = { 'content-type': 'application/json' };
      const set = await api.json('PUT', path, setValue, { headers, body });
      io.out(`Set ${set.name}${set.secret ? ', a secret' : ''}.`);
      if (set.hint !== undefined) io.err(`hint: ${set.hint}`);
    });
}

/** A terminal is asked without showing the answer; a pipe is read to its end. */
async function asked(io: Io, name: string): Promise<string> {
  if (!io.isInteractive) return valueIn(io, '-');
  const answer = await io.askHidden(`Value of ${name}: `);
  if (answer === undefined) throw new CliError(`${name} has no value`);
  return answer;
}

function addGet(env: Command, io: Io): void {
  withYes(withServer(env.command('get <word> [word]')))
    .usage('[options] [database] <name>')
    .description('print a value; a secret cannot be read back')
    .action(async (first: string, second: string | undefined, _flags, command: Command) => {
      const { api, path, name } = await placeIn(new Session(io, command), first, second);
      const { value } = await api.json('GET', path, listedEnv);
      if (value === undefined) {
        const text =
          'is a secret: nobody can read it back. Its functions can; to replace it, set it';
        throw new CliError(`${name} ${text}`);
      }
      io.outAsIs(value);
    });
}

function addList(env: Command, io: Io): void {
  withYes(withServer(env.command('list [database]')))
    .description('list the values of a database, without those of secrets')
    .option('--json', 'print JSON')
    .action(
      async (word: string | undefined, flags: { readonly json?: boolean }, command: Command) => {
        const session = new Session(io, command);
        const { database, server } = onlyDatabase(session, word);
        const api = await session.apiWithIdentity(server);
        const text = await api.text('GET', databasePath(database, '/env'));
        if (flags.json === true) {
          io.out(text);
          return;
        }
        const { env: listed } = readAnswer(text, envList);
        if (listed.length === 0) io.out(`Nothing is set for ${database}.`);
        else io.out(tableOf(listed));
      },
    );
}

function tableOf(listed: readonly ListedEnv[]): string {
  return drawTable({
    header: ['NAME', 'VALUE', 'SET', 'BY'],
    rows: listed.map(({ name, value, readable, set_at, set_by }) => [
      name,
      value === undefined ? secretText(readable) : oneLine(value),
      timeText(Math.floor(set_at / 1_000)),
      set_by,
    ]),
  });
}

function secretText(isReadable: boolean | undefined): string {
  return isReadable === false ? '(secret, its key is missing)' : '(secret)';
}

/** Enough of a value to recognize it; `get` prints all of it. */
function oneLine(value: string): string {
  const line = /\p{Cc}/u.test(value) ? JSON.stringify(value) : value;
  return line.length > shownMax ? `${line.slice(0, shownMax)}…` : line;
}

const shownMax = 60;

function addUnset(env: Command, io: Io): void {
  withYes(withServer(env.command('unset <word> [word]')))
    .usage('[options] [database] <name>')
    .description('remove a value that the running program does not need')
    .action(async (first: string, second: string | undefined, _flags, command: Command) => {
      const { api, path, name } = await placeIn(new Session(io, command), first, second);
      await api.text('DELETE', path);
      io.out(`Unset ${name}.`);
    });
}

async function placeIn(session: Session, first: string, second: string | undefined) {
  const { chosen, value: name } = databaseAndValue(session, [first, second]);
  checkName(name);
  return { name, ...(await placeOf(session, chosen, name)) };
}

async function placeOf(
  session: Session,
  { database, server }: ChosenDatabase,
  name: string,
): Promise<{ readonly api: Api; readonly path: string }> {
  const api = await session.apiWithIdentity(server);
  return { api, path: databasePath(database, `/env/${name}`) };
}
