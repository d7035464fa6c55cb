import { createReadStream } from 'node:fs';
import { list, object, string } from '../values/json-shape.ts';
import { type Api, databasePath, readAnswer } from './api.ts';
import { CliError, type Io } from './io.ts';
import { notYours } from './prepare-update.ts';
import { type LocalFile, type LocalFiles, sizeText } from './static-folder.ts';

/** Files that are here now, and can be published with a program. */
export interface UploadedStatic {
  /** What names them in a publish. */
  readonly id: string;
  /** Where they will be served. */
  readonly app: string;
}

/** Files that are sent at once. */
const uploadsMax = 6;

/**
 * Uploads what the service does not have yet of these files, and says so. `undefined`: it has no
 * such database.
 */
export async function uploadStatic(
  api: Api,
  io: Io,
  database: string,
  { files, headers }: LocalFiles,
): Promise<UploadedStatic | undefined> {
  const announced = {
    headers,
    files: files.map(({ path, hash, bytes }) => ({ path, hash, bytes })),
  };
  const answer = await api.send('POST', databasePath(database, '/static'), {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(announced),
  });
  const text = await answer.text();
  if (answer.status === 404) return undefined;
  if (answer.status === 403) throw notYours(api, database);
  if (!answer.ok) throw new CliError(api.failureText(answer.status, text));
  const { static: id, missing, app } = readAnswer(text, announcedShape);
  const byHash = new Map(files.map((file) => [file.hash, file]));
  const fresh = missing.flatMap((hash) => byHash.get(hash) ?? []);
  await uploadAll(api, io, database, fresh);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const count = files.length === 1 ? '1 file' : `${files.length} files`;
  io.out(`static: ${count}, ${sizeText(bytes)}, ${fresh.length} new`);
  return { id, app: new URL(app, api.server.url).href };
}

const announcedShape = object({ static: string, missing: list(string), app: string });

async function uploadAll(
  api: Api,
  io: Io,
  database: string,
  files: readonly LocalFile[],
): Promise<void> {
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let sent = 0;
  let done = 0;
  const waiting = [...files];
  const show = () => io.progress(progressText({ done, count: files.length, sent, total }));
  const work = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      await uploadOne(api, database, file);
      sent += file.bytes;
      done += 1;
      show();
    }
  };
  try {
    await Promise.all(Array.from({ length: uploadsMax }, work));
  } finally {
    waiting.length = 0;
    io.progress('');
  }
}

/** Sends a file; where the service is busy, again when it says so. */
async function uploadOne(
  api: Api,
  database: string,
  { hash, place, path, bytes }: LocalFile,
): Promise<void> {
  const where = databasePath(database, `/static/${hash}`);
  for (;;) {
    const { status, text, retrySeconds } = await api.upload(where, createReadStream(place), bytes);
    if (status === 200) return;
    const isBusy = status === 429 || status === 503;
    if (!isBusy || retrySeconds === undefined) {
      throw new CliError(`${path} was not uploaded: ${api.failureText(status, text)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, retrySeconds * 1_000));
  }
}

interface Progress {
  readonly done: number;
  readonly count: number;
  readonly sent: number;
  readonly total: number;
}

const barWidth = 24;

/** `static [######------------------] 30/120 files, 0.9 of 3.4 MB`. */
export function progressText({ done, count, sent, total }: Progress): string {
  const filled = Math.floor((total === 0 ? 1 : sent / total) * barWidth);
  const bar = '#'.repeat(filled).padEnd(barWidth, '-');
  return `static [${bar}] ${done}/${count} files, ${sizeText(sent)} of ${sizeText(total)}`;
}
