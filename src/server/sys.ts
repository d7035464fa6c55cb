/**
 * The host's functions, handed over once with the request for the hooks. Results are numbers; a
 * negative one is an error code with its sign turned. Rows, keys and bounds travel in one shared
 * buffer, the *scratch*, from its start on. The host overwrites it when a call returns bytes.
 */
export interface Sys {
  /** The scratch, first grown to hold `minBytes`; its content is kept. */
  scratch(minBytes: number): ArrayBuffer;
  table_id(name: string): number;
  index_id(name: string): number;
  row_count(table: number): number;
  /** Row in, generated columns out: their number of bytes. */
  insert(table: number, rowLength: number): number;
  update(table: number, index: number, rowLength: number): number;
  /** 1: there was such a row. */
  delete_equal(table: number, rowLength: number): number;
  /** Key in, row out: its number of bytes. The host grows the scratch for a larger row. */
  find(index: number, keyLength: number): number;
  /** Handle of an iterator over the rows as they are now. */
  scan(table: number): number;
  scan_point(index: number, keyLength: number): number;
  /** In: prefix, start bound, end bound, one after the other. An end of 0 bytes is the start. */
  scan_range(
    index: number,
    prefixColumns: number,
    prefixLength: number,
    startLength: number,
    endLength: number,
  ): number;
  /** Bytes of whole rows that are now in the scratch; 0 ends and closes the iterator. */
  next(iterator: number): number;
  close(iterator: number): number;
  /** Rows removed. */
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
  /** Payload of the caller's token as JSON text; empty when there is none. */
  jwt(): string;
  /** The call's 32 bytes of entropy, out; the same throughout a call. */
  seed(): number;
  /** JSON of `table`, `index` and `columns` of the last unique violation. */
  violation(): string;
}
