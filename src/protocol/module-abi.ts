/**
 * The interface between a module program and its host: the names of the hooks, the error codes of
 * the host calls and the log levels. Names with "spacetimedb" in them are part of the interface.
 */

/** `Symbol.for` key of the method of the default export that returns the hooks. */
export const moduleHooksKey = 'reducerdb.moduleHooks.v1';

/** Members of the hooks object, read by ordinary property access. */
export const hookNames = {
  describeModule: '__describe_module__',
  callReducer: '__call_reducer__',
  callView: '__call_view__',
  callAnonymousView: '__call_view_anon__',
  callProcedure: '__call_procedure__',
  callHttpHandler: '__call_http_handler__',
  operationCompleted: '__operation_completed__',
  abortCall: '__abort_call__',
  callMigration: '__call_migration__',
  migrationPlace: '__migration_place__',
  senderErrorClass: '__sender_error_class__',
} as const;

/**
 * Property of a thrown instance of the sender error class: a Uint8Array, the encoded error value of
 * the reducer. A returned value is instead the result of its hook, as a Uint8Array.
 */
export const errorBytesKey = '__error_bytes__';

/** Frames at and below a function of this name are omitted from a stack trace. */
export const traceEndFunction = '__spacetimedb_end_short_backtrace';

/** First byte of the `data` that a view hook returns; an array of rows or an SQL text follows. */
export const viewResultTags = { rows: 0, sql: 1 } as const;

/** What a migration hook is asked to do, as its first argument. */
export const migrationKinds = { rows: 0, run: 1, assert: 2 } as const;

/** Error codes of host calls. A failed host call returns one of these, negated. */
export const errorCodes = {
  hostCallFailure: 1,
  notInTransaction: 2,
  undecodable: 3,
  noSuchTable: 4,
  noSuchIndex: 5,
  noSuchIterator: 6,
  noSuchTimer: 7,
  noSuchBytes: 8,
  noSpace: 9,
  wrongIndexAlgorithm: 10,
  bufferTooSmall: 11,
  uniqueViolation: 12,
  scheduleDelayTooLong: 13,
  indexNotUnique: 14,
  noSuchRow: 15,
  sequenceOverflow: 16,
  wouldBlockTransaction: 17,
  transactionNotAnonymous: 18,
  transactionReadOnly: 19,
  transactionMutable: 20,
  httpError: 21,
} as const;

export type ErrorCode = (typeof errorCodes)[keyof typeof errorCodes];

/** The class name and the text of the error that guests throw for each code. */
export const errorTexts: Readonly<Record<ErrorCode, { name: string; message: string }>> = {
  1: { name: 'HostCallFailure', message: 'ABI called by host returned an error' },
  2: {
    name: 'NotInTransaction',
    message: 'ABI call can only be made while in a transaction',
  },
  3: {
    name: 'BsatnDecodeError',
    message: "Couldn't decode the BSATN to the expected type",
  },
  4: { name: 'NoSuchTable', message: 'No such table' },
  5: { name: 'NoSuchIndex', message: 'No such index' },
  6: { name: 'NoSuchIter', message: 'The provided row iterator is not valid' },
  7: { name: 'NoSuchConsoleTimer', message: 'The provided console timer does not exist' },
  8: { name: 'NoSuchBytes', message: 'The provided bytes source or sink is not valid' },
  9: { name: 'NoSpace', message: 'The provided sink has no more space left' },
  10: { name: 'SpacetimeHostError', message: 'The Index does not support range scans' },
  11: {
    name: 'BufferTooSmall',
    message: 'The provided buffer is not large enough to store the data',
  },
  12: {
    name: 'UniqueAlreadyExists',
    message: 'Value with given unique identifier already exists',
  },
  13: {
    name: 'ScheduleAtDelayTooLong',
    message: 'Specified delay in scheduling row was too long',
  },
  14: { name: 'IndexNotUnique', message: 'The index was not unique' },
  15: { name: 'NoSuchRow', message: 'The row was not found, e.g., in an update call' },
  16: { name: 'AutoIncOverflow', message: 'The auto-increment sequence overflowed' },
  17: {
    name: 'WouldBlockTransaction',
    message: 'Attempted async or blocking op while holding open a transaction',
  },
  18: {
    name: 'TransactionNotAnonymous',
    message: 'Not in an anonymous transaction. Called by a reducer?',
  },
  19: {
    name: 'TransactionIsReadOnly',
    message: 'ABI call can only be made while within a mutable transaction',
  },
  20: {
    name: 'TransactionIsMut',
    message: 'ABI call can only be made while within a read-only transaction',
  },
  21: { name: 'HttpError', message: 'The HTTP request failed' },
};

/** What `sys.call_reducer` returns, other than negated error codes. */
export const reducerEnds = {
  returned: 0,
  /** The encoded value is in the scratch. */
  returnedValue: 1,
  /** The reducer refused; the message is the text of the failure. */
  refused: 2,
  /** It refused with a value, which is in the scratch. */
  refusedValue: 3,
  /** Anything else; the text of the failure says what. */
  failed: 4,
} as const;

/** Kinds of transactions that a procedure begins, as numbers of `sys.begin`. */
export const transactionKinds = { write: 0, read: 1 } as const;

/** How a procedure ends a transaction, as numbers of `sys.end`. */
export const transactionEnds = { abort: 0, commit: 1 } as const;

/** What becomes of redirects, as numbers of `sys.fetch_start`. */
export const redirectModes = { follow: 0, error: 1, manual: 2 } as const;

/** Levels of a log call; any other number counts as `debug`. */
export const logLevels = { error: 0, warn: 1, info: 2, debug: 3, trace: 4, panic: 101 } as const;

/** First byte of a range bound; the value follows the first two. */
export const boundTags = { included: 0, excluded: 1, unbounded: 2 } as const;

/** Size of the scratch buffer when a program is loaded, and of one chunk of an iterator. */
export const scratchBytes = 65_536;
