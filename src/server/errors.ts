/**
 * Thrown by module code to refuse a call: everything the call wrote is undone and the caller gets
 * the message, word for word.
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
 * A database operation that did not succeed. It can be caught: the operation has had no effect and
 * the call goes on. Which one it is says the class, found in `errors`.
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
 * The same class under a neutral name.
 *
 * @example
 * ```ts
 * const isHostError = error instanceof HostError;
 * ```
 */
export const HostError: typeof SpacetimeHostError = SpacetimeHostError;
export type HostError = SpacetimeHostError;

const texts = {
  HostCallFailure: [1, 'ABI called by host returned an error'],
  NotInTransaction: [2, 'ABI call can only be made while in a transaction'],
  BsatnDecodeError: [3, "Couldn't decode the BSATN to the expected type"],
  NoSuchTable: [4, 'No such table'],
  NoSuchIndex: [5, 'No such index'],
  NoSuchIter: [6, 'The provided row iterator is not valid'],
  NoSuchConsoleTimer: [7, 'The provided console timer does not exist'],
  NoSuchBytes: [8, 'The provided bytes source or sink is not valid'],
  NoSpace: [9, 'The provided sink has no more space left'],
  BufferTooSmall: [11, 'The provided buffer is not large enough to store the data'],
  UniqueAlreadyExists: [12, 'Value with given unique identifier already exists'],
  ScheduleAtDelayTooLong: [13, 'Specified delay in scheduling row was too long'],
  IndexNotUnique: [14, 'The index was not unique'],
  NoSuchRow: [15, 'The row was not found, e.g., in an update call'],
  AutoIncOverflow: [16, 'The auto-increment sequence overflowed'],
  WouldBlockTransaction: [17, 'Attempted async or blocking op while holding open a transaction'],
  TransactionNotAnonymous: [18, 'Not in an anonymous transaction. Called by a reducer?'],
  TransactionIsReadOnly: [19, 'ABI call can only be made while within a mutable transaction'],
  TransactionIsMut: [20, 'ABI call can only be made while within a read-only transaction'],
  HttpError: [21, 'The HTTP request failed'],
} as const satisfies Record<string, readonly [code: number, message: string]>;

export type HostErrorClass = new (message?: string) => SpacetimeHostError;

const byCode: (HostErrorClass | undefined)[] = [];

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
export const errors: Readonly<Record<keyof typeof texts, HostErrorClass>> = Object.freeze(
  Object.fromEntries(
    Object.entries(texts).map(([name, [code, text]]) => {
      const errorClass = class extends SpacetimeHostError {
        constructor(message: string = text) {
          super(message);
        }
      };
      Object.defineProperty(errorClass, 'name', { value: name });
      nameInstances(errorClass, name);
      byCode[code] = errorClass;
      return [name, errorClass];
    }),
  ) as Record<keyof typeof texts, HostErrorClass>,
);

const codeOfUniqueViolation = 12;

/** The error for the result `-code` of a host function. `violation` describes the last one. */
export function hostError(result: number, violation: () => string): SpacetimeHostError {
  const code = -result;
  if (code === 10) return new SpacetimeHostError('The Index does not support range scans');
  if (code === 1) {
    return new errors.HostCallFailure('cannot call this function during module initialization');
  }
  const errorClass = byCode[code];
  const error = errorClass ? new errorClass() : new SpacetimeHostError(`host error ${code}`);
  if (code === codeOfUniqueViolation) {
    const { table, index, columns } = JSON.parse(violation() || '{}');
    Object.assign(error, { table, index, columns });
  }
  return error;
}

/** Puts the name on the prototype, writable: a subclass may set its own. */
function nameInstances(errorClass: { readonly prototype: Error }, value: string): void {
  const property = { value, writable: true, configurable: true };
  Object.defineProperty(errorClass.prototype, 'name', property);
}
