import { type AnyNode, type Function as FunctionNode, type Program, parse } from 'acorn';
import * as esbuild from 'esbuild';
import { limits } from '../limits.ts';
import { guardNames, guardPrefix } from '../module/javascript/guard-names.ts';
import { ProgramError } from '../module/runner.ts';
import { ownText, RecentPieces } from './recent-pieces.ts';
import { hasRest, mayMoveRests, moveRestParameter, restsIn } from './rest-parameters.ts';
import { readInPieces } from './script-pieces.ts';
import { childrenOf } from './syntax-children.ts';
import { totalWeight, wrapLongStretches } from './wrap-stretches.ts';
import { filled, type Place, type Put, placesOf, shiftColumns, type Wrap } from './wrap-text.ts';

export interface Printed {
  readonly script: string;
  /** JSON text; empty = none. */
  readonly sourceMap: string;
}

/**
 * Wraps guard calls around syntax whose work the JavaScript engine neither interrupts nor bounds,
 * and which no guarded built-in sees:
 *
 * ```
 * for (k in x)          for (k in keys(x))       lists every key before its first round
 * ({ ...x })            ({ ...few(x) })          copies every key
 * const { ...r } = x    const { ...r } = few(x)  the same
 * [...x], f(...x)       [...items(x)]            copies every element
 * [a + b, c + d, …]     [a + b, …, pause(y + z)] see `wrap-stretches.ts`
 * ```
 *
 * A guard returns its argument or throws (see `module/javascript/guest/prelude/syntax-guards.js`).
 * Nothing else changes: an engine copies a guarded object as fast as any other. Lines stay the
 * same; the columns of the source map are shifted.
 *
 * Where a pattern with a rest is a parameter, see `rest-parameters.ts`. In the head of a loop, or
 * within another pattern, there is no place for a guard. In a program with such a pattern the
 * bundler rewrites these patterns, and all spreads, into `for in` loops.
 *
 * The bundler moves parameters, too. A parameter that cannot be moved without a change of meaning
 * gets no guard; in a program with one, neither does any other pattern without a place for it.
 *
 * Throws `ProgramError` when the script does not parse, nests too deeply, or uses names of guards.
 */
export async function lowerGuards(printed: Printed): Promise<Printed> {
  const { guarded, isComplete, hasFixed } = withGuards(printed);
  if (isComplete || hasFixed) return guarded;
  return withGuards(await withoutRest(printed)).guarded;
}

interface Found {
  /** False: a rest has no place for a guard. */
  isComplete: boolean;
  /** True: the bundler would move a rest that must not be moved. */
  hasFixed: boolean;
}

/** A piece of a script, or all of it, and what is put into it. */
interface GuardedPiece extends Readonly<Found> {
  readonly text: string;
  /** Offsets are from the begin of the piece. */
  readonly places: readonly Place[];
  /** What it adds to the stretch that it is in. */
  readonly weight: number;
}

function withGuards({ script, sourceMap }: Printed): Found & { readonly guarded: Printed } {
  const pieces = readInPieces(script, pieceAlone) ?? [guardedPiece(script).piece];
  const { text, insertions } = filled(script, joined(pieces));
  return {
    guarded: { script: text, sourceMap: shiftColumns(sourceMap, insertions) },
    isComplete: pieces.every(({ isComplete }) => isComplete),
    hasFixed: pieces.some(({ hasFixed }) => hasFixed),
  };
}

/** Each piece is paused within as if it were alone; what they weigh together is paused here. */
function joined(pieces: readonly GuardedPiece[]): Place[] {
  const places: Place[] = [];
  let start = 0;
  let stretch = 0;
  for (const { text, places: within, weight } of pieces) {
    if (stretch > 0 && weight > 0 && stretch + weight >= limits.moduleStretchWeightMax) {
      places.push({ at: start, text: `${guardNames.pause}();` });
      stretch = 0;
    }
    stretch += weight;
    for (const place of within) places.push({ at: start + place.at, text: place.text });
    start += text.length;
  }
  return places;
}

/** Pieces of recent programs: what is made of one depends on nothing but its text. */
const recent = new RecentPieces<GuardedPiece>(limits.recentPiecesBytesMax, heldBytes);

/** A short piece takes much more than its text. */
function heldBytes({ text, places }: GuardedPiece): number {
  return 2 * text.length + 300 + 100 * places.length;
}

function pieceAlone(text: string): GuardedPiece | undefined {
  const known = recent.find(text);
  if (known !== undefined) return known;
  try {
    const { piece, program } = guardedPiece(ownText(text));
    if (!standsAlone(program, text)) return undefined;
    recent.keep(piece);
    return piece;
  } catch (error) {
    if (error instanceof ProgramError) return undefined;
    throw error;
  }
}

/** No text that follows can continue the last statement. */
function standsAlone({ body }: Program, text: string): boolean {
  const last = body.at(-1);
  return last !== undefined && (over.has(last.type) || text[last.end - 1] === ';');
}

const over: ReadonlySet<string> = new Set(['FunctionDeclaration', 'ClassDeclaration']);

function guardedPiece(text: string): { piece: GuardedPiece; program: Program } {
  const wraps: Wrap[] = [];
  const puts: Put[] = [];
  try {
    const program = parse(text, { ecmaVersion: 'latest', sourceType: 'script' });
    const found = guardObjects(program, text, wraps, puts);
    wrapLongStretches(program, wraps);
    const piece = { ...found, text, places: placesOf(wraps, puts), weight: totalWeight(program) };
    return { piece, program };
  } catch (cause) {
    if (cause instanceof ProgramError) throw cause;
    const reason = cause instanceof SyntaxError ? cause.message : 'it is nested too deeply';
    throw new ProgramError(`the program does not parse: ${reason}`, { cause });
  }
}

function guardObjects(program: Program, script: string, wraps: Wrap[], puts: Put[]): Found {
  const found = { isComplete: true, hasFixed: false };
  const guardedPatterns = new Set<AnyNode>();
  const pending: AnyNode[] = [program];
  const wrap = (node: AnyNode, name: string) => wraps.push({ node, name });
  const guardPattern = (pattern: AnyNode, value: AnyNode | null | undefined) => {
    if (value === null || value === undefined || !hasRest(pattern)) return;
    guardedPatterns.add(pattern);
    wrap(value, guardNames.few);
  };
  const guardParameter = (node: FunctionNode) => {
    const rests = node.params.flatMap((parameter) => restsIn(parameter));
    if (rests.length === 0) return;
    const isFixed = !mayMoveRests(node);
    const moved = isFixed ? undefined : moveRestParameter(node, script);
    if (isFixed) {
      found.hasFixed = true;
      for (const pattern of rests) guardedPatterns.add(pattern);
    } else if (moved !== undefined) {
      guardedPatterns.add(moved.pattern);
      puts.push(...moved.puts);
    }
  };
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    switch (node.type) {
      case 'Identifier':
        if (node.name.startsWith(guardPrefix)) throw reservedName(node.name);
        break;
      case 'ForInStatement':
        wrap(node.right, guardNames.keys);
        break;
      case 'ObjectExpression':
        for (const { type, ...property } of node.properties) {
          if (type === 'SpreadElement' && 'argument' in property) {
            wrap(property.argument, guardNames.few);
          }
        }
        break;
      case 'ArrayExpression':
        for (const element of node.elements) {
          if (element?.type === 'SpreadElement') wrap(element.argument, guardNames.items);
        }
        break;
      case 'CallExpression':
      case 'NewExpression':
        for (const value of node.arguments) {
          if (value.type === 'SpreadElement') wrap(value.argument, guardNames.items);
        }
        break;
      case 'FunctionDeclaration':
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        guardParameter(node);
        break;
      case 'VariableDeclarator':
        guardPattern(node.id, node.init);
        break;
      case 'AssignmentExpression':
        if (node.operator === '=') guardPattern(node.left, node.right);
        break;
      case 'ObjectPattern':
        if (hasRest(node) && !guardedPatterns.has(node)) found.isComplete = false;
        break;
    }
    // A pattern comes after its guard.
    for (const child of childrenOf(node)) pending.push(child);
  }
  return found;
}

function reservedName(name: string): ProgramError {
  return new ProgramError(`${name}: names that begin with ${guardPrefix} are reserved`);
}

async function withoutRest({ script, sourceMap }: Printed): Promise<Printed> {
  const map = Buffer.from(sourceMap).toString('base64');
  const inline = `\n//# sourceMappingURL=data:application/json;base64,${map}\n`;
  const { code, map: lowered } = await esbuild.transform(
    sourceMap === '' ? script : script + inline,
    {
      loader: 'js',
      target: 'node20.19',
      supported: { 'object-rest-spread': false },
      charset: 'utf8',
      legalComments: 'none',
      sourcemap: sourceMap === '' ? false : 'external',
      sourcesContent: false,
      logLevel: 'silent',
    },
  );
  return { script: code, sourceMap: lowered };
}
