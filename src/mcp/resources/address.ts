/** The resource that one of our URIs addresses. */
export type Address =
  | { readonly kind: 'databases' }
  | { readonly kind: 'schema' | 'logs'; readonly database: string }
  | TableAddress
  | { readonly kind: 'page'; readonly page: string };

/** Rows of a table: all, or those with this value in this column. */
export interface TableAddress {
  readonly kind: 'table';
  readonly database: string;
  readonly table: string;
  readonly where?: { readonly column: string; readonly value: string };
}

const prefix = 'reducerdb:///';

export const uriTemplates = {
  schema: `${prefix}{database}/schema`,
  table: `${prefix}{database}/tables/{table}`,
  rows: `${prefix}{database}/tables/{table}/{column}/{value}`,
  logs: `${prefix}{database}/logs`,
  page: `${prefix}docs/{page}`,
} as const;

/** Parses a URI; returns `undefined` if it is not one of ours. */
export function addressOf(uri: string): Address | undefined {
  if (!uri.startsWith(prefix)) return undefined;
  const parts = uri.slice(prefix.length).split('/').map(decodedPart);
  if (!parts.every((part) => part !== undefined && part !== '')) return undefined;
  const [first = '', second = '', third = '', column = '', value = ''] = parts as string[];
  switch (parts.length) {
    case 1:
      return first === 'databases' ? { kind: 'databases' } : undefined;
    case 2:
      // A database can be called `docs`; no page has one of these two names.
      if (second === 'schema' || second === 'logs') return { kind: second, database: first };
      return first === 'docs' ? { kind: 'page', page: second } : undefined;
    case 3:
    case 5: {
      if (second !== 'tables') return undefined;
      const table = { kind: 'table', database: first, table: third } as const;
      return parts.length === 3 ? table : { ...table, where: { column, value } };
    }
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
      const { database, table, where } = address;
      const parts = where === undefined ? [table] : [table, where.column, where.value];
      return prefix + [database, 'tables', ...parts].map(encodeURIComponent).join('/');
    }
    case 'page':
      return `${prefix}docs/${encodeURIComponent(address.page)}`;
  }
}

/** Returns `undefined` for a query, a fragment, or an invalid escape. */
function decodedPart(part: string): string | undefined {
  if (/[?#]/.test(part)) return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
