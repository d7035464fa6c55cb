import type { JsonObject } from '../values/json.ts';
import { nearestNames } from '../values/nearest-names.ts';
import type { ToolSource } from './tool.ts';

/** More names than these are not repeated. */
const shownMax = 5;
const shownCharactersMax = 60;

/**
 * A remark on arguments that the tool does not have. They are ignored, as the protocol's first
 * servers did, but an agent that takes an unlimited answer for a limited one should know.
 */
export function ignoredText(source: ToolSource, args: JsonObject): readonly string[] {
  const { name, properties, moreProperties = {}, unlisted = [], inputSchema } = source;
  // Tools with a schema of their own check their arguments.
  if (inputSchema !== undefined) return [];
  const known = Object.keys({ ...properties, ...moreProperties });
  const ignored = args.entries
    .map(([key]) => key)
    .filter((key) => key !== 'database' && !known.includes(key) && !unlisted.includes(key));
  if (ignored.length === 0) return [];
  const words = ignored.slice(0, shownMax).map((key) => {
    const shown = key.length > shownCharactersMax ? `${key.slice(0, shownCharactersMax)}…` : key;
    const [near] = nearestNames(key, known);
    return near === undefined ? `\`${shown}\`` : `\`${shown}\` (did you mean \`${near}\`?)`;
  });
  const more = ignored.length > words.length ? ', …' : '';
  const takes = known.length === 0 ? 'no arguments' : known.map((key) => `\`${key}\``).join(', ');
  return [`Ignored: ${words.join(', ')}${more}. ${name} takes ${takes}.`];
}
