import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { keyFilesIn } from '../auth/keys.ts';
import { ClusterError } from '../cluster/cluster-error.ts';
import type { ClusterSecret } from '../cluster/cluster-secret.ts';
import type { ExportedDatabase } from '../cluster/exported-database.ts';
import { isHostFolder } from '../cluster/host-folder.ts';
import { KeyChain, newestIn } from '../cluster/key-chain.ts';
import { SealedBoxes } from '../cluster/sealed-boxes.ts';
import { shareKeys } from '../cluster/shared-keys.ts';
import { type WrittenExport, writeSharedLog } from '../cluster/write-shared-log.ts';
import { DatabaseFiles, RegistryError } from '../host/registry/database-files.ts';
import { openRegistry } from '../host/registry/open-registry.ts';
import type { Registry } from '../host/registry/registry.ts';
import { MachineClock } from '../node/clock.ts';
import { MachineEntropy } from '../node/entropy.ts';
import { privateFolderMode } from '../node/private-files.ts';
import type { WriterPlace } from '../node/writer-mark.ts';
import { EngineError, type SharedLog } from '../shared-log/shared-log.ts';
import { ConfigurationError } from './configuration.ts';
import { hasData, realFolder, takeToWrite } from './data-folder.ts';

export interface FolderExport {
  readonly folder: string;
  readonly exported: ExportedDatabase;
  /** Reads the log of the database. */
  readonly read: SharedLog['read'];
  /** The bytes of a snapshot of a log position, or of a later one. */
  readonly snapshot: (position: number) => AsyncIterable<Uint8Array>;
  /** Opens the keys; `undefined`: the folder gets none. */
  readonly secret: ClusterSecret | undefined;
  readonly onBytes: (bytes: number) => void;
}

/**
 * Writes a database of a cluster to a data folder that a service without a cluster opens: the same
 * log, with its offsets, what the registry knows of it, and the keys. A folder that holds others
 * gets it besides. Interrupted, it can be done again. Rejects with `ConfigurationError`.
 */
export async function exportToFolder(wanted: FolderExport): Promise<WrittenExport> {
  const { folder: named } = wanted;
  if (isHostFolder(named)) throw new ConfigurationError(hostText(named));
  const isOther = existsSync(named) && !hasData(named) && others(named).length > 0;
  if (isOther) throw new ConfigurationError(`${named} is not empty, and holds no databases.`);
  mkdirSync(named, { recursive: true, mode: privateFolderMode });
  const claim = await takeToWrite(named);
  try {
    return await write({ ...wanted, folder: realFolder(named) }, claim.writer);
  } catch (error) {
    const isExpected =
      error instanceof RegistryError ||
      error instanceof EngineError ||
      error instanceof ClusterError;
    throw isExpected ? new ConfigurationError(error.message, { cause: error }) : error;
  } finally {
    claim.release();
  }
}

/** What a command that was interrupted has left is not in the way. */
function others(folder: string): string[] {
  return readdirSync(folder).filter((name) => name !== 'keys' && !name.startsWith('reducerdb.'));
}

async function write(wanted: FolderExport, writer: WriterPlace): Promise<WrittenExport> {
  const { folder, exported, secret } = wanted;
  if (secret !== undefined) await writeKeys(folder, exported, secret);
  const files = new DatabaseFiles(folder);
  await files.makeRegistry();
  const registry = await openRegistry(
    {
      ...{ clock: new MachineClock(), entropy: new MachineEntropy(), writer },
      report: () => undefined,
    },
    files,
  );
  try {
    refuseKnown(registry, wanted);
    const written = await writeLog(wanted, files);
    for (const part of exported.parts) await registry.adopt(part);
    return written;
  } finally {
    await registry.close();
  }
}

/** Those of the cluster; a folder with others is refused, as a host with others is. */
async function writeKeys(
  folder: string,
  { boxes }: ExportedDatabase,
  secret: ClusterSecret,
): Promise<void> {
  const found = { secretBox: async (name: string) => boxes.get(name) };
  const files = keyFilesIn(path.join(folder, 'keys'));
  const chain = new KeyChain(found, secret);
  const known = newestIn(boxes.keys());
  await shareKeys({ files, boxes: new SealedBoxes(found, secret), chain, known });
}

function refuseKnown(registry: Registry, { folder, exported }: FolderExport): void {
  if (registry.database(exported.database) !== undefined) {
    throw new ConfigurationError(`${folder} has this database already.`);
  }
}

async function writeLog(
  { folder, exported, read, snapshot, onBytes }: FolderExport,
  files: DatabaseFiles,
): Promise<WrittenExport> {
  const { database, generation } = exported;
  await files.removeGeneration(database, generation);
  const directory = (await files.makeLogDirectory(database, generation)) ?? folder;
  const entropy = new MachineEntropy();
  const written = await writeSharedLog({
    ...{ exported, read, snapshot, onBytes, directory, entropy },
  });
  if (written === undefined) throw new ConfigurationError(resetText);
  return written;
}

function hostText(folder: string): string {
  return `${folder} belongs to a host of a cluster: name another folder.`;
}

const resetText =
  'The database was reset or deleted while it was read. Run the command again if it is there.';
