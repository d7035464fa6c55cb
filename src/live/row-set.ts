/**
 * Encoded rows, one after another in `data`, and where each of them lies. The shape is that of the
 * row lists of the wire, so that a door passes them on as they are.
 */
export type RowSet = FixedRows | OffsetRows;

export interface FixedRows {
  readonly kind: 'fixedSize';
  /** Bytes of every row, 1 to 65,535; the length of `data` is a multiple of it. */
  readonly rowBytes: number;
  readonly data: Uint8Array;
}

export interface OffsetRows {
  readonly kind: 'offsets';
  /** Where each row starts in `data`, from 0 upwards; it ends where the next one starts. */
  readonly starts: Uint32Array;
  readonly data: Uint8Array;
}

export const emptyRowSet: RowSet = {
  kind: 'offsets',
  starts: new Uint32Array(0),
  data: new Uint8Array(0),
};

export function rowCountOf(rows: RowSet): number {
  return rows.kind === 'offsets' ? rows.starts.length : rows.data.length / rows.rowBytes;
}
