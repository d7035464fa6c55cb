import type { HostCalls, RangeLengths } from '../host-calls.ts';
import type { HostApi, RangeCall } from './guest-api.ts';

/** The data calls of the module boundary, of a transaction here or elsewhere. */
export type DataCalls = Pick<
  HostCalls,
  | 'tableId'
  | 'indexId'
  | 'rowCount'
  | 'insert'
  | 'update'
  | 'deleteEqual'
  | 'find'
  | 'scan'
  | 'scanPoint'
  | 'scanRange'
  | 'next'
  | 'close'
  | 'deletePoint'
  | 'deleteRange'
  | 'clear'
  | 'violation'
>;

export type DataApi = Pick<HostApi, keyof DataCalls>;

/** The data calls as plain functions, which the bridge can call. */
export function dataApi(calls: DataCalls): DataApi {
  const withLengths =
    (run: (index: number, range: RangeLengths) => number): RangeCall =>
    (index, prefixColumns, prefixLength, startLength, endLength) =>
      run(index, { prefixColumns, prefixLength, startLength, endLength });
  return {
    tableId: (name) => calls.tableId(name),
    indexId: (name) => calls.indexId(name),
    rowCount: (table) => calls.rowCount(table),
    insert: (table, rowLength) => calls.insert(table, rowLength),
    update: (table, index, rowLength) => calls.update(table, index, rowLength),
    deleteEqual: (table, rowLength) => calls.deleteEqual(table, rowLength),
    find: (index, keyLength) => calls.find(index, keyLength),
    scan: (table) => calls.scan(table),
    scanPoint: (index, keyLength) => calls.scanPoint(index, keyLength),
    scanRange: withLengths((index, range) => calls.scanRange(index, range)),
    next: (iterator) => calls.next(iterator),
    close: (iterator) => calls.close(iterator),
    deletePoint: (index, keyLength) => calls.deletePoint(index, keyLength),
    deleteRange: withLengths((index, range) => calls.deleteRange(index, range)),
    clear: (table) => calls.clear(table),
    violation: () => calls.violation(),
  };
}
