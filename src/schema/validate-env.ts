import { limits } from '../limits.ts';
import type { EnvDefinition } from './definition.ts';
import { envNameFault } from './env-values.ts';
import type { RawEnvName } from './raw-module.ts';
import type { Scope } from './scope.ts';

/** Checks the names of the configuration that a module reads. */
export function validateEnv({ raw, problems }: Scope): readonly EnvDefinition[] {
  const { env } = raw;
  const { envNamesMax } = limits;
  if (env.length > envNamesMax) {
    problems.report(`the module declares ${env.length} env names, more than ${envNamesMax}`);
  }
  const names = new Set<string>();
  const definitions = env.map((declared): EnvDefinition => {
    const { name, isSecret, isOptional } = declared;
    const fault = envNameFault(name);
    if (fault !== undefined) problems.report(fault);
    if (names.has(name)) problems.report(`env name \`${name}\` is declared twice`);
    names.add(name);
    const kind = kindOf(declared);
    if (kind === undefined) {
      problems.report(`env name \`${name}\` ${isSecret ? secretText : plainText}`);
    }
    return { name, kind: kind ?? 'string', isSecret, isOptional };
  });
  return definitions.sort((a, b) => (a.name < b.name ? -1 : 1));
}

const plainText = 'must be a string, a bool, a number or an option of one of these';
const secretText = 'is a secret and must be a string';

function kindOf({ type, isSecret }: RawEnvName): EnvDefinition['kind'] | undefined {
  switch (type.kind) {
    case 'ref':
    case 'sum':
    case 'product':
    case 'array':
      return undefined;
    case 'string':
      return type.kind;
    default:
      return isSecret ? undefined : type.kind;
  }
}
