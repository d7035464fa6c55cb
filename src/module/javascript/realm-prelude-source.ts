import { limits } from '../../limits.ts';
import { patternGuards, sizeGuards } from './guest-text.ts';

/** What the files of `guest/prelude/` know of our limits. */
const constants = Object.entries({
  elementCountMax: limits.moduleElementCountMax,
  pieceCountMax: limits.modulePieceCountMax,
  slowCountMax: limits.moduleSlowCountMax,
  bufferBytesMax: limits.moduleBufferBytesMax,
  searchStepsMax: limits.moduleSearchStepsMax,
  patternLengthMax: limits.modulePatternLengthMax,
  pauseElementCount: limits.modulePauseElementCount,
});

/**
 * Script text that a new realm runs before anything else, the hardening library included. It takes
 * away what would let a program end the whole process or pull a buffer from under the engine:
 * `guest/prelude/size-guards.js` and `guest/prelude/pattern-guards.js` say how. Each of the two is
 * the body of a function, so that none of its names becomes a global.
 */
export const realmPreludeSource = `${inFunction(sizeGuards)}\n${inFunction(patternGuards)}`;

function inFunction(body: string): string {
  const head = constants.map(([name, value]) => `const ${name} = ${value};\n`).join('');
  return `(function () {\n'use strict';\n${head}${body}})();`;
}
