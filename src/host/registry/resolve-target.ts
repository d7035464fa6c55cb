import { unreachable } from '../../assert.ts';
import { Refusal } from '../../database/outcome.ts';
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
      throw new Refusal({ code: 'name.unknown', message: `\`${target}\` not found` });
    }
    case 'invalid':
      throw new Refusal({ code: 'name.invalid', message: `Invalid URL: ${parsed.fault}` });
    default:
      return unreachable(parsed);
  }
}
