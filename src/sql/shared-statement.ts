/** Statements that texts share which differ only in literals. */
import { assert } from '../assert.ts';
import { fitsParameter } from './check/bind.ts';
import { check } from './check/check.ts';
import { type SharedLiteral, withSharedLiterals } from './check/shared-literals.ts';
import { keyMark, type LiteralText } from './literal-text.ts';
import type { CheckedStatement, StatementScope } from './statement.ts';
import { lex } from './syntax/lex.ts';
import { parse } from './syntax/parse.ts';

/** Which literals of a text are values of a statement, and which are part of it. */
export interface SharedShape {
  readonly values: readonly (SharedLiteral & { readonly literal: number })[];
  /** Positions of the literals that are part of the statement. */
  readonly fixed: readonly number[];
}

/** Of all texts with this key. Throws `SqlFailure` for a text that cannot be parsed. */
export function sharedShapeOf(sql: string, { literals }: LiteralText): SharedShape {
  const literalAt = new Map<number, number>();
  for (const [token, { kind, text }] of lex(sql).entries()) {
    if (kind !== 'string' && kind !== 'number') continue;
    const literal = literalAt.size;
    literalAt.set(token, literal);
    const found = literals[literal];
    assert(found?.kind === kind && found.text === text, 'the literals are those of the lexer');
  }
  assert(literalAt.size === literals.length, 'every literal is a token');
  const values = withSharedLiterals(parse(sql).statement).literals.flatMap((one) => {
    const literal = literalAt.get(one.token);
    return literal === undefined ? [] : [{ ...one, literal }];
  });
  const shared = new Set(values.map(({ literal }) => literal));
  return { values, fixed: literals.map((_, at) => at).filter((at) => !shared.has(at)) };
}

/** One key for all texts that share the statement of this one. */
export function sharedKeyOf({ key, literals }: LiteralText, { fixed }: SharedShape): string {
  return [key, ...fixed.map((at) => literals[at]?.text)].join(keyMark);
}

/** The values of the text's literals, as parameters of the shared statement. */
export function sharedValuesOf(
  { literals }: LiteralText,
  { values }: SharedShape,
): ReadonlyMap<string, string> {
  const named = new Map<string, string>();
  for (const { name, sign, literal } of values) named.set(name, sign + literals[literal]?.text);
  return named;
}

/**
 * Checks a statement with parameters in place of the literals that it shares. Throws `SqlFailure`;
 * its places are not those that the text alone would be refused with.
 */
export function checkShared(
  sql: string,
  { values }: SharedShape,
  { schema, caller, parameterNames }: StatementScope,
): CheckedStatement {
  const parsed = parse(sql);
  const names = new Set([...parameterNames, ...values.map(({ name }) => name)]);
  const { statement } = withSharedLiterals(parsed.statement);
  const { identity, rights } = caller;
  const scope = { schema, rights, identity, parameterNames: names };
  return { schema, rights, typed: check({ ...parsed, statement }, scope) };
}

/** Whether the literals are values of the types that the statement gives them. */
export function fitsShared(
  { schema: { types }, typed }: CheckedStatement,
  values: ReadonlyMap<string, string>,
): boolean {
  return typed.parameters.every((spec) => {
    const value = spec.name === undefined ? undefined : values.get(spec.name);
    return value === undefined || fitsParameter(value, spec, { types });
  });
}
