import { toCamelCase, toPascalCase } from '../declare/names.ts';
import { snakeCase } from '../schema/case-conversion.ts';
import { CodegenError } from './codegen-error.ts';

/** The name of a property in generated code; the client library computes the same name. */
export function propertyName(name: string): string {
  return identifierOf(toCamelCase(name), name);
}

/** The name of a type, a variant, or a constant that stands for something. */
export function typeName(name: string): string {
  return identifierOf(toPascalCase(name), name);
}

/** The first part of a file's name. Names of separators only stay as they are. */
export function fileStem(name: string): string {
  const snake = snakeCase(name);
  return snake === '' ? name : snake;
}

/** `_1` loses its separator and is not an identifier without it. */
function identifierOf(converted: string, name: string): string {
  if (converted === '') return name;
  return /^\p{Nd}/u.test(converted) ? `_${converted}` : converted;
}

/** A property as written in an object: quoted where necessary. */
export function keyText(name: string): string {
  return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name) ? name : quoted(name);
}

/** A string literal in single quotes. */
export function quoted(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1);
  return `'${inner.replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

/** Rejects two things of the module that would get the same name. */
export function checkDistinct(
  kind: string,
  items: readonly { readonly of: string; readonly name: string }[],
): void {
  const taken = new Map<string, string>();
  for (const { of, name } of items) {
    const other = taken.get(name);
    if (other !== undefined) {
      throw new CodegenError(
        `the ${kind} \`${other}\` and \`${of}\` would both be \`${name}\` in the bindings; ` +
          'rename one of them in the module',
      );
    }
    taken.set(name, of);
  }
}

/** Ascending by code point, so that the order does not depend on the locale. */
export function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  if (a.name === b.name) return 0;
  return a.name < b.name ? -1 : 1;
}
