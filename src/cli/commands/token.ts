import { type Command, InvalidArgumentError } from 'commander';
import { parseDuration } from '../../doors/duration.ts';
import { tokenFeatures } from '../../protocol/agent-features.ts';
import {
  boolean,
  list,
  nullable,
  number,
  object,
  optional,
  type Shaped,
  string,
} from '../../values/json-shape.ts';
import { Api, databasePath } from '../api.ts';
import { ciTokenText, ciTokenVariable } from '../ci-token.ts';
import { type ChosenDatabase, onlyDatabase } from '../database-argument.ts';
import { CliError, confirm, type Io } from '../io.ts';
import { withoutToken } from '../saved-tokens.ts';
import { identityOfToken, notLoggedInText, Session } from '../session.ts';
import { refuseFlags, withServer, withYes } from '../shared-flags.ts';
import { drawTable } from '../sql-table.ts';
import { timeText } from '../time-text.ts';

interface CreateFlags {
  readonly database?: string;
  readonly tables?: readonly string[];
  readonly reducers?: readonly string[];
  readonly readOnly?: boolean;
  readonly sqlWrites?: boolean;
  readonly writeByPreview?: boolean;
  readonly maxRows?: number;
  readonly maxBytes?: number;
  readonly features?: readonly string[];
  /** Seconds. */
  readonly expires?: number;
  readonly ci?: boolean;
}

const createdToken = object({
  id: string,
  token: string,
  identity: string,
  /** Seconds since the Unix epoch. */
  expires_at: nullable(number),
});

const listedToken = object({
  id: string,
  issued_by: string,
  /** Seconds since the Unix epoch, as is the next. */
  issued_at: number,
  expires_at: nullable(number),
  tables: optional(list(string)),
  reducers: optional(list(string)),
  read_only: boolean,
  sql_writes: boolean,
  max_rows: optional(number),
  features: optional(list(string)),
});

type ListedToken = Shaped<typeof listedToken>;

/** Adds `token`, for tokens to one database with fewer rights than their creator. */
export function addToken(program: Command, io: Io): void {
  const token = program
    .command('token')
    .description('create, list and revoke limited tokens, each for one database');
  addCreate(token, io);
  addList(token, io);
  addRevoke(token, io);
  addGiveUp(token, io);
}

function addCreate(token: Command, io: Io): void {
  withYes(withServer(token.command('create [database]')))
    .description('create a token with a part of your rights, and print it')
    .option('--database <database>', 'database of the token')
    .option('--tables <names>', 'the only tables and views that it can read', names)
    .option('--reducers <names>', 'the only reducers that it can call', names)
    .option('--read-only', 'it cannot call reducers or write')
    .option('--sql-writes', 'it can INSERT, UPDATE and DELETE in the tables of --tables')
    .option('--write-by-preview', 'it can only write by applying previews')
    .option('--max-rows <n>', 'maximum number of rows in a result', wholeNumber)
    .option('--max-bytes <n>', 'maximum bytes of rows in an answer to an agent', wholeNumber)
    .option('--features <names>', `features for its bearer: ${tokenFeatures.join(', ')}`, names)
    .option('--expires <duration>', 'lifetime, such as 1h or 7d', seconds)
    .option('--ci', 'a developer of its own, to publish from elsewhere, as one variable')
    .addHelpText('after', example)
    .action(async (word: string | undefined, flags: CreateFlags, command: Command) => {
      const session = new Session(io, command);
      const { database, server } = onlyDatabase(session, word ?? flags.database);
      const api = await session.apiWithIdentity(server);
      if (flags.ci === true) {
        await createForCi(io, api, database, flags);
        return;
      }
      const path = databasePath(database, '/tokens');
      const answer = await api.json('POST', path, createdToken, {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(requestOf(flags)),
      });
      const { id, token: made, identity, expires_at } = answer;
      io.err(`Token ${id} for ${database}; ${expiryText(expires_at)}.`);
      if (flags.writeByPreview === true && flags.tables === undefined) io.err(blindText);
      io.err(`Anyone who has it acts as ${identity}. It is not shown again:`);
      io.out(made);
    });
}

const example = `
Example:
  reducerdb token create my-db --tables task --reducers add_task --expires 1h > agent.token
  reducerdb token create my-db --ci > ci.env
                                             a line REDUCERDB_TOKEN=…, which publish reads`;

const blindText =
  'hint: without --tables it reads what anyone can, and its previews show changes of no other ' +
  'table; --sql-writes lets it preview SQL, too';

/** Gives a new identity the role of a developer, and prints its token together with the server. */
async function createForCi(io: Io, api: Api, database: string, flags: CreateFlags): Promise<void> {
  refuseFlags(flags, ciRefused, 'limits tokens of agents: it cannot be combined with --ci');
  const issued = object({ identity: string, token: string });
  const { identity, token } = await new Api(api.server, undefined).json(
    'POST',
    '/v1/identity',
    issued,
  );
  await api.text('PUT', databasePath(database, `/grants/${identity}`), {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ role: 'developer' }),
  });
  io.err(`${identity} is now developer of ${database}.`);
  io.err('Anyone who has this line can publish there. It is not shown again:');
  io.outAsIs(`${ciTokenVariable}=${ciTokenText({ server: api.server, token })}`);
}

const ciRefused = [
  'tables',
  'reducers',
  'readOnly',
  'sqlWrites',
  'writeByPreview',
  'maxRows',
  'maxBytes',
  'features',
  'expires',
] as const;

function requestOf(flags: CreateFlags): object {
  return {
    tables: flags.tables,
    reducers: flags.reducers,
    read_only: flags.readOnly,
    sql_writes: flags.sqlWrites,
    max_rows: flags.maxRows,
    max_bytes: flags.maxBytes,
    features: featuresOf(flags),
    expires_seconds: flags.expires,
  };
}

function featuresOf({ features, writeByPreview }: CreateFlags): readonly string[] | undefined {
  if (writeByPreview !== true) return features;
  return [...(features ?? []), 'write-by-preview'];
}

function addList(token: Command, io: Io): void {
  withYes(withServer(token.command('list [database]')))
    .description('list the valid tokens of a database')
    .action(async (word: string | undefined, _flags, command: Command) => {
      const session = new Session(io, command);
      const { database, server } = onlyDatabase(session, word);
      const api = await session.apiWithIdentity(server);
      const shape = object({ tokens: list(listedToken) });
      const { tokens } = await api.json('GET', databasePath(database, '/tokens'), shape);
      if (tokens.length === 0) io.out(`There are no tokens for ${database}.`);
      else io.out(tableOf(tokens));
    });
}

function tableOf(tokens: readonly ListedToken[]): string {
  return drawTable({
    header: [
      'ID',
      'READS',
      'CALLS',
      'SQL WRITES',
      'MAX ROWS',
      'FEATURES',
      'EXPIRES',
      'CREATED',
      'BY',
    ],
    rows: tokens.map((token) => [
      token.id,
      token.tables?.join(', ') ?? 'what anyone can',
      callsText(token),
      token.sql_writes && !isReadOnly(token) ? 'yes' : 'no',
      String(token.max_rows ?? ''),
      token.features?.join(', ') ?? '',
      token.expires_at === null ? 'never' : timeText(token.expires_at * 1000),
      timeText(token.issued_at * 1000),
      token.issued_by,
    ]),
  });
}

function isReadOnly({ read_only, features }: ListedToken): boolean {
  return read_only || features?.includes('read-only') === true;
}

function callsText(token: ListedToken): string {
  const { reducers } = token;
  if (isReadOnly(token) || reducers?.length === 0) return 'nothing';
  return reducers?.join(', ') ?? 'what anyone can';
}

function addRevoke(token: Command, io: Io): void {
  withYes(withServer(token.command('revoke [database] [id]')))
    .description('revoke a token and close its connections')
    .option('--database <database>', 'database of the token')
    .action(
      async (
        first: string | undefined,
        second: string | undefined,
        flags: { readonly database?: string },
        command: Command,
      ) => {
        const session = new Session(io, command);
        const { chosen, id } = tokenMeant(session, [flags.database, first, second]);
        const api = await session.apiWithIdentity(chosen.server);
        const where = `/tokens/${encodeURIComponent(id)}`;
        await api.text('DELETE', databasePath(chosen.database, where));
        io.out(`The token ${id} is revoked.`);
      },
    );
}

/** The database can be left out, as for `sql`. */
function tokenMeant(
  session: Session,
  given: readonly (string | undefined)[],
): { readonly chosen: ChosenDatabase; readonly id: string } {
  const words = given.filter((word) => word !== undefined);
  const id = words.pop();
  if (id === undefined)
    throw new CliError('The id of the token is missing. See `reducerdb token list`.', 2);
  if (words.length > 1) throw new CliError('Expected at most one database, and one token id.', 2);
  return { chosen: onlyDatabase(session, words[0]), id };
}

function addGiveUp(token: Command, io: Io): void {
  withYes(withServer(token.command('give-up')))
    .description('revoke your saved token, or another one, permanently')
    .option('--token <token>', 'the token, instead of the saved one')
    .action(async (flags: { readonly token?: string }, command: Command) => {
      const session = new Session(io, command);
      const saved = await session.savedTokenFor(session.server());
      const given = flags.token ?? saved;
      if (given === undefined) throw new CliError(notLoggedInText);
      const identity = identityOfToken(given);
      const question =
        `This token is the only proof that you are ${identity}. ` +
        'Without it you lose everything that this identity owns. Give it up?';
      const isSaved = given === saved;
      if (isSaved && !(await confirm(io, question, session.answersYes('give-up')))) {
        io.out('Aborting');
        return;
      }
      await new Api(session.server(), given).text('POST', '/v1/identity/revoke');
      if (isSaved) session.save(withoutToken(session.config, given));
      io.out(`The token of ${identity} is revoked.`);
    });
}

function expiryText(expiresAt: number | null): string {
  return expiresAt === null ? 'it does not expire' : `it expires ${timeText(expiresAt * 1000)}`;
}

function names(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function wholeNumber(text: string): number {
  const count = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (count === 0) throw new InvalidArgumentError('Expected a whole number above zero.');
  return count;
}

function seconds(text: string): number {
  const millis = parseDuration(text) ?? 0;
  if (millis < 1000) throw new InvalidArgumentError('Expected a duration such as 90s, 1h or 7d.');
  return Math.floor(millis / 1000);
}
