import type { AnyType } from '../declare/builder.ts';
import type { Columns } from '../declare/infer.ts';
import type { Lifecycle } from '../schema/definition.ts';
import type { TimeDuration } from '../values/time-duration.ts';
import type { EnvDeclaration } from './env.ts';
import type { Router } from './router.ts';

/**
 * The key under which `db.reducer(…)` and the like mark the value they return. An exported value
 * without it is an error when the module is described. Copies of this library share the key, so
 * that a submodule can have a copy of its own.
 */
export const registrationKey: unique symbol = Symbol.for('reducerdb.export.v1');

// Handlers are stored and called as the registration says; their types are the user's.
export type AnyHandler = (...args: any[]) => unknown;

export type Registration =
  | {
      readonly kind: 'reducer';
      readonly lifecycle: Lifecycle | undefined;
      readonly options: FunctionOptions & ResultOptions & PolicyOptions;
      readonly params: Columns;
      readonly handler: AnyHandler;
      /** Only of a reducer that runs at the times of an expression. */
      readonly cron?: CronTimes;
    }
  | {
      readonly kind: 'procedure';
      readonly options: FunctionOptions & PolicyOptions & DeliveryOptions;
      readonly params: Columns;
      readonly returns: AnyType;
      readonly handler: AnyHandler;
    }
  | {
      readonly kind: 'view';
      readonly isAnonymous: boolean;
      readonly options: { readonly name?: string; readonly public?: boolean };
      readonly returns: AnyType;
      readonly handler: AnyHandler;
    }
  | {
      readonly kind: 'httpHandler';
      readonly options: FunctionOptions & AuthOptions;
      readonly handler: AnyHandler;
    }
  | { readonly kind: 'httpRouter'; readonly router: Router }
  | { readonly kind: 'env'; readonly declaration: EnvDeclaration }
  | { readonly kind: 'rowFilter'; readonly sql: string }
  | { readonly kind: 'group'; readonly members: Readonly<Record<string, unknown>> };

/** The types of a reducer's result and of its error. */
export interface ResultOptions {
  readonly returns?: AnyType;
  readonly throws?: AnyType;
}

export interface FunctionOptions {
  readonly name?: string;
  readonly onSchedule?: unknown;
}

/** As it was passed: callers without types pass anything. */
export interface AuthOptions {
  readonly auth?: unknown;
}

/** As it was passed: callers without types pass anything. */
export interface PolicyOptions {
  readonly catchUp?: unknown;
  readonly retry?: { readonly attempts?: unknown; readonly backoff?: Partial<TimeDuration> };
}

export interface DeliveryOptions {
  readonly delivery?: unknown;
}

export interface CronTimes {
  readonly expression: unknown;
  readonly timeZone: unknown;
}

/**
 * A value that a module can export.
 *
 * @example
 * ```ts
 * const exported: ModuleExport = db.reducer(() => {});
 * ```
 */
export interface ModuleExport {
  readonly [registrationKey]: { readonly schema: object; readonly registration: Registration };
}

/** A callable that runs `handler` and can be exported. */
export function registeredFunction(
  schema: object,
  registration: Extract<Registration, { readonly handler: AnyHandler }>,
): ModuleExport {
  const { handler } = registration;
  const exported = (...args: unknown[]): unknown => handler(...args);
  return Object.assign(exported, { [registrationKey]: { schema, registration } });
}

/** A plain value that can be exported. */
export function registeredValue(schema: object, registration: Registration): ModuleExport {
  return Object.freeze({ [registrationKey]: { schema, registration } });
}

/** The registration behind an exported value, if it has one. */
export function registrationOf(value: unknown): ModuleExport[typeof registrationKey] | undefined {
  const isCandidate = typeof value === 'function' || (typeof value === 'object' && value !== null);
  return isCandidate ? (value as Partial<ModuleExport>)[registrationKey] : undefined;
}
