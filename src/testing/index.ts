/**
 * Test a module on the real engine, in the test's own process.
 *
 * @module
 */
export type {
  CallArguments,
  QueryParameter,
  QueryParameters,
  TestRow,
} from './database-requests.ts';
export type {
  RowsLookup,
  TestCall,
  TestCallResult,
  TestProcedures,
  TestQuery,
  TestReducers,
  TestRows,
  TestTable,
  TestTables,
  UniqueLookup,
} from './module-types.ts';
export { TestCaller } from './test-caller.ts';
export { type ScheduledRun, TestClock } from './test-clock.ts';
export {
  type CallOptions,
  openTestDatabase,
  type QueryOptions,
  TestDatabase,
  type TestDatabaseOptions,
  type TestRequestInit,
} from './test-database.ts';
export { CallFailed, isCallFailed, type MayThrow, QueryFailed } from './test-errors.ts';
export type { TestChange, TestWatch } from './test-watch.ts';
