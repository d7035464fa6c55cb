import type { Rights } from '../database/outcome.ts';
import type { DatabaseHandle } from '../host/supervision/database-handle.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { flatDefinition } from '../schema/flat-definition.ts';
import { nearestNames } from '../values/nearest-names.ts';
import { usableDefinition } from './shown-definition.ts';

const namesShownMax = 10;

/** Says which name was probably meant, or which there are. `names` are those the caller may see. */
export function namesHint(given: string, names: readonly string[]): string {
  const [nearest] = nearestNames(given, names);
  if (nearest !== undefined) return `Did you mean \`${nearest}\`?`;
  if (names.length === 0) return 'There is none that you may use.';
  const shown = names.slice(0, namesShownMax).map((name) => `\`${name}\``);
  const rest = names.length - shown.length;
  return `There is ${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}.`;
}

/** `namesHint` of the reducers and procedures that a caller with these rights may call. */
export async function functionsHint(
  handle: DatabaseHandle,
  rights: Rights,
  given: string,
): Promise<string> {
  const { reducers, procedures } = await usableFunctions(handle, rights);
  return namesHint(
    given,
    [...reducers, ...procedures].map(({ name }) => name),
  );
}

/** What of a module a caller with these rights may use, submodules included by full names. */
export async function usableFunctions(
  handle: DatabaseHandle,
  rights: Rights,
): Promise<ModuleDefinition> {
  const { definition } = await handle.describe();
  return usableDefinition(flatDefinition(definition), rights);
}
