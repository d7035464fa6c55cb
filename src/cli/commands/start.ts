import type { Command } from 'commander';
import type { AcceptedLoss } from '../../host/offline/accept-losses.ts';
import type { GivenConfiguration } from '../../service/configuration.ts';
import type { Service } from '../../service/start-service.ts';
import { productVersion } from '../../service/version.ts';
import { CliError, type Io } from '../io.ts';
import { serviceSettings, withServiceSettings } from '../service-settings.ts';
import { Session } from '../session.ts';

export function addStart(program: Command, io: Io): void {
  const start = program
    .command('start')
    .description('run a service in the foreground, until Ctrl-C')
    .addHelpText('after', helpOfFile);
  withServiceSettings(start)
    .option('--non-interactive', 'accepted for compatibility; start never asks questions')
    .option('--accept-loss-after <database:offset>', helpOfLoss, collectLoss, [])
    .option('--import', helpOfImport)
    .action(async ({ acceptLossAfter, import: importsFolder }: StartFlags, command: Command) => {
      const { configuration, warnings } = serviceSettings(new Session(io, command), command);
      for (const line of warnings) io.err(`WARNING: ${line}`);
      const once = { acceptedLosses: acceptLossAfter, importsFolder: importsFolder === true };
      await serveUntilSignal(io, { ...configuration, ...once });
    });
}

interface StartFlags {
  readonly acceptLossAfter: readonly AcceptedLoss[];
  readonly import?: true;
}

const helpOfImport =
  'with --cluster: bring the databases of this data folder, which a single machine has used, ' +
  'into the cluster';

const helpOfLoss =
  'open a database whose log has lost its end; offset: where the log ends now, as the error ' +
  'says (repeatable; the database can be left out if it is the only one)';

function collectLoss(text: string, before: readonly AcceptedLoss[]): readonly AcceptedLoss[] {
  const match = /^(?:(.+):)?(\d{1,15})$/.exec(text);
  if (match === null) {
    throw new CliError(`--accept-loss-after: \`${text}\` is not <database>:<offset>`, 2);
  }
  return [...before, { target: match[1], offset: Number(match[2]) }];
}

const helpOfFile = `
Settings can also be in config.toml in the data folder, or in environment variables (REDUCERDB_ and
the words of the flag). \`reducerdb config check\` shows all of them and the origin of each value.`;

/** Starts a service, prints its address, and resolves when a signal has stopped it. */
async function serveUntilSignal(io: Io, configuration: GivenConfiguration): Promise<void> {
  io.out(`reducerdb version: ${productVersion}`);
  io.out(`reducerdb path: ${process.argv[1]}`);
  const where = configuration.dataDirectory;
  io.out(
    where === undefined
      ? 'databases are kept in memory: they are gone when the service stops'
      : `database running in data directory ${where}`,
  );
  // Loaded on demand: other commands start faster without a whole service in memory.
  const { dedicateProcess } = await import('../../service/own-process.ts');
  const { startService } = await import('../../service/start-service.ts');
  dedicateProcess(configuration);
  const service = await startService(configuration);
  io.out(`listening on ${service.url}`);
  const console = consoleText(service.url, configuration);
  if (console !== undefined) io.out(console);
  reloadOnHangup(service, io);
  await untilSignal(service, io);
}

/** Where the console is, and for whom; `undefined`: nowhere. */
function consoleText(url: string, given: GivenConfiguration): string | undefined {
  const { console = 'loopback', publicUrl } = given;
  if (console === 'off') return undefined;
  const base = console === 'on' ? (publicUrl ?? url) : url;
  return `console: ${base}/console/ (to sign in, run \`reducerdb console\`)`;
}

/** SIGHUP reloads rotated keys; in a terminal it still means that the terminal was closed. */
function reloadOnHangup(service: Service, io: Io): void {
  if (process.stdin.isTTY) return;
  process.on('SIGHUP', () => {
    service.reloadKeys().then(
      () => io.out('reloaded the keys, and the secret of the cluster if it is a host of one'),
      (error: Error) => io.err(`the keys were not reloaded: ${error.message}`),
    );
  });
}

/**
 * Resolves when the service has stopped; rejects when another process has taken its place.
 * The first SIGINT or SIGTERM shuts down cleanly; a second one ends the process at once.
 */
function untilSignal(service: Service, io: Io): Promise<void> {
  return new Promise((resolve, reject) => {
    let isStopping = false;
    const onSignal = () => {
      if (isStopping) process.exit(1);
      isStopping = true;
      io.err('stopping: finishing accepted work and making it durable (repeat to stop at once)');
      service.stop().then(resolve, reject);
    };
    void service.replaced.then((message) => {
      isStopping = true;
      service.stop().then(() => reject(new CliError(message)), reject);
    });
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
  });
}
