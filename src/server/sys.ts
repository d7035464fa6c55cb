/**
 * The host's functions, handed over once with the request for the hooks. Results are numbers; a
 * negative one is a negated error code. Rows, keys and bounds are passed in one shared buffer, the
 * *scratch*, from its start. The host overwrites it when a call returns bytes.
 */
export interface Sys {
  /** The scratch, grown to hold `minBytes` if necessary; its content is kept. */
  scratch(minBytes: number): ArrayBuffer;
  table_id(name: string): number;
  index_id(name: string): number;
  row_count(table: number): number;
  /** Takes a row; writes the generated columns and returns their number of bytes. */
  insert(table: number, rowLength: number): number;
  update(table: number, index: number, rowLength: number): number;
  /** Returns 1 if there was such a row. */
  delete_equal(table: number, rowLength: number): number;
  /**
   * Takes a key; writes the row and returns its number of bytes. Grows the scratch for a larger
   * row.
   */
  find(index: number, keyLength: number): number;
  /** Returns the handle of an iterator over the rows as they are now. */
  scan(table: number): number;
  scan_point(index: number, keyLength: number): number;
  /** Takes prefix, start bound and end bound in sequence. An end of 0 bytes equals the start. */
  scan_range(
    index: number,
    prefixColumns: number,
    prefixLength: number,
    startLength: number,
    endLength: number,
  ): number;
  /**
   * Writes whole rows and returns their bytes; 0 means that the iterator has ended and is closed.
   */
  next(iterator: number): number;
  close(iterator: number): number;
  /** Returns the number of rows removed. */
  delete_point(index: number, keyLength: number): number;
  delete_range(
    index: number,
    prefixColumns: number,
    prefixLength: number,
    startLength: number,
    endLength: number,
  ): number;
  clear(table: number): number;
  /** Levels: 0 error, 1 warn, 2 info, 3 debug, 4 trace. */
  log(level: number, message: string): void;
  timer_start(label: string): number;
  timer_end(timer: number): number;
  /** The database's own identity. */
  identity(): bigint;
  // `call` is the number that the hook of a procedure got: what this is done for. Without it, it is
  // the call whose hook runs.
  /** Payload of the caller's token as JSON text; empty when there is none. */
  jwt(call?: number): string;
  /** Writes the call's 32 bytes of entropy; the same throughout a call. */
  seed(call?: number): number;
  /** A number that changes with the configuration. */
  env_version(): number;
  /** The configuration as JSON text; see `environment.ts`. */
  env(): string;
  /** JSON of `table`, `index` and `columns` of the last unique violation. */
  violation(): string;
  /** In procedures: opens a transaction of a kind of `transactionKinds`; its timestamp. */
  begin(kind: number, call?: number): bigint;
  /** Ends it in a way of `transactionEnds`. */
  end(how: number): number;
  reducer_id(name: string): number;
  /** Takes encoded arguments; returns one of `reducerEnds`. */
  call_reducer(reducer: number, argumentLength: number, call?: number): number;
  /** Takes head and body of a request; returns the bytes of the head of the response. */
  fetch(headLength: number, bodyLength: number, call?: number): number;
  /**
   * Takes a request like `fetch`, and one of `redirectModes`; returns the number of an operation,
   * whose end a hook reports.
   */
  fetch_start(headLength: number, bodyLength: number, redirect: number, call?: number): number;
  /** Returns the number of an operation. Without a call, it is of the one that goes on now. */
  sleep(micros: bigint, call?: number): number;
  /** Ends an operation, which no hook reports then. */
  cancel(operation: number): number;
  /** Bytes that `call_reducer` has left in the scratch, or `fetch` after the head. */
  result_bytes(): number;
  /** Text of the last failure of these; empty: its code says it. */
  failure(): string;
}
