import path from 'node:path';
import type { Command } from 'commander';
import type { ClusterSecret } from '../../cluster/cluster-secret.ts';
import type { ExportedDatabase } from '../../cluster/exported-database.ts';
import type { ReadAnswer } from '../../shared-log/shared-log.ts';
import { bytesText } from '../../values/bytes-text.ts';
import { JsonError } from '../../values/json-error.ts';
import { type Api, unfittingText } from '../api.ts';
import { CliError, type Io } from '../io.ts';
import { Session } from '../session.ts';
import { withServer, withYes } from '../shared-flags.ts';
import { WorkProgress } from '../work-progress.ts';

/** Adds `cluster export`, the way back to one machine. */
export function addClusterExport(cluster: Command, io: Io): void {
  withYes(withServer(cluster.command('export <database> <folder>')))
    .description('write a database to a data folder that a service without a cluster opens')
    .option('--cluster-secret-file <file>', 'file with the secret of the cluster, for its keys')
    .option('--without-keys', 'leave out the keys that sign tokens and encrypt secrets')
    .option('--json', 'print JSON')
    .addHelpText('after', help)
    .action(async (database: string, folder: string, flags: ExportFlags, command: Command) => {
      const secret = flags.withoutKeys === true ? undefined : await secretOf(io, flags);
      const api = await new Session(io, command).apiWithIdentity();
      await exportDatabase(io, api, { database, folder, secret, isJson: flags.json === true });
    });
}

interface ExportFlags {
  readonly clusterSecretFile?: string;
  readonly withoutKeys?: true;
  readonly json?: true;
}

const help = `
The folder gets the log of the database as it is, so rows and offsets are the same; its names,
roles, tokens and values; and the keys of the cluster, so that tokens count and secrets can be read.
The cluster secret, which opens the keys, stays here. A folder that was written so gets further
databases besides. The database stays in the cluster: stop its clients before, or what they write is
left out.`;

interface Wanted {
  readonly database: string;
  readonly folder: string;
  readonly secret: ClusterSecret | undefined;
  readonly isJson: boolean;
}

async function exportDatabase(io: Io, api: Api, wanted: Wanted): Promise<void> {
  const { database, secret, isJson } = wanted;
  const folder = path.resolve(io.cwd, wanted.folder);
  const [{ exportToFolder }, { ConfigurationError }] = await Promise.all([
    import('../../service/export-folder.ts'),
    import('../../service/configuration.ts'),
  ]);
  const exported = await exportOf(api, database);
  const progress = new WorkProgress(io, isJson);
  try {
    const written = await exportToFolder({
      ...{ folder, exported, secret },
      read: (_, from) => entriesOf(api, exported, from),
      snapshot: (position) => snapshotOf(api, exported, position),
      onBytes: (done) => progress.show({ phase: 'receiving', done, total: 0, unit: 'bytes' }),
    });
    progress.end();
    if (isJson) io.out(JSON.stringify({ folder, ...written }));
    else {
      const log = `its log of ${bytesText(written.bytes)}, up to offset ${written.offset}`;
      io.out(`${database}: ${log}, is in ${wanted.folder}.`);
      if (secret === undefined) io.out(withoutKeysText(wanted.folder));
      io.out(`Start it with: reducerdb start --data-dir ${wanted.folder}`);
    }
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new CliError(error.message, 1, { cause: error });
  }
}

async function exportOf(api: Api, database: string): Promise<ExportedDatabase> {
  const { readExport } = await import('../../cluster/exported-database.ts');
  const text = await api.text('GET', `${pathOf(database)}/export`);
  try {
    return readExport(text);
  } catch (cause) {
    if (!(cause instanceof JsonError)) throw cause;
    throw new CliError(unfittingText(cause), 1, { cause });
  }
}

async function entriesOf(
  api: Api,
  { database, generation }: ExportedDatabase,
  from: number,
): Promise<ReadAnswer> {
  const { decodeEntries, pageBytesMax } = await import('../../cluster/exported-database.ts');
  const where = `${pathOf(hexOf(database))}/entries?generation=${generation}&from=${from}`;
  const answer = await api.begun('GET', where);
  if (answer.statusCode !== 200) throw await api.failure(answer);
  return decodeEntries(await api.bytes(answer, { answerBytesMax: pageBytesMax }));
}

/** Of a log whose beginning was removed. */
async function* snapshotOf(
  api: Api,
  { database, generation }: ExportedDatabase,
  position: number,
): AsyncGenerator<Uint8Array> {
  const query = `generation=${generation}&position=${position}`;
  const answer = await api.begun('GET', `${pathOf(hexOf(database))}/snapshot?${query}`);
  if (answer.statusCode !== 200) throw await api.failure(answer);
  yield* answer;
}

function hexOf(database: bigint): string {
  return database.toString(16).padStart(64, '0');
}

function pathOf(database: string): string {
  return `/v1/cluster/databases/${encodeURIComponent(database)}`;
}

async function secretOf(io: Io, { clusterSecretFile }: ExportFlags): Promise<ClusterSecret> {
  const [{ readClusterSecret }, { ClusterError }, { secretVariable }] = await Promise.all([
    import('../../service/cluster-secret-choice.ts'),
    import('../../cluster/cluster-error.ts'),
    import('../../service/secret-variable.ts'),
  ]);
  const secret = io.environment[secretVariable] || undefined;
  const secretFile = clusterSecretFile && path.resolve(io.cwd, clusterSecretFile);
  if (secret === undefined && secretFile === undefined) throw new CliError(noSecretText, 2);
  try {
    return readClusterSecret({ secret, secretFile });
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    throw new CliError(error.message, 1, { cause: error });
  }
}

const noSecretText =
  'The keys of the cluster are sealed with its secret: name it with --cluster-secret-file or in ' +
  'REDUCERDB_CLUSTER_SECRET. With --without-keys the folder gets keys of its own: then no token ' +
  'of the cluster counts there, and secrets must be set again.';

function withoutKeysText(folder: string): string {
  return (
    'Without the keys of the cluster its tokens do not count there. A host has them in the ' +
    `folder keys of its data folder: copy that to ${path.join(folder, 'keys')} before the first ` +
    'start.'
  );
}
