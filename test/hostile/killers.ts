import { ofBigints } from './killers/bigints.ts';
import { ofKeys } from './killers/keys.ts';
import type { Killer } from './killers/killer-module.ts';
import { ofLists } from './killers/lists.ts';
import { ofPatterns } from './killers/patterns.ts';
import { ofTexts } from './killers/texts.ts';

export type { Killer } from './killers/killer-module.ts';

/** Compiled forms that V8 does not interrupt, or that make it end the process. */
export function killers(): readonly Killer[] {
  return [...ofBigints, ...ofLists, ...ofKeys, ...ofTexts, ...ofPatterns];
}
