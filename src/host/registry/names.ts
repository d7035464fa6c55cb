import { limits } from '../../limits.ts';
import { identityFromHex } from '../../values/identity.ts';
import { type DatabaseIdentity, databaseIdentity } from '../../values/identity-roles.ts';

/** The reason why a text is not a database name; `undefined` when it is one. */
export function nameFault(text: string): string | undefined {
  if (identityFromHex(text) !== undefined) return 'database names cannot be identities';
  if (text === '') return 'database names cannot be empty';
  if (/^-|-$|-[^a-z0-9]/.test(text)) return 'invalid hyphen in database name';
  if (!/^[a-z0-9-]+$/.test(text)) return 'invalid characters in database name';
  if (text.length > limits.databaseNameLengthMax) {
    return `database names cannot be longer than ${limits.databaseNameLengthMax} characters`;
  }
  return undefined;
}

/** A caller's reference to a database: an identity is tried first. */
export type Target =
  | { readonly kind: 'identity'; readonly identity: DatabaseIdentity }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'invalid'; readonly fault: string };

export function parseTarget(text: string): Target {
  const identity = identityFromHex(text);
  if (identity !== undefined) return { kind: 'identity', identity: databaseIdentity(identity) };
  const fault = nameFault(text);
  return fault === undefined ? { kind: 'name', name: text } : { kind: 'invalid', fault };
}
