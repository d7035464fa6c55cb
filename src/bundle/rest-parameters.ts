import type { AnyNode, Function as FunctionNode, ObjectPattern } from 'acorn';
import { guardNames, guardPrefix } from '../module/javascript/guard-names.ts';
import type { Put } from './wrap-text.ts';

/**
 * Finds room for a guard of a function's parameter that is an object pattern with a rest: its
 * pattern moves to the first line of the body, where it has a value that can be guarded.
 *
 * ```
 * (ctx, { a, ...b }) => c        (ctx, rest) => { var { a, ...b } = few(rest); return c; }
 * ```
 *
 * The pattern stays behind as a comment: text is only put in, so that columns can be followed.
 *
 * Gives undefined where that could mean something else: patterns with code in them, or beside
 * other patterns, generators (whose bodies start later), a function in the body with a name of the
 * pattern.
 */
export function moveRestParameter(
  node: FunctionNode,
  script: string,
): { pattern: AnyNode; puts: readonly Put[] } | undefined {
  const patterns = node.params.filter(({ type }) => type !== 'Identifier');
  const [only] = patterns;
  if (only === undefined || patterns.length > 1 || node.generator) return undefined;
  const pattern = only.type === 'AssignmentPattern' ? only.left : only;
  if (pattern.type !== 'ObjectPattern') return undefined;
  const names = simpleNames(pattern);
  if (names === undefined || declaresFunction(node.body, names)) return undefined;
  const text = script.slice(pattern.start, pattern.end);
  const declaration = `var ${text.replaceAll('\n', ' ')} = ${guardNames.few}(${parameterName});`;
  const hide = [
    { at: pattern.start, text: `${parameterName}/*` },
    { at: pattern.end, text: '*/' },
  ];
  if (node.body.type === 'BlockStatement') {
    return { pattern, puts: [...hide, { at: node.body.start + 1, text: declaration }] };
  }
  const start = script.lastIndexOf('=>', node.body.start) + 2;
  const open = { at: start, text: `{ ${declaration} return ` };
  return { pattern, puts: [...hide, open, { at: node.end, text: '; }', closes: node }] };
}

const parameterName = `${guardPrefix}rest`;

/** Undefined: there is more in the pattern than names. */
function simpleNames(pattern: ObjectPattern): ReadonlySet<string> | undefined {
  const names = new Set<string>();
  for (const property of pattern.properties) {
    const value = property.type === 'RestElement' ? property.argument : property.value;
    if (value.type !== 'Identifier') return undefined;
    if (property.type === 'Property') {
      const isPlain = property.key.type === 'Identifier' || property.shorthand;
      if (property.computed || !isPlain) return undefined;
    }
    names.add(value.name);
  }
  return names;
}

function declaresFunction(body: AnyNode, names: ReadonlySet<string>): boolean {
  if (body.type !== 'BlockStatement') return false;
  return body.body.some(
    (statement) => statement.type === 'FunctionDeclaration' && names.has(statement.id?.name ?? ''),
  );
}
