/** All functions but aggregates. */
import { conditionalFunctions } from './conditional.ts';
import { encodingFunctions } from './encodings.ts';
import type { FunctionFamily } from './function.ts';
import { numericFunctions } from './numeric.ts';
import { textFunctions } from './text.ts';
import { timeFunctions } from './time.ts';

/** The function of this name, in letters of any case. */
export function findFunction(name: string): FunctionFamily | undefined {
  return families.get(name.toLowerCase());
}

/** Lower case, in alphabetical order. */
export function functionNames(): readonly string[] {
  return [...families.keys()].sort();
}

const families: ReadonlyMap<string, FunctionFamily> = new Map(
  [
    ...textFunctions,
    ...encodingFunctions,
    ...numericFunctions,
    ...timeFunctions,
    ...conditionalFunctions,
  ].map((family) => [family.name, family]),
);
