import type { Command } from 'commander';
import { object, string } from '../../values/json-shape.ts';
import { type Api, databasePath } from '../api.ts';
import { namedDatabase } from '../database-argument.ts';
import { CliError, type Io } from '../io.ts';
import { openBrowser } from '../open-browser.ts';
import { notLoggedInText, Session } from '../session.ts';
import { withServer } from '../shared-flags.ts';

interface ConsoleFlags {
  readonly browser: boolean;
}

/** Adds `console`, which signs a browser in to the console of a service. */
export function addConsole(program: Command, io: Io): void {
  withServer(program.command('console [database]'))
    .description('open the web console in your browser, signed in as you')
    .option(
      '--no-browser',
      'print the address instead; it signs in the first browser that opens it',
    )
    .addHelpText('after', help)
    .action(async (database: string | undefined, flags: ConsoleFlags, command: Command) => {
      const session = new Session(io, command);
      const chosen = database === undefined ? undefined : namedDatabase(session, database);
      const server = chosen?.server ?? session.server();
      await requireConsole(session.anonymousApi(server));
      const api = await session.apiWithIdentity(server);
      if (api.token === undefined) throw new CliError(notLoggedInText);
      const address = await signInAddress(api, chosen?.database);
      await show(io, address, flags);
    });
}

const help = `
The address holds a code that counts once, for 60 seconds. The session that it begins ends after
12 hours, or when you sign out. Over the network this takes a service with TLS, and the setting
console = "on". BROWSER names another browser. A browser in a sandbox (snap, flatpak) may not be
able to read the file with the code that it is given: use --no-browser then.`;

async function requireConsole(api: Api): Promise<void> {
  const { console } = await api.json('GET', '/v1/service', object({ console: string }));
  if (console !== 'off') return;
  throw new CliError(`The console of ${api.server.url} is off: see the setting \`console\``);
}

async function signInAddress(api: Api, database: string | undefined): Promise<string> {
  if (database !== undefined) await api.text('GET', databasePath(database));
  const { code } = await api.json('POST', '/v1/console/codes', object({ code: string }));
  const page = database === undefined ? '' : `db/${encodeURIComponent(database)}`;
  return `${api.server.url}/console/${page}#code=${code}`;
}

async function show(io: Io, address: string, { browser }: ConsoleFlags): Promise<void> {
  const page = address.slice(0, address.indexOf('#'));
  if (browser && (await openBrowser(address, io.environment))) {
    io.out(`Opened ${page}`);
    return;
  }
  if (browser) io.err('No browser could be opened. Open this address within 60 seconds:');
  io.out(address);
}
