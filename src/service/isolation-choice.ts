import path from 'node:path';
import { type Isolation, type IsolationRules, isolations } from '../host/workers/isolation.ts';
import { ConfigurationError, isLoopback, type ServiceConfiguration } from './configuration.ts';

type Reach = Pick<
  ServiceConfiguration,
  'listen' | 'publicUrl' | 'trustedProxies' | 'publishPolicy' | 'isolation' | 'dataDirectory'
>;

/** The isolation of databases and the reason for it. */
export interface IsolationChoice {
  readonly rules: IsolationRules;
  readonly reason: string;
}

/**
 * Returns the operator's choice, or else derives it from who can publish: programs of strangers run
 * in separate processes, because only a process contains everything a module can do.
 */
export function chooseIsolation({ isolation, ...reach }: Reach): IsolationChoice {
  const exceptions = isolation.exceptions ?? new Map();
  const { everywhere, reason } =
    isolation.everywhere === undefined
      ? defaultIsolation(reach)
      : { everywhere: isolation.everywhere, reason: 'it was set' };
  const rules = { everywhere, exceptions };
  if (reach.dataDirectory !== undefined) refuseWildcard(reach.dataDirectory, rules);
  return { rules, reason };
}

/** Rejects a star in the path: flags that confine a process to its folder take it as a wildcard. */
function refuseWildcard(folder: string, { everywhere, exceptions }: IsolationRules): void {
  if (!path.resolve(folder).includes('*')) return;
  if (![everywhere, ...exceptions.values()].includes('process')) return;
  throw new ConfigurationError(
    `The path of the data folder, ${folder}, contains \`*\`, which databases in processes of ` +
      'their own do not allow. Rename the folder, or start with `--isolation thread`.',
  );
}

function defaultIsolation({
  listen,
  publicUrl,
  trustedProxies,
  publishPolicy = 'anyone',
}: Omit<Reach, 'isolation' | 'dataDirectory'>): { everywhere: Isolation; reason: string } {
  const isReachable = !isLoopback(listen.host) || isPublic(publicUrl) || trustedProxies.length > 0;
  if (!isReachable) {
    return { everywhere: 'thread', reason: 'only programs on this machine can connect' };
  }
  if (typeof publishPolicy === 'object' && 'identities' in publishPolicy) {
    return { everywhere: 'thread', reason: 'only identities that are listed may publish' };
  }
  return { everywhere: 'process', reason: 'strangers may publish' };
}

function isPublic(url: string | undefined): boolean {
  return url !== undefined && !isLoopback(new URL(url).hostname.replace(/^\[|\]$/g, ''));
}

export function parseIsolation(text: string): Isolation {
  const found = isolations.find((one) => one === text);
  if (found !== undefined) return found;
  throw new ConfigurationError(`\`${text}\` is none of ${isolations.join(', ')}`);
}

/** Reads `database=thread` or `database=process`, where a database is a name or an identity. */
export function parseIsolationExceptions(texts: readonly string[]): ReadonlyMap<string, Isolation> {
  const parsed = texts.map((text) => {
    const [, database, mode] = /^([^=\s]+)=(.+)$/.exec(text) ?? [];
    if (database !== undefined && mode !== undefined) {
      return [database, parseIsolation(mode)] as const;
    }
    throw new ConfigurationError(`\`${text}\` does not name a database; write \`shop=process\``);
  });
  return new Map(parsed);
}
