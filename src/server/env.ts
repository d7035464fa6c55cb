import type { AnyType, outType, TypeBuilder } from '../declare/builder.ts';
import { arrayOf, resolved, type VectorBuilder } from '../declare/composite.ts';
import { type TypeFactory, t as types } from '../declare/t.ts';
import type { EnvValue } from '../schema/env-values.ts';
import type { RawEnvName } from '../schema/raw-module.ts';
import { vectorLengthMax } from '../shared-limits.ts';
import type { AlgebraicType } from '../values/type.ts';

export declare const secretType: unique symbol;

/** Where a schema's type keeps what it declares as `env`. Never exists as a value. */
export declare const envType: unique symbol;

/**
 * A string of the configuration that only procedures and HTTP handlers can read. Made by
 * `t.secret()`, for `env` alone: no column and no parameter can be one.
 *
 * @example
 * ```ts
 * const env = { PAYMENT_KEY: t.secret(), WEBHOOK_KEY: t.secret().optional() };
 * const db = schema({ hero }, { env });
 * ```
 */
export class SecretBuilder<Out extends string | undefined = string> {
  declare readonly [secretType]: Out;
  readonly isOptional: boolean;

  constructor(isOptional: boolean) {
    this.isOptional = isOptional;
  }

  /** It need not be set: the value, or `undefined`. */
  optional(): SecretBuilder<string | undefined> {
    return new SecretBuilder(true);
  }
}

/** The functions of `t` in a module: the types of columns, and those of `env`. */
export interface ModuleTypes extends TypeFactory {
  /** A list of exactly so many `f32`, 1 to 8192. The length is checked in the columns of tables. */
  vector(length: number): VectorBuilder;
  /** Only in `env`: a string that only procedures and HTTP handlers can read. */
  secret(): SecretBuilder;
}

/**
 * The types of columns, parameters and results, and of `env`.
 *
 * @example
 * ```ts
 * const Mood = t.enum('Mood', ['Calm', 'Angry']);
 * const pet = table({}, { id: t.u32().primaryKey(), mood: Mood, tags: t.array(t.string()) });
 * ```
 */
export const t: ModuleTypes = { ...types, vector, secret: () => new SecretBuilder(false) };

/** Throws `TypeError` for a length that no vector has. */
function vector(length: number): VectorBuilder {
  if (!Number.isInteger(length) || length < 1 || length > vectorLengthMax) {
    throw new TypeError(`a vector has 1 to ${vectorLengthMax} elements, not ${length}`);
  }
  return arrayOf(types.f32(), length) as VectorBuilder;
}

/**
 * Names of the configuration that a module reads, and their types: strings, booleans and numbers,
 * options of these, and secrets.
 *
 * @example
 * ```ts
 * const env = { API_URL: t.string(), RETRIES: t.u8().optional() } satisfies EnvDeclaration;
 * const db = schema({ hero }, { env });
 * ```
 */
export type EnvDeclaration = Readonly<
  Record<string, TypeBuilder<EnvValue | undefined, any, any> | SecretBuilder<string | undefined>>
>;

/** The values that every function can read. */
export type PlainEnv<E> = {
  readonly [Name in keyof E as E[Name] extends SecretBuilder<any> ? never : Name]: ValueOf<E[Name]>;
};

/** The values that procedures and HTTP handlers can read. */
export type WholeEnv<E> = { readonly [Name in keyof E]: ValueOf<E[Name]> };

type ValueOf<Declared> =
  Declared extends SecretBuilder<infer Out>
    ? Out
    : Declared extends { readonly [outType]: infer Out }
      ? Out
      : never;

/** What the type of a schema declares as `env`; nothing, if its second argument has none. */
export type EnvOf<Tables> = Tables extends { readonly [envType]: infer E }
  ? E
  : Record<never, never>;

/**
 * Typed access to the configuration that `db.env` declares.
 *
 * @example
 * ```ts
 * export const env = db.env({ API_URL: t.string() });
 * export const where = db.procedure(t.string(), (ctx) => env.of(ctx).API_URL);
 * ```
 */
export interface EnvReader<E> {
  /** The values that the function of this context can read. */
  of(ctx: { withTx(body: never): unknown; readonly env: object }): WholeEnv<E>;
  of(ctx: { readonly env: object }): PlainEnv<E>;
}

/** The names of a declaration as the module's description has them. Throws `TypeError`. */
export function declaredEnv(declaration: EnvDeclaration): RawEnvName[] {
  return Object.entries(declaration).map(([name, type]) => {
    if (type instanceof SecretBuilder) {
      return { name, type: { kind: 'string' }, isSecret: true, isOptional: type.isOptional };
    }
    const { kind, isOptional } = plainType(name, type);
    return { name, type: kind, isSecret: false, isOptional };
  });
}

function plainType(name: string, type: AnyType): { kind: AlgebraicType; isOptional: boolean } {
  try {
    const shape = resolved(type);
    const isOptional = shape.kind === 'option';
    const inner = isOptional ? resolved(shape.inner) : shape;
    if (inner.kind === 'plain' && !compound.includes(inner.type.kind)) {
      return { kind: inner.type, isOptional };
    }
  } catch {
    // It is no type at all.
  }
  const kinds = '`t.string()`, `t.bool()`, a number, an option of one of these, or `t.secret()`';
  throw new TypeError(`env name '${name}' must be ${kinds}`);
}

const compound: readonly string[] = ['ref', 'sum', 'product', 'array'];
