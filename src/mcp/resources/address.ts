/** What a URI of ours stands for. */
export type Address =
  | { readonly kind: 'databases' }
  | { readonly kind: 'schema' | 'logs'; readonly database: string }
  | { readonly kind: 'table'; readonly database: string; readonly table: string }
  | { readonly kind: 'page'; readonly page: string };

const prefix = 'reducerdb:///';

export const uriTemplates = {
  schema: `${prefix}{database}/schema`,
  table: `${prefix}{database}/tables/{table}`,
  logs: `${prefix}{database}/logs`,
  page: `${prefix}docs/{page}`,
} as const;

/** `undefined`: it is none of ours. */
export function addressOf(uri: string): Address | undefined {
  if (!uri.startsWith(prefix)) return undefined;
  const parts = uri.slice(prefix.length).split('/').map(decodedPart);
  if (!parts.every((part) => part !== undefined && part !== '')) return undefined;
  const [first, second, third] = parts as string[];
  if (first === undefined) return undefined;
  switch (parts.length) {
    case 1:
      return first === 'databases' ? { kind: 'databases' } : undefined;
    case 2:
      // A database may be called `docs`; no page is called as these two.
      if (second === 'schema' || second === 'logs') return { kind: second, database: first };
      return first === 'docs' && second !== undefined ? { kind: 'page', page: second } : undefined;
    case 3:
      if (second !== 'tables' || third === undefined) return undefined;
      return { kind: 'table', database: first, table: third };
    default:
      return undefined;
  }
}

export function uriOf(address: Address): string {
  switch (address.kind) {
    case 'databases':
      return `${prefix}databases`;
    case 'schema':
    case 'logs':
      return `${prefix}${encodeURIComponent(address.database)}/${address.kind}`;
    case 'table': {
      const { database, table } = address;
      return `${prefix}${encodeURIComponent(database)}/tables/${encodeURIComponent(table)}`;
    }
    case 'page':
      return `${prefix}docs/${encodeURIComponent(address.page)}`;
  }
}

/** `undefined`: it has a query, a fragment, or escapes that are none. */
function decodedPart(part: string): string | undefined {
  if (/[?#]/.test(part)) return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
