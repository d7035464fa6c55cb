import { readFileSync, statSync } from 'node:fs';
import { ClusterError } from '../cluster/cluster-error.ts';
import { ClusterSecret } from '../cluster/cluster-secret.ts';
import { limits } from '../limits.ts';
import type { ClusterChoice } from './cluster-choice.ts';
import { secretVariable } from './secret-variable.ts';

/** Reads the secret of a cluster from where the operator says. Throws `ClusterError`. */
export function readClusterSecret({
  secret,
  secretFile,
}: Pick<ClusterChoice, 'secret' | 'secretFile'>): ClusterSecret {
  if (secret !== undefined && secretFile !== undefined) {
    throw new ClusterError(
      `The cluster secret is given twice: in ${secretVariable}, and by --cluster-secret-file ` +
        `(${secretFile}). Take one of them away.`,
    );
  }
  if (secret !== undefined) return ClusterSecret.parse(secret, secretVariable);
  if (secretFile === undefined) throw new ClusterError(noSecretText);
  return ClusterSecret.parse(secretIn(secretFile), secretFile);
}

function secretIn(file: string): string {
  try {
    const found = statSync(file);
    if (!found.isFile() || found.size > limits.clusterSecretFileBytesMax) {
      throw new Error('it is not a file with a secret');
    }
    return readFileSync(file, 'utf8');
  } catch (cause) {
    const text = `--cluster-secret-file: ${file} cannot be read: ${(cause as Error).message}`;
    throw new ClusterError(text, { cause });
  }
}

const noSecretText =
  `A host of a cluster needs the secret that all its hosts have: set ${secretVariable}, or name ` +
  'a file with --cluster-secret-file. Make one once, for all hosts, with: openssl rand -base64 32';
