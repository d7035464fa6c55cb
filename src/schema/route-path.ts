/**
 * Paths of HTTP routes. A path is empty or begins with `/`; a segment of it is literal (small
 * letters, digits, `-_~`), a parameter `:name`, or, as the last one, `*`: any rest, an empty one
 * included. This file travels inside user modules.
 */

const literalPath = /^(\/[a-z0-9\-_~/]*)?$/;
const literalSegment = /^[a-z0-9\-_~]*$/;
const parameterSegment = /^:([a-z][a-z0-9_]*)$/;

/** The segment that matches any rest of a path, and the name of that rest. */
export const restSegment = '*';

/** True if the path has neither parameters nor a rest: it matches itself alone. */
export function isLiteralPath(path: string): boolean {
  return literalPath.test(path);
}

/** The name of a parameter, if the segment is one. */
export function parameterOf(segment: string): string | undefined {
  return parameterSegment.exec(segment)?.[1];
}

/** Why a path with `:` or `*` in it is invalid; `undefined`: it is valid. */
export function patternFault(path: string): string | undefined {
  if (!path.startsWith('/')) return 'it does not start with `/`';
  const segments = path.slice(1).split('/');
  const names = new Set<string>();
  for (const [at, segment] of segments.entries()) {
    if (segment === restSegment) {
      if (at < segments.length - 1) return '`*` is not its last segment';
      continue;
    }
    const name = parameterOf(segment);
    if (name === undefined) {
      if (literalSegment.test(segment)) continue;
      return `\`${segment}\` is neither literal, nor \`:name\` (\`[a-z][a-z0-9_]*\`), nor \`*\``;
    }
    if (names.has(name)) return `the parameter \`${name}\` occurs twice`;
    names.add(name);
  }
  return undefined;
}

/** The path without the names of its parameters: two paths of one shape match the same requests. */
export function shapeOf(path: string): string {
  return path.replace(/:[a-z][a-z0-9_]*/g, ':');
}
