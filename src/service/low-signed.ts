import path from 'node:path';
import { readFileIfPresent, writeFileAtomically } from '../node/atomic-file.ts';

const fileName = 'low-signed-since';

/**
 * Returns the time from which this host's tokens have the lower of the two signatures that ECDSA
 * allows, in seconds since the Unix epoch, for `HostTokensOptions.lowSignedSince`. For a new key
 * pair this is 0. For an older one it is the first start that asks: earlier versions signed either
 * way, and their tokens must stay valid until they expire.
 *
 * The time is stored in the data folder; without one it is the present.
 */
export async function lowSignedSince(folder: string | undefined, isNewPair: boolean) {
  const file = folder === undefined ? undefined : path.join(folder, fileName);
  const kept = file === undefined ? undefined : await readFileIfPresent(file);
  const text = kept?.toString('utf8').trim() ?? '';
  if (/^\d{1,12}$/.test(text)) return Number(text);
  const since = isNewPair ? 0 : Math.floor(Date.now() / 1000);
  if (file !== undefined) await writeFileAtomically(file, `${since}\n`, 0o600);
  return since;
}
