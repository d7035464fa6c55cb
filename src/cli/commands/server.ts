import type { Command } from 'commander';
import { Api } from '../api.ts';
import { CliError, confirm, type Io } from '../io.ts';
import { chooseServer, findServer, serverUrl, unknownServer } from '../server-choice.ts';
import { dataFolder } from '../service-settings.ts';
import { Session } from '../session.ts';
import { withDataDir, withYes } from '../shared-flags.ts';
import { drawTable } from '../sql-table.ts';
import type { SavedServer } from '../user-config.ts';

export function addServer(program: Command, io: Io): void {
  const server = program.command('server').description('manage saved servers');
  addListing(server, io);
  addEditing(server, io);
  addFingerprint(server, io);
  server
    .command('ping <server>')
    .description('check whether a server responds')
    .action(async (name: string, _flags, command: Command) => {
      const { config } = new Session(io, command);
      const address = chooseServer(config, name);
      const { status, ok } = await new Api(address, undefined).send('GET', '/v1/ping');
      if (ok) io.out(`Server is online: ${address.url}`);
      else if (status === 404) io.out(`Server returned 404 (Not Found): ${address.url}`);
      else throw new CliError(`Server could not be reached (${status}): ${address.url}`);
    });
  withDataDir(withYes(server.command('clear')))
    .description('delete all data of the service on this machine')
    .action(async (flags: { dataDir?: string }, command: Command) => {
      const session = new Session(io, command);
      const { clearData, hasData } = await import('../../service/data-folder.ts');
      const folder = dataFolder(session, flags.dataDir);
      if (!hasData(folder)) {
        io.out('Local database not found. Nothing has been deleted.');
        return;
      }
      const question = 'Are you sure you want to delete all data from the local database?';
      if (!(await confirm(io, question, session.answersYes('delete-data')))) return;
      await clearData(folder);
      io.out(`Deleted database: ${folder}`);
    });
}

function addListing(server: Command, io: Io): void {
  server
    .command('list')
    .description('list saved servers; *** marks the default')
    .action((_flags, command: Command) => {
      const { config } = new Session(io, command);
      const rows = config.servers.map(({ nickname, host, protocol }) => [
        config.defaultServer === (nickname ?? host) ? '***' : '',
        host,
        protocol,
        nickname ?? '',
      ]);
      io.out(drawTable({ header: ['DEFAULT', 'HOSTNAME', 'PROTOCOL', 'NICKNAME'], rows }));
    });
  server
    .command('set-default <server>')
    .description('make a saved server the default')
    .action((name: string, _flags, command: Command) => {
      const session = new Session(io, command);
      const found = known(session, name);
      session.save({ ...session.config, defaultServer: found.nickname ?? found.host });
    });
}

function addEditing(server: Command, io: Io): void {
  server
    .command('add <nickname> [url]')
    .description('save a server under a name')
    .option('--url <url>', 'address of the server, instead of the second argument')
    .option('-d, --default', 'make it the default')
    .option('--no-fingerprint', 'do not fetch its public key')
    .action(async (given: string, word: string | undefined, flags: EditFlags, command: Command) => {
      const session = new Session(io, command);
      const { nickname, url } = namedAddress(given, word, flags.url);
      if (findServer(session.config, nickname) !== undefined) {
        throw new CliError(
          `A server named ${nickname} is already saved. Change it with \`reducerdb server edit\`.`,
        );
      }
      const added = await savedServer(url, nickname, flags.fingerprint !== false);
      session.save({
        ...session.config,
        servers: [...session.config.servers, added],
        defaultServer: flags.default === true ? nickname : session.config.defaultServer,
      });
      io.out(`Host: ${added.host}\nProtocol: ${added.protocol}`);
    });
  withYes(server.command('edit <server>'))
    .description('change the nickname or address of a saved server')
    .option('--new-name <nickname>', 'new nickname')
    .option('--url <url>', 'new address')
    .option('--no-fingerprint', 'do not fetch its public key')
    .action(async (name: string, flags: EditFlags, command: Command) => {
      const session = new Session(io, command);
      const old = known(session, name);
      const nickname = flags.newName ?? old.nickname ?? old.host;
      const url = flags.url ?? `${old.protocol}://${old.host}`;
      const edited = await savedServer(url, nickname, flags.fingerprint !== false);
      const isDefault = session.config.defaultServer === (old.nickname ?? old.host);
      session.save({
        ...session.config,
        servers: session.config.servers.map((saved) => (saved === old ? edited : saved)),
        defaultServer: isDefault ? nickname : session.config.defaultServer,
      });
    });
  withYes(server.command('remove <server>'))
    .description('remove a saved server')
    .action((name: string, _flags, command: Command) => {
      const session = new Session(io, command);
      const old = known(session, name);
      const isDefault = session.config.defaultServer === (old.nickname ?? old.host);
      session.save({
        ...session.config,
        servers: session.config.servers.filter((saved) => saved !== old),
        defaultServer: isDefault ? undefined : session.config.defaultServer,
      });
    });
}

/** The two arguments in either order: only one of them can be an address. */
function namedAddress(given: string, word: string | undefined, flag: string | undefined) {
  if (word !== undefined && flag !== undefined) {
    throw new CliError('the address is given twice: as an argument, and with --url', 2);
  }
  const other = word ?? flag;
  if (other === undefined) {
    throw new CliError(
      `the address of the server is missing: reducerdb server add ${given} http://127.0.0.1:3000`,
      2,
    );
  }
  const isSwapped = given.includes('://') && !other.includes('://');
  return isSwapped ? { nickname: other, url: given } : { nickname: given, url: other };
}

interface EditFlags {
  readonly url?: string;
  readonly default?: boolean;
  readonly fingerprint?: boolean;
  readonly newName?: string;
}

function addFingerprint(server: Command, io: Io): void {
  withYes(server.command('fingerprint <server>'))
    .description("show a server's public key; if it has changed, ask whether to save it")
    .action(async (name: string, _flags, command: Command) => {
      const session = new Session(io, command);
      const old = known(session, name);
      const fetched = await fingerprintOf(`${old.protocol}://${old.host}`);
      io.out(fetched.trim());
      if (fetched === old.fingerprint) return;
      const question = 'The saved fingerprint differs. Replace it with this one?';
      if (old.fingerprint !== undefined) {
        if (!(await confirm(io, question, session.answersYes('all')))) return;
      }
      session.save({
        ...session.config,
        servers: session.config.servers.map((saved) =>
          saved === old ? { ...saved, fingerprint: fetched } : saved,
        ),
      });
    });
}

function known(session: Session, name: string): SavedServer {
  const found = findServer(session.config, name);
  if (found !== undefined) return found;
  throw unknownServer(name);
}

async function savedServer(
  text: string,
  nickname: string,
  asksFingerprint: boolean,
): Promise<SavedServer> {
  const { host, protocol } = parseUrl(text);
  const fingerprint = asksFingerprint ? await fingerprintOf(`${protocol}://${host}`) : undefined;
  return { nickname, host, protocol, fingerprint };
}

function fingerprintOf(url: string): Promise<string> {
  return new Api({ url, name: url }, undefined).text('GET', '/v1/identity/public-key');
}

function parseUrl(text: string): { host: string; protocol: 'http' | 'https' } {
  const { host, protocol } = serverUrl(text);
  return { host, protocol: protocol === 'https:' ? 'https' : 'http' };
}
