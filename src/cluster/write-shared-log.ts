import { DatabaseCopy } from '../database/database-copy.ts';
import type { Entropy } from '../database/entropy.ts';
import type { LogWrite } from '../log/replicated-write.ts';
import { MachineDisk } from '../node/disk.ts';
import type { Beginning } from '../shared-log/entry-payloads.ts';
import { fetchLog } from '../shared-log/fetch-log.ts';
import { logName } from '../shared-log/log-name.ts';
import type { SharedLog } from '../shared-log/shared-log.ts';
import type { ExportedDatabase } from './exported-database.ts';
import { writeFetched } from './fetch-snapshot.ts';

export interface SharedLogWrite {
  readonly exported: Pick<ExportedDatabase, 'cluster' | 'database' | 'generation' | 'last'>;
  readonly read: SharedLog['read'];
  /** The bytes of a snapshot of a log position, or of a later one. */
  readonly snapshot: (position: number) => AsyncIterable<Uint8Array>;
  /** An empty folder. */
  readonly directory: string;
  readonly entropy: Entropy;
  readonly onBytes: (bytes: number) => void;
}

export interface WrittenExport {
  /** Offset of its last commit. */
  readonly offset: number;
  /** Bytes of its log. */
  readonly bytes: number;
}

/**
 * Writes what a shared log holds as the log of one machine, and replays it. `undefined`: there is
 * no database in it. Rejects with `EngineError`.
 */
export async function writeSharedLog(wanted: SharedLogWrite): Promise<WrittenExport | undefined> {
  const { exported, read, snapshot, directory, entropy, onBytes } = wanted;
  const { cluster, database, generation, last } = exported;
  const copy = await DatabaseCopy.open({
    ...{ identity: database, disk: new MachineDisk(directory), entropy, full: undefined },
    fetchSnapshot: (position) => writeFetched(directory, snapshot(position)),
    warn: () => undefined,
  });
  try {
    const sink = {
      begin: (beginning: Beginning) => copy.begin(beginning),
      apply: (write: LogWrite) => copy.apply(write),
      copy,
    };
    await fetchLog({ read }, logName(cluster, database, generation), sink, { last, onBytes });
    if (!copy.hasProgram) return undefined;
    await copy.sync();
    const { offset, position } = copy.end;
    return { offset, bytes: position };
  } finally {
    await copy.close();
  }
}
