import { existsSync } from 'node:fs';
import path from 'node:path';
import { fingerprintOf, type HostKeys, type KeyFiles, loadKeys } from '../auth/keys.ts';
import { readFileIfPresent, writeFileAtomically } from '../node/atomic-file.ts';
import { ConfigurationError } from './configuration.ts';
import { hasData } from './data-folder.ts';
import { retiredFingerprints } from './key-folder.ts';

const fileName = 'signing-key';

/**
 * The keys of a service, for the data in `folder`, which remembers by which key its tokens were
 * signed. Makes a pair where there is none yet, for data or keys that are new. Throws
 * `ConfigurationError` when the data knows a key that is not there: with others, every token that
 * the service has issued would be refused, and owners could not show who they are. Throws
 * `KeyError` when the keys cannot be used.
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
  /** Where the fingerprint is kept. */
  readonly file: string;
  readonly files: KeyFiles;
  readonly remembered: string;
  /** What is there instead, in words. */
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
