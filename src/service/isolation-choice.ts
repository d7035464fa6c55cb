import { type Isolation, type IsolationRules, isolations } from '../host/isolation.ts';
import { ConfigurationError, isLoopback, type ServiceConfiguration } from './configuration.ts';

type Reach = Pick<
  ServiceConfiguration,
  'listen' | 'publicUrl' | 'trustedProxies' | 'publishPolicy' | 'isolation'
>;

/** What keeps databases apart, and why it is that. */
export interface IsolationChoice {
  readonly rules: IsolationRules;
  readonly reason: string;
}

/**
 * What the operator chose, else by who may publish: programs of strangers run in processes of their
 * own, because only a process contains all that a module can do.
 */
export function chooseIsolation({ isolation, ...reach }: Reach): IsolationChoice {
  const exceptions = isolation.exceptions ?? new Map();
  if (isolation.everywhere !== undefined) {
    return { rules: { everywhere: isolation.everywhere, exceptions }, reason: 'it was set' };
  }
  const { everywhere, reason } = defaultIsolation(reach);
  return { rules: { everywhere, exceptions }, reason };
}

function defaultIsolation({
  listen,
  publicUrl,
  trustedProxies,
  publishPolicy = 'anyone',
}: Omit<Reach, 'isolation'>): { everywhere: Isolation; reason: string } {
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
