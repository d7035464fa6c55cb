import { unreachable } from '../../assert.ts';
import { type Refusal, refusal } from '../../database/outcome.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import { parseTarget } from './names.ts';
import type { Registry } from './registry.ts';

/**
 * The identity behind a target, whether or not a database exists. Throws `Refusal` `name.invalid`
 * or `name.unknown`.
 */
export function resolveTarget(registry: Registry, target: string): DatabaseIdentity {
  const parsed = parseTarget(target);
  switch (parsed.kind) {
    case 'identity':
      return parsed.identity;
    case 'name': {
      const identity = registry.name(parsed.name)?.database;
      if (identity !== undefined) return identity;
      throw refusal('name.unknown', unknownNameText(target));
    }
    case 'invalid':
      throw invalidName(parsed.fault);
    default:
      return unreachable(parsed);
  }
}

/** The text for a target that is not registered, or that the caller must not learn about. */
export function unknownNameText(target: string): string {
  return `\`${target}\` not found`;
}

/** `fault` is that of `parseTarget`. */
export function invalidName(fault: string): Refusal {
  return refusal('name.invalid', `Invalid URL: ${fault}`);
}

/** The refusal of a target behind which there is no database. */
export function noSuchDatabase(): Refusal {
  return refusal('database.unknown', noSuchDatabaseText);
}

export const noSuchDatabaseText = 'No such database.';
