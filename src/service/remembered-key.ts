import { existsSync } from 'node:fs';
import path from 'node:path';
import { fingerprintOf, type HostKeys, type KeyFiles, loadKeys } from '../auth/keys.ts';
import { readFileIfPresent, writeFileAtomically } from '../node/atomic-file.ts';
import { ConfigurationError } from './configuration.ts';
import { hasData } from './data-folder.ts';
import { retiredFingerprints } from './key-folder.ts';

const fileName = 'signing-key';

/**
 * Loads the keys for the data in `folder`, which stores the fingerprint of the key that signed its
 * tokens. Creates a pair if none exists, for new data or new keys. Throws `ConfigurationError` if
 * the key of the data is missing: with other keys, every issued token would be rejected, and owners
 * could not prove who they are. Throws `KeyError` if the keys are unusable.
 */
export async function loadKeysOf(folder: string | undefined, files: KeyFiles): Promise<HostKeys> {
  if (folder === undefined) return loadKeys(files, writeFileAtomically);
  const file = path.join(folder, fileName);
  const remembered = (await readFileIfPresent(file))?.toString('utf8').trim();
  const isBound = remembered !== undefined && hasData(folder);
  const hasKeys = existsSync(files.privateKeyFile) || existsSync(files.publicKeyFile);
  const lost = { folder, file, files, remembered: remembered ?? '' };
  if (isBound && !hasKeys) throw missing({ ...lost, found: 'there are no keys' });
  const keys = await loadKeys(files, writeFileAtomically);
  const current = fingerprintOf(keys.publicKey);
  const old = keys.oldKeys.map(({ key }) => fingerprintOf(key));
  const known = [current, ...old, ...(await retiredFingerprints(files))];
  if (isBound && !known.includes(remembered)) {
    throw missing({ ...lost, found: `the key there is ${current}` });
  }
  if (remembered !== current) await writeFileAtomically(file, `${current}\n`, 0o600);
  return keys;
}

interface Lost {
  readonly folder: string;
  /** The file with the fingerprint. */
  readonly file: string;
  readonly files: KeyFiles;
  readonly remembered: string;
  /** What was found instead, in words. */
  readonly found: string;
}

function missing({ folder, file, files, remembered, found }: Lost): ConfigurationError {
  const place = path.dirname(files.privateKeyFile);
  return new ConfigurationError(
    `The tokens of the data in ${folder} were signed with the key ${remembered}, which is not in ` +
      `${place}: ${found}. Put that key pair back, or name its folder with --jwt-key-dir. ` +
      'Only if all tokens that were issued so far may become invalid, and with them the ' +
      `identities of those who own databases, delete ${file} and start again.`,
  );
}
