import { randomBytes } from 'node:crypto';
import { limits } from '../../limits.ts';
import { EngineError } from '../../shared-log/shared-log.ts';
import type { FoundObject, PutResult, StoreRequests } from './store-requests.ts';

/** Reads at once of what was just written: servers that differ would differ here. */
const lookCount = 6;
const racerCount = 6;

/**
 * Tries whether a store does what a shared log needs: that of several writers of one name one
 * succeeds, that a later one is refused, also for conditions on an object that is there, and that
 * everybody sees at once what was written. Rejects with `EngineError` if it does not. What it
 * writes is removed.
 */
export async function probeStore(requests: StoreRequests): Promise<void> {
  const folder = `probe/${randomBytes(12).toString('hex')}/`;
  try {
    await probe(requests, folder);
  } finally {
    await tidy(requests, folder).catch(() => undefined);
  }
  if (!requests.hasDate) {
    throw refused(requests, 'its answers have no `Date`, by which hosts judge how old a beat is');
  }
}

async function probe(requests: StoreRequests, folder: string): Promise<void> {
  const key = `${folder}entry`;
  if ((await looks(requests, key)).some((found) => found !== undefined)) {
    throw refused(requests, 'it shows an object that nobody has written');
  }
  const racers = Array.from({ length: racerCount }, (_, number) => Buffer.from(`writer ${number}`));
  const results = await Promise.all(racers.map((bytes) => requests.put(key, bytes, 'absent')));
  checkAnswered(results);
  const winners = racers.filter((_, at) => results[at]?.kind === 'put');
  if (winners.length !== 1) {
    const count = `of ${racerCount} writers of one new object ${winners.length} succeeded`;
    throw refused(requests, `${count}: it does not honour \`If-None-Match: *\``);
  }
  checkLooks(requests, await looks(requests, key), winners[0]);
  const second = await requests.put(key, Buffer.from('second'), 'absent');
  checkAnswered([second]);
  if (second.kind !== 'refused') {
    throw refused(requests, 'it writes over an object in spite of `If-None-Match: *`');
  }
  checkLooks(requests, await looks(requests, key), winners[0]);
  await probeMatch(requests, key);
  const names = (await requests.list(folder)).map((one) => one.key);
  if (!names.includes(key)) throw refused(requests, 'its list lacks what was just written');
  await requests.delete(key);
  if ((await looks(requests, key)).some((found) => found !== undefined)) {
    throw refused(requests, 'it still shows an object that was deleted');
  }
}

/** What rows of hosts, and marks of what is deleted, need. */
async function probeMatch(requests: StoreRequests, key: string): Promise<void> {
  const { etag = '' } = (await looks(requests, key))[0] ?? {};
  const next = Buffer.from('next');
  const changed = await requests.put(key, next, { etag });
  checkAnswered([changed]);
  if (changed.kind !== 'put') throw refused(requests, 'it refuses an `If-Match` that holds');
  checkLooks(requests, await looks(requests, key), next);
  const late = await requests.put(key, Buffer.from('late'), { etag });
  checkAnswered([late]);
  if (late.kind === 'put') {
    throw refused(requests, 'it writes over an object in spite of an `If-Match` that is old');
  }
  checkLooks(requests, await looks(requests, key), next);
}

function looks(requests: StoreRequests, key: string): Promise<(FoundObject | undefined)[]> {
  const look = () => requests.get(key, { urgency: 'read', bytesMax: 1_024 });
  return Promise.all(Array.from({ length: lookCount }, look));
}

function checkLooks(
  requests: StoreRequests,
  found: readonly (FoundObject | undefined)[],
  wanted: Uint8Array = new Uint8Array(0),
): void {
  if (found.every((one) => one !== undefined && Buffer.compare(one.bytes, wanted) === 0)) return;
  throw refused(requests, 'a read does not show what was written before it');
}

/** A store that is away, or lets nobody in, was not found to be wrong. */
function checkAnswered(results: readonly PutResult[]): void {
  const failed = results.find((result) => result.kind === 'failed');
  if (failed?.kind === 'failed') throw new EngineError(failed.reason);
}

/** Removes what this probe wrote, and what others left long ago. */
async function tidy(requests: StoreRequests, folder: string): Promise<void> {
  const now = requests.time();
  for (const { key, modified } of await requests.list('probe/')) {
    const isOld = now - modified > limits.s3ProbeRestMillis;
    if (key.startsWith(folder) || isOld) await requests.delete(key);
  }
}

function refused({ place }: StoreRequests, why: string): EngineError {
  return new EngineError(
    `${place} cannot hold the logs of a cluster: ${why}. Use a store with strongly consistent ` +
      'reads, `If-None-Match` and `If-Match`, such as S3 of AWS, or PostgreSQL.',
  );
}
