import { finishBackup } from '../backup/finish-backup.ts';
import type { LogObject } from '../backup/log-source.ts';
import { objectsOf } from '../backup/manifest.ts';
import { type DatabaseSource, type SourceFile, shipDatabase } from '../backup/ship.ts';
import { productName, productVersion } from '../service/version.ts';
import { type Api, databasePath } from './api.ts';
import { namedRepository, openingKeys, type RepositoryFlags } from './backup-flags.ts';
import { printCreated } from './created-backup.ts';
import { onlyDatabase } from './database-argument.ts';
import { describedSource } from './described-source.ts';
import { CliError } from './io.ts';
import type { Session } from './session.ts';
import { WorkProgress } from './work-progress.ts';

/**
 * Backs up one database of a service, perhaps on another machine, to a repository that this command
 * writes to. A folder that is empty becomes one.
 */
export async function streamBackup(
  session: Session,
  word: string,
  to: string,
  flags: RepositoryFlags & { readonly history?: boolean; readonly json?: boolean },
): Promise<void> {
  const { io } = session;
  const { openNamed, usable, initIfEmpty } = await import('../service/open-repository.ts');
  const { database, server } = onlyDatabase(session, word);
  const api = await session.apiWithIdentity(server);
  const named = namedRepository(session, flags, to);
  const keys = await openingKeys(session, flags);
  await initIfEmpty(named, keys);
  const repository = await openNamed(named, keys, 'write');
  const path = databasePath(database, '/backup');
  const described = await api.json('GET', `${path}/manifest`, describedSource);
  const source: DatabaseSource = {
    ...described,
    read: (object) => pieces(api, `${path}/objects/${encodeURIComponent(nameOf(object))}`, object),
  };
  const progress = new WorkProgress(io, flags.json === true);
  const { entry, newBytes, newObjects } = await usable(
    () =>
      shipDatabase(repository, source, {
        withHistory: flags.history === true,
        onProgress: ({ bytesDone: done, bytesTotal: total }) => {
          progress.show({ phase: 'receiving', done, total, unit: 'bytes' });
        },
      }),
    // The service keeps the files no longer; it would notice by itself after a while.
  ).finally(() => api.text('DELETE', `${path}/manifest`).catch(() => undefined));
  const manifest = await usable(() =>
    finishBackup(repository, {
      ...{ databases: [entry], files: [], isWhole: false, nowMicros: Date.now() * 1_000 },
      program: `${productName} ${productVersion}`,
    }),
  );
  progress.end();
  const { identity, record, end, fault } = entry;
  const position = `${end.epoch}.${end.offset}.${end.chain.slice(8)}`;
  const shown = { identity, names: record.names, position, fault: fault === '' ? null : fault };
  const created = {
    ...{ backup: manifest.id, repository: repository.store.place, time: manifest.timeMicros },
    ...{ new_objects: newObjects, new_bytes: newBytes },
    bytes: objectsOf(manifest).reduce((sum, { storedBytes }) => sum + storedBytes, 0),
    databases: [shown],
  };
  printCreated(io, created, flags.json === true);
}

function nameOf(object: LogObject | SourceFile): string {
  return object.kind === 'file' ? object.path : object.file;
}

/** The bytes of an object; a connection that breaks is taken up where it did. */
async function* pieces(
  api: Api,
  path: string,
  { bytes }: { readonly bytes: number },
): AsyncIterable<Uint8Array> {
  let at = 0;
  for (let attempt = 0; at < bytes; attempt++) {
    const headers = { range: `bytes=${at}-${bytes - 1}` };
    const answer = await api.open('GET', path, { headers });
    if (answer.statusCode !== 206) throw await api.failure(answer);
    try {
      for await (const piece of answer as AsyncIterable<Uint8Array>) {
        at += piece.length;
        if (at > bytes) throw new CliError('the server sends more of a file than it said');
        yield piece;
      }
    } catch (cause) {
      if (cause instanceof CliError) throw cause;
      if (attempt < attemptsMax) continue;
      throw new CliError(`the connection to ${api.server.url} was lost`, 1, { cause });
    }
  }
}

const attemptsMax = 5;
