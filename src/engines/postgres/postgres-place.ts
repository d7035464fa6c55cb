/** Where PostgreSQL is: several servers, one of which is the primary. */
export interface PostgresPlace {
  readonly kind: 'postgres';
  readonly servers: readonly { readonly host: string; readonly port: number }[];
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string;
  readonly usesTls: boolean;
  /** True if the operator says that the storage below keeps copies. */
  readonly isExternal: boolean;
}

export type PlaceReading =
  | { readonly kind: 'valid'; readonly place: PostgresPlace }
  | { readonly kind: 'invalid'; readonly reason: string };

/**
 * Reads `postgres://user:password@pg1,pg2:5433/database?sslmode=require&replication=external`. What
 * is wrong is said without the password.
 */
export function parsePostgresPlace(text: string): PlaceReading {
  const [, rest] = /^postgres(?:ql)?:\/\/(.+)$/.exec(text) ?? [];
  if (rest === undefined) return invalid('it does not begin with postgres://');
  const [address = '', query = ''] = rest.split('?', 2);
  const at = address.lastIndexOf('@');
  const slash = address.indexOf('/', at + 1);
  if (at === -1) return invalid('it names no user: postgres://USER@HOST/DATABASE');
  if (slash === -1 || slash === address.length - 1) {
    return invalid('it names no database: postgres://USER@HOST/DATABASE');
  }
  const servers = address
    .slice(at + 1, slash)
    .split(',')
    .map(serverOf);
  const known = servers.filter((server) => server !== undefined);
  if (known.length !== servers.length) return invalid('a host, or its port, is not valid');
  const [user = '', password] = address.slice(0, at).split(':', 2).map(decoded);
  const options = new Map(query.split('&').map((one) => one.split('=', 2) as [string, string]));
  for (const name of options.keys()) {
    if (name !== '' && name !== 'sslmode' && name !== 'replication') {
      return invalid(`it has an unknown option ${name}; known are sslmode and replication`);
    }
  }
  const place = {
    kind: 'postgres' as const,
    ...{ servers: known, user, password, database: decoded(address.slice(slash + 1)) },
    usesTls: ['require', 'verify-ca', 'verify-full'].includes(options.get('sslmode') ?? ''),
    isExternal: options.get('replication') === 'external',
  };
  return { kind: 'valid', place };
}

function serverOf(text: string): { host: string; port: number } | undefined {
  const [, host = '', port] = /^(\[[0-9a-fA-F:]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  const number = Number(port ?? 5432);
  if (host === '' || number < 1 || number > 65_535) return undefined;
  return { host: host.replace(/^\[|\]$/g, ''), port: number };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function invalid(reason: string): PlaceReading {
  return { kind: 'invalid', reason: `The address of PostgreSQL is not valid: ${reason}.` };
}
