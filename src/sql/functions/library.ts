/** All functions but aggregates. */
import { hasRefs } from './canonical.ts';
import { conditionalFunctions } from './conditional.ts';
import { encodingFunctions } from './encodings.ts';
import { fullTextFunctions } from './full-text.ts';
import type { FunctionFamily } from './function.ts';
import { jsonFunctions } from './json.ts';
import { numericFunctions } from './numeric.ts';
import { textFunctions } from './text.ts';
import { timeFunctions } from './time.ts';
import { vectorFunctions } from './vectors.ts';

/** The function of this name, in letters of any case. */
export function findFunction(name: string): FunctionFamily | undefined {
  return families.get(name.toLowerCase());
}

/** Lower case, in alphabetical order. */
export function functionNames(): readonly string[] {
  return [...families.keys()].sort();
}

/** Functions that look at the outermost part of a type only. */
const shallowNames: ReadonlySet<string> = new Set([
  'variant_name',
  'cardinality',
  'array_length',
  'typeof',
]);

/** Recursive types have refs, which mean nothing here: they fit only where nothing is compared. */
function withoutRefs(family: FunctionFamily): FunctionFamily {
  if (shallowNames.has(family.name)) return family;
  return {
    ...family,
    resolve: (types) =>
      types.some((type) => type !== undefined && hasRefs(type)) ? undefined : family.resolve(types),
  };
}

const families: ReadonlyMap<string, FunctionFamily> = new Map(
  [
    ...textFunctions,
    ...fullTextFunctions,
    ...encodingFunctions,
    ...jsonFunctions,
    ...numericFunctions,
    ...timeFunctions,
    ...conditionalFunctions,
    ...vectorFunctions,
  ].map((family) => [family.name, withoutRefs(family)]),
);
