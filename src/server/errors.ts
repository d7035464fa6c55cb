import { refusalText } from '../declare/refusal-text.ts';
import { type ErrorCode, errorCodes, errorTexts } from '../protocol/module-abi.ts';

/**
 * Thrown by module code to reject a call: everything the call wrote is rolled back and the caller
 * gets the message verbatim.
 *
 * @example
 * ```ts
 * if (text.length > 500) throw new SenderError('at most 500 characters');
 * ```
 */
export class SenderError extends Error {
  static {
    nameInstances(SenderError, 'SenderError');
  }
}

/**
 * Thrown by module code to reject a call with a value, of the type that the reducer declares as
 * `throws`: everything the call wrote is rolled back and the caller gets the value. `message` is
 * for the module's log, and for callers that cannot receive values.
 *
 * @example
 * ```ts
 * const TradeError = t.enum('TradeError', { TooPoor: t.u32(), NoSuchHero: t.unit() });
 * export const trade = db.reducer({ throws: TradeError }, { gold: t.u32() }, (_ctx, { gold }) => {
 *   if (gold > 10) throw new CallError({ tag: 'TooPoor', value: gold - 10 });
 * });
 * ```
 */
export class CallError<const Value = unknown> extends SenderError {
  readonly error: Value;

  constructor(error: Value, message: string = refusalText(error)) {
    super(message);
    this.error = error;
  }

  static {
    nameInstances(CallError, 'CallError');
  }
}

/**
 * A database operation that failed. It can be caught: the operation had no effect and the call goes
 * on. The classes in `errors` distinguish the cases.
 *
 * @example
 * ```ts
 * try {
 *   ctx.db.hero.insert(row);
 * } catch (error) {
 *   if (error instanceof HostError) console.warn(error.name, error.table, error.columns);
 *   throw error;
 * }
 * ```
 */
export class SpacetimeHostError extends Error {
  /** The table, index and columns of a constraint that was violated. */
  readonly table?: string;
  readonly index?: string;
  readonly columns?: readonly string[];

  static {
    nameInstances(SpacetimeHostError, 'SpacetimeHostError');
  }
}

/**
 * `SpacetimeHostError` under a neutral name.
 *
 * @example
 * ```ts
 * const isHostError = error instanceof HostError;
 * ```
 */
export const HostError: typeof SpacetimeHostError = SpacetimeHostError;
export type HostError = SpacetimeHostError;

/** Names of the classes in `errors`. Code 10 has no class of its own. */
export type HostErrorName =
  | 'HostCallFailure'
  | 'NotInTransaction'
  | 'BsatnDecodeError'
  | 'NoSuchTable'
  | 'NoSuchIndex'
  | 'NoSuchIter'
  | 'NoSuchConsoleTimer'
  | 'NoSuchBytes'
  | 'NoSpace'
  | 'BufferTooSmall'
  | 'UniqueAlreadyExists'
  | 'ScheduleAtDelayTooLong'
  | 'IndexNotUnique'
  | 'NoSuchRow'
  | 'AutoIncOverflow'
  | 'WouldBlockTransaction'
  | 'TransactionNotAnonymous'
  | 'TransactionIsReadOnly'
  | 'TransactionIsMut'
  | 'HttpError';

export type HostErrorClass = new (message?: string) => SpacetimeHostError;

const classes = new Map<number, HostErrorClass>();

/**
 * The classes of database errors by name.
 *
 * @example
 * ```ts
 * try {
 *   ctx.db.hero.insert(row);
 * } catch (error) {
 *   if (error instanceof errors.UniqueAlreadyExists) throw new SenderError('that name is taken');
 *   throw error;
 * }
 * ```
 */
export const errors: Readonly<Record<HostErrorName, HostErrorClass>> = makeClasses();

function makeClasses(): Readonly<Record<HostErrorName, HostErrorClass>> {
  const named: Record<string, HostErrorClass> = {};
  for (const [code, { name, message: text }] of Object.entries(errorTexts)) {
    if (Number(code) === errorCodes.wrongIndexAlgorithm) continue;
    const errorClass = class extends SpacetimeHostError {
      constructor(message: string = text) {
        super(message);
      }
    };
    Object.defineProperty(errorClass, 'name', { value: name });
    nameInstances(errorClass, name);
    classes.set(Number(code), errorClass);
    named[name] = errorClass;
  }
  return Object.freeze(named) as Record<HostErrorName, HostErrorClass>;
}

/**
 * The error for the result `-code` of a host function. `violation` describes the last one;
 * `failure`, unless empty, is the reason in place of the text of the code.
 */
export function hostError(
  result: number,
  violation: () => string,
  failure = '',
): SpacetimeHostError {
  const code = -result;
  if (failure !== '') return new (classes.get(code) ?? SpacetimeHostError)(failure);
  if (code === errorCodes.hostCallFailure) {
    return new errors.HostCallFailure('cannot call this function during module initialization');
  }
  const { message } = errorTexts[code as ErrorCode] ?? { message: `host error ${code}` };
  const error = new (classes.get(code) ?? SpacetimeHostError)(message);
  if (code === errorCodes.uniqueViolation) {
    const { table, index, columns } = JSON.parse(violation() || '{}');
    Object.assign(error, { table, index, columns });
  }
  return error;
}

/** Puts the name on the prototype, writable: a subclass can set its own. */
function nameInstances(errorClass: { readonly prototype: Error }, value: string): void {
  const property = { value, writable: true, configurable: true };
  Object.defineProperty(errorClass.prototype, 'name', property);
}
