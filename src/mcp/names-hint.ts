import { nearestNames } from '../values/nearest-names.ts';

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
