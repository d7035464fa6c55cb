/**
 * The stream of an export: blocks of rows, each behind a line that says how long it is, and a last
 * line. A stream without that line is not an export.
 *
 * ```
 * {"table":"person","rows":2,"bytes":48}
 * {"id":1,"name":"Ann"}
 * {"id":2,"name":"Ben"}
 * {"table":"task","rows":0,"bytes":0}
 * {"end":true,"counts":{"person":2,"task":0},"sha256":"…","position":"…","program":"…"}
 * ```
 *
 * A large table has several blocks. As CSV, the first block of a table begins with the names of its
 * columns, a line that `rows` does not count. An export that fails ends with `{"error":"…"}`.
 */
export interface BlockLine {
  readonly table: string;
  /** Lines of the block that are rows. */
  readonly rows: number;
  /** Bytes between this line and the next one like it. */
  readonly bytes: number;
}

export interface EndLine {
  readonly end: true;
  /** Rows by table. */
  readonly counts: Readonly<Record<string, number>>;
  /** Of everything before this line. */
  readonly sha256: string;
  /** The commit whose rows these are. */
  readonly position: string;
  /** Hash of the program that was running. */
  readonly program: string;
}

export interface ErrorLine {
  readonly error: string;
}

export type FrameLine = BlockLine | EndLine | ErrorLine;

export function frameLine(line: FrameLine): string {
  return `${JSON.stringify(line)}\n`;
}
