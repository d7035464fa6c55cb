import { type Command, Option } from 'commander';
import { CliError, confirm, type Io } from '../io.ts';
import { savedFor, withCurrent, withoutToken } from '../saved-tokens.ts';
import { chooseServer, type ServerAddress } from '../server-choice.ts';
import { accepts, identityOfToken, notLoggedInText, Session } from '../session.ts';
import { drawTable } from '../sql-table.ts';
import type { SavedToken } from '../user-config.ts';

interface LoginFlags {
  readonly token?: string | true;
  readonly identity?: string;
  readonly serverIssuedLogin?: string;
}

export function addLogin(program: Command, io: Io): void {
  const login = program
    .command('login')
    .description('save an identity: a new one from the server, or that of a token')
    // The value is optional because `login show --token` is parsed here, too.
    .option('--token [token]', 'save this token; with --server, for that server only')
    .option('--identity <identity>', 'take up again an identity that `login list` shows')
    .option('-s, --server <server>', 'server that issues the identity')
    // There is no page to open: a login never needs a browser here.
    .addOption(new Option('--no-browser').hideHelp())
    .addOption(new Option('--server-issued-login <server>').hideHelp())
    .addHelpText('after', help)
    .action(async (flags: LoginFlags, command: Command) => {
      const session = new Session(io, command);
      if (flags.token === true) throw new CliError('--token requires the token to save', 2);
      if (flags.identity !== undefined) takeUp(session, flags.identity);
      else if (flags.token !== undefined) saveToken(session, flags.token);
      else {
        const flag = flags.serverIssuedLogin ?? session.flags.server;
        await loginAt(session, chooseServer(session.config, flag));
      }
    });
  addShow(login, io);
  login
    .command('list')
    .description('list the identities that are saved, and the servers that they are for')
    .action((_flags, command: Command) => {
      const { saved, kept } = new Session(io, command).config;
      const rows = [...(saved === undefined ? [] : [saved]), ...kept].map((entry) => [
        identityOfToken(entry.token),
        entry.server ?? 'any that you name',
        entry.isReplaced ? 'replaced' : entry === saved ? 'current' : 'kept',
      ]);
      if (rows.length === 0) io.out(notLoggedInText);
      else io.out(drawTable({ header: ['IDENTITY', 'SERVER', 'STATE'], rows }));
    });
  addLogout(program, io);
}

const help = `
Each server has its own identity, and a token goes only to the server that issued it. What a login
replaces is kept: \`login list\` shows it, \`login --identity\` takes it up again.`;

function addShow(login: Command, io: Io): void {
  login
    .command('show')
    .description('print your identity')
    .option('--token', 'also print the token')
    .action(async (_flags, command: Command) => {
      const session = new Session(io, command);
      const dev = session.flags.server === undefined ? devToken(session) : undefined;
      const token = dev ?? (await currentToken(session));
      const isTokenShown = command.optsWithGlobals().token !== undefined;
      if (token === undefined) {
        io.out(`${notLoggedInText} Run \`reducerdb login\` to log in.`);
        return;
      }
      if (dev !== undefined) io.err('As owner of the database of dev, which runs in this project:');
      io.out(`You are logged in as ${identityOfToken(token)}`);
      if (isTokenShown) io.out(`Your auth token (don't share this!) is ${token}`);
    });
}

/** `login show` works beside a project file that cannot be read. */
function devToken(session: Session): string | undefined {
  try {
    return session.devToken;
  } catch (error) {
    if (error instanceof CliError) return undefined;
    throw error;
  }
}

function addLogout(program: Command, io: Io): void {
  program
    .command('logout')
    .description('forget the saved identity')
    .option('-s, --server <server>', 'forget the identity for this server')
    .action(async (_flags, command: Command) => {
      const session = new Session(io, command);
      const token = await currentToken(session);
      if (token === undefined) {
        io.out(notLoggedInText);
        return;
      }
      session.save(withoutToken(session.config, token));
      io.out(`Logged out (identity ${identityOfToken(token)}).`);
    });
}

/** Of the server that was named; else the current one, or the one for the default server. */
async function currentToken(session: Session): Promise<string | undefined> {
  const { config, flags } = session;
  if (flags.server !== undefined) {
    return session.savedTokenFor(chooseServer(config, flags.server));
  }
  if (config.saved !== undefined || config.defaultServer === undefined) return config.saved?.token;
  return session.savedTokenFor(chooseServer(config, undefined));
}

function saveToken(session: Session, token: string): void {
  const identity = identityOfToken(token);
  const { config, flags } = session;
  const server = flags.server === undefined ? undefined : chooseServer(config, flags.server).url;
  saveCurrent(session, { token, server, key: undefined, isReplaced: false });
  session.io.out(`Logged in with identity ${identity}`);
  session.io.out('Token saved.');
}

function takeUp(session: Session, wanted: string): void {
  const identity = wanted.toLowerCase().replace(/^0x/, '');
  const { saved, kept } = session.config;
  const found = [...(saved === undefined ? [] : [saved]), ...kept].find(({ token }) => {
    return identityOfToken(token) === identity;
  });
  if (found === undefined) {
    throw new CliError(`${wanted} is not saved. \`reducerdb login list\` shows what is.`);
  }
  saveCurrent(session, { ...found, isReplaced: false });
  session.io.out(`Logged in with identity ${identity}`);
}

function saveCurrent(session: Session, saved: SavedToken): void {
  const before = replacedCount(session);
  session.save(withCurrent(session.config, saved));
  sayReplaced(session, before);
}

/** A new identity of the server; one that counts there is replaced after a question only. */
async function loginAt(session: Session, server: ServerAddress): Promise<void> {
  const { config, io } = session;
  const existing = savedFor(config, server);
  if (existing !== undefined && io.isInteractive && (await accepts(server, existing.token))) {
    const identity = identityOfToken(existing.token);
    const question = `You are ${identity} at ${server.url} already. Get another identity?`;
    if (!(await confirm(io, question, false))) {
      io.out('Aborting');
      return;
    }
  }
  const before = replacedCount(session);
  await session.loginDirectly(server);
  sayReplaced(session, before);
}

function replacedCount({ config }: Session): number {
  return config.kept.filter(({ isReplaced }) => isReplaced).length;
}

function sayReplaced(session: Session, before: number): void {
  if (replacedCount(session) <= before) return;
  session.io.err(
    'The identity that was saved before is kept: `reducerdb login list` shows it, ' +
      '`reducerdb login --identity <identity>` takes it up again.',
  );
}
