import { type AnyNode, type Function as FunctionNode, type Program, parse } from 'acorn';
import * as esbuild from 'esbuild';
import { guardNames, guardPrefix } from '../module/javascript/guard-names.ts';
import { ProgramError } from '../module/runner.ts';
import { hasRest, mayMoveRests, moveRestParameter, restsIn } from './rest-parameters.ts';
import { childrenOf } from './syntax-children.ts';
import { wrapLongStretches } from './wrap-stretches.ts';
import { type Put, shiftColumns, type Wrap, wrapped } from './wrap-text.ts';

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

function withGuards(printed: Printed): Found & { readonly guarded: Printed } {
  const wraps: Wrap[] = [];
  const puts: Put[] = [];
  let found: Found;
  try {
    const program = parse(printed.script, { ecmaVersion: 'latest', sourceType: 'script' });
    found = guardObjects(program, printed.script, wraps, puts);
    wrapLongStretches(program, wraps);
  } catch (cause) {
    if (cause instanceof ProgramError) throw cause;
    const reason = cause instanceof SyntaxError ? cause.message : 'it is nested too deeply';
    throw new ProgramError(`the program does not parse: ${reason}`, { cause });
  }
  const { text, insertions } = wrapped(printed.script, wraps, puts);
  const sourceMap = shiftColumns(printed.sourceMap, insertions);
  return { ...found, guarded: { script: text, sourceMap } };
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
