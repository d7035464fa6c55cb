import path from 'node:path';
import type { Command } from 'commander';
import {
  parseListenAddress,
  parsePublishPolicy,
  type ServiceConfiguration,
} from '../../service/configuration.ts';
import type { Service } from '../../service/start-service.ts';
import { productVersion } from '../../service/version.ts';
import { CliError, type Io } from '../io.ts';
import { Session } from '../session.ts';

interface StartFlags {
  readonly listenAddr?: string;
  readonly dataDir?: string;
  readonly jwtKeyDir?: string;
  readonly inMemory?: boolean;
  readonly publishPolicy?: string;
  readonly callTimeout?: string;
  readonly heapLimit?: string;
  readonly pingInterval?: string;
  readonly idleTimeout?: string;
  readonly closeHandshakeTimeout?: string;
  readonly incomingQueueLength?: string;
  readonly logLevel: string;
}

export function addStart(program: Command, io: Io): void {
  program
    .command('start')
    .description('run a service in the foreground, until Ctrl-C')
    .option('-l, --listen-addr <address>', 'address to listen on (default: 127.0.0.1:3000)')
    .option('--data-dir <dir>', 'folder of the data')
    .option('--jwt-key-dir <dir>', 'folder of the key pair that signs tokens')
    .option('--in-memory', 'keep databases in memory only')
    .option(
      '--publish-policy <policy>',
      'who may create databases: anyone, authenticated, or a list of identities; ' +
        'must be given to listen on another address than loopback',
    )
    .option('--call-timeout <ms>', 'wall-clock limit of one reducer call')
    .option('--heap-limit <MiB>', 'JavaScript heap of one database')
    .option('--ping-interval <ms>', 'between two pings of a WebSocket (default: 15000)')
    .option('--idle-timeout <ms>', 'silence after which a WebSocket is dropped (default: 30000)')
    .option('--close-handshake-timeout <ms>', 'wait for the answer to a close (default: 250)')
    .option('--incoming-queue-length <count>', 'requests of a WebSocket that wait (default: 16384)')
    .option('--log-level <level>', 'trace, debug, info, warn, error or silent', 'info')
    .option('--non-interactive', 'never ask anything (it does not)')
    .action(async (flags: StartFlags, command: Command) => {
      const session = new Session(io, command);
      await serveUntilSignal(io, configurationOf(flags, session));
    });
}

/** Starts a service, says where it is, and resolves when a signal has stopped it. */
async function serveUntilSignal(
  io: Io,
  configuration: Partial<ServiceConfiguration>,
): Promise<void> {
  io.out(`reducerdb version: ${productVersion}`);
  io.out(`reducerdb path: ${process.argv[1]}`);
  const where = configuration.dataDirectory;
  io.out(
    where === undefined
      ? 'databases are kept in memory: they are gone when the service stops'
      : `database running in data directory ${where}`,
  );
  // Loaded when needed: other commands answer sooner without a whole service in memory.
  const { startService } = await import('../../service/start-service.ts');
  const service = await startService(configuration);
  io.out(`listening on ${service.url}`);
  await untilSignal(service, io);
}

/** The first SIGINT or SIGTERM stops in order; a second one ends the process at once. */
function untilSignal(service: Service, io: Io): Promise<void> {
  return new Promise((resolve, reject) => {
    let isStopping = false;
    const onSignal = () => {
      if (isStopping) process.exit(1);
      isStopping = true;
      io.err('stopping: accepted work is finished and made durable (again to stop at once)');
      service.stop().then(resolve, reject);
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
  });
}

function configurationOf(flags: StartFlags, session: Session): Partial<ServiceConfiguration> {
  const listen = flags.listenAddr ?? session.config.listenAddress;
  const policy = flags.publishPolicy;
  return {
    ...(listen === undefined ? {} : { listen: parseListenAddress(listen) }),
    dataDirectory: flags.inMemory === true ? undefined : dataDirectoryOf(flags, session),
    keyDirectory: keyDirectoryOf(flags, session),
    ...(policy === undefined ? {} : { publishPolicy: parsePublishPolicy(policy) }),
    budget: {
      ...given('callMillisMax', flags.callTimeout, '--call-timeout'),
      ...given('workerHeapMebibytesMax', flags.heapLimit, '--heap-limit'),
    },
    websocket: {
      ...given('pingMillis', flags.pingInterval, '--ping-interval'),
      ...given('idleMillis', flags.idleTimeout, '--idle-timeout'),
      ...given('closeMillis', flags.closeHandshakeTimeout, '--close-handshake-timeout'),
      ...given('messagesInMax', flags.incomingQueueLength, '--incoming-queue-length'),
    },
    logLevel: parseLevel(flags.logLevel),
  };
}

function dataDirectoryOf({ dataDir }: StartFlags, { io, places }: Session): string {
  return dataDir === undefined ? places.dataDirectory : path.resolve(io.cwd, dataDir);
}

/** Keys live with the user's configuration, or with the data when its folder was named. */
function keyDirectoryOf({ jwtKeyDir, dataDir }: StartFlags, { io, places }: Session): string {
  if (jwtKeyDir !== undefined) return path.resolve(io.cwd, jwtKeyDir);
  return dataDir === undefined ? places.keyDirectory : path.resolve(io.cwd, dataDir, 'keys');
}

function parseLevel(text: string): ServiceConfiguration['logLevel'] {
  const levels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
  const level = levels.find((candidate) => candidate === text);
  if (level === undefined) throw new CliError(`--log-level: one of ${levels.join(', ')}`, 2);
  return level;
}

/** The value of a flag under the name of its setting, or nothing when it was left out. */
function given<Key extends string>(
  key: Key,
  text: string | undefined,
  flag: string,
): Partial<Record<Key, number>> {
  if (text === undefined) return {};
  return { [key]: positive(text, flag) } as Record<Key, number>;
}

function positive(text: string, flag: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new CliError(`${flag}: \`${text}\` is not a whole number above zero`, 2);
}
