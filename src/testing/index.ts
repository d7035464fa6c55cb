/**
 * Test a module on the real engine, in the test's own process.
 *
 * @module
 */
export { type ScheduledRun, TestClock } from './test-clock.ts';
export {
  type CallArguments,
  CallFailed,
  type CallOptions,
  openTestDatabase,
  QueryFailed,
  type QueryOptions,
  type QueryParameter,
  TestDatabase,
  type TestDatabaseOptions,
  type TestRequestInit,
  type TestRow,
} from './test-database.ts';
