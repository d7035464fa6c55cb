import type { AnyNode, Function as FunctionNode, ObjectPattern } from 'acorn';
import { guardNames, guardPrefix } from '../module/javascript/guard-names.ts';
import { childrenOf } from './syntax-children.ts';
import type { Put } from './wrap-text.ts';

/**
 * Makes room for the guard of a parameter that is an object pattern with a rest: the pattern moves
 * to the first line of the body, where its value can be guarded.
 *
 * ```
 * (ctx, { a, ...b }) => c        (ctx, rest) => { var { a, ...b } = few(rest); return c; }
 * ```
 *
 * The pattern stays behind as a comment: text is only inserted, so that columns can be mapped.
 *
 * Returns undefined where the meaning could change: patterns with code in them, or beside other
 * patterns, generators (whose bodies start later), a function in the body with a name of the
 * pattern, comments where text must be inserted. Only for functions that `mayMoveRests`.
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
  const text = script.slice(pattern.start, pattern.end);
  if (!isSimple(pattern) || text.includes('*/')) return undefined;
  if (declaresFunction(node.body, namesIn([pattern]))) return undefined;
  const declaration = `var ${text.replaceAll('\n', ' ')} = ${guardNames.few}(${parameterName});`;
  const hide = [
    { at: pattern.start, text: `${parameterName}/*` },
    { at: pattern.end, text: '*/' },
  ];
  if (node.body.type === 'BlockStatement') {
    return { pattern, puts: [...hide, { at: node.body.start + 1, text: declaration }] };
  }
  const head = arrowHead.exec(script.slice(node.params.at(-1)?.end, node.body.start));
  if (head === null) return undefined;
  const start = node.body.start - (head[1] ?? '').length;
  const open = { at: start, text: `{ ${declaration} return ` };
  return { pattern, puts: [...hide, open, { at: node.end, text: '; }', closes: node }] };
}

const parameterName = `${guardPrefix}rest`;

/** From after the last parameter to the body: no comment, which could contain another arrow. */
const arrowHead = /^[\s)]*=>( *(?:\([\s(]*)?)$/;

/** Returns false if the pattern contains more than names. */
function isSimple(pattern: ObjectPattern): boolean {
  return pattern.properties.every((property) => {
    const value = property.type === 'RestElement' ? property.argument : property.value;
    if (value.type !== 'Identifier') return false;
    return property.type === 'RestElement' || (!property.computed && isName(property.key));
  });
}

const isName = ({ type }: AnyNode) => type === 'Identifier';

export function hasRest(pattern: AnyNode): boolean {
  return (
    pattern.type === 'ObjectPattern' &&
    pattern.properties.some(({ type }) => type === 'RestElement')
  );
}

/** Object patterns with a rest, in a parameter or any pattern within it. */
export function restsIn(parameter: AnyNode): AnyNode[] {
  const rests: AnyNode[] = [];
  const pending: (AnyNode | null)[] = [parameter];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (node === null) continue;
    if (hasRest(node)) rests.push(node);
    if (node.type === 'ObjectPattern') pending.push(...node.properties);
    else if (node.type === 'ArrayPattern') pending.push(...node.elements);
    else if (node.type === 'AssignmentPattern') pending.push(node.left);
    else if (node.type === 'RestElement') pending.push(node.argument);
    else if (node.type === 'Property') pending.push(node.value);
  }
  return rests;
}

/**
 * Whether the first parameter with a rest, and all after it, can become variables of the body.
 * Defaults and patterns that stay would not see their names there.
 */
export function mayMoveRests({ params }: FunctionNode): boolean {
  const at = params.findIndex((parameter) => restsIn(parameter).length > 0);
  const first = params[at];
  if (first === undefined) return true;
  if (!params.slice(at + 1).every(isName)) return false;
  const [pattern, ...stays] =
    first.type === 'AssignmentPattern' ? [first.left, first.right] : [first];
  const names = namesIn([pattern]);
  const seen = namesIn([...params.slice(0, at), ...stays]);
  return ![...names].some((name) => seen.has(name));
}

/** Names of variables, and of properties, too. */
function namesIn(nodes: readonly AnyNode[]): Set<string> {
  const names = new Set<string>();
  const pending: AnyNode[] = [...nodes];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (node.type === 'Identifier') names.add(node.name);
    for (const child of childrenOf(node)) pending.push(child);
  }
  return names;
}

function declaresFunction(body: AnyNode, names: ReadonlySet<string>): boolean {
  if (body.type !== 'BlockStatement') return false;
  return body.body.some(
    (statement) => statement.type === 'FunctionDeclaration' && names.has(statement.id?.name ?? ''),
  );
}
