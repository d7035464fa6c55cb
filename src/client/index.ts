/**
 * The client library: connect to a database, call its reducers, cache the rows of queries.
 * `connect` types a connection by the module itself; generated bindings are made of
 * `DbConnectionBuilder` and the functions beside it.
 *
 * @module
 */
export { ColumnBuilder, TypeBuilder } from '../declare/builder.ts';
export type { Fields as ElementsObj, RowBuilder } from '../declare/composite.ts';
export type {
  Columns as RowObj,
  Infer,
  InferTypeOfRow,
  InferTypeOfTypeBuilder,
} from '../declare/infer.ts';
export { toCamelCase, toPascalCase } from '../declare/names.ts';
export { isRowTypedQuery, isTypedQuery, toSql } from '../declare/query.ts';
export {
  and,
  BooleanExpr,
  evaluateBooleanExpr,
  literal,
  not,
  or,
} from '../declare/query-expression.ts';
export type { Query, RowTypedQuery, TableRef } from '../declare/query-types.ts';
export { type Bound, Range } from '../declare/range.ts';
export { t } from '../declare/t.ts';
export { table } from '../declare/table.ts';
export { snakeCase as toSnakeCase } from '../schema/case-conversion.ts';
export { BinaryReader } from '../values/binary-reader.ts';
export { BinaryWriter } from '../values/binary-writer.ts';
export { ConnectionId } from '../values/connection-id.ts';
export { Identity } from '../values/identity.ts';
export { Interval, ScheduleAt, Time } from '../values/schedule-at.ts';
export { TimeDuration } from '../values/time-duration.ts';
export { Timestamp } from '../values/timestamp.ts';
export type {
  AlgebraicType,
  AlgebraicType as AlgebraicTypeType,
  ProductType,
  SumType,
} from '../values/type.ts';
export { Uuid } from '../values/uuid.ts';
export {
  convertToAccessorMap,
  makeQueryBuilder,
  type ProcedureDescription,
  procedureSchema,
  procedures,
  type QueryBuilder,
  type ReducerDescription,
  type RemoteModule,
  reducerSchema,
  reducers,
  type SchemaDescription,
  schema,
} from './bindings.ts';
export {
  type Client,
  type ConnectOptions,
  connect,
  type QueryOptions,
  type Subscription,
  type SubscriptionListener,
} from './client.ts';
export type { RawSchema } from './client-schema.ts';
export type { ConnectionState, ReconnectOptions } from './connection-state.ts';
export type { RowChange } from './contents.ts';
export type {
  ContextInterface as DbContext,
  ErrorContextInterface,
  EventContextInterface,
  ReducerEventContextInterface,
  SubscriptionEventContextInterface,
} from './contexts.ts';
export type { SocketAdapter, SocketFactory, SocketFactoryArgs } from './custom-socket.ts';
export { type DbConnectionConfig, DbConnectionImpl } from './db-connection.ts';
export { DbConnectionBuilder } from './db-connection-builder.ts';
export type { Draft, DraftTable } from './draft.ts';
export {
  CallError,
  ConnectionLostError,
  ConnectionRefusedError,
  type ErrorCode,
  IdentityChangedError,
  InternalError,
  isCallError,
  OverloadedError,
  QueryError,
  ReducerDbError,
  SchemaMismatchError,
  SenderError,
  type Throwing,
  TimeoutError,
} from './errors.ts';
export type { Event, ReducerEvent } from './events.ts';
export { getGlobalLogLevel, type LogLevel, setGlobalLogLevel } from './log-level.ts';
export type {
  Call,
  CallResult,
  ClientContext,
  ClientDb,
  ClientProcedures,
  ClientReducers,
  QueryInput,
  QueryRoots,
  TableRow,
  TablesOf,
} from './module-types.ts';
export { sameValue as deepEqual } from './native-order.ts';
export type { Readable } from './observable.ts';
export type { Snapshot } from './page-snapshot.ts';
export type { StopSignal, WebSocketClass } from './platform.ts';
export type {
  ClientCache,
  ClientTable,
  ConnectionEvent,
  Option,
  Result,
  TableCache,
  TableDefForTableName,
} from './published-names.ts';
export type { CallOptions, PendingCall } from './requests.ts';
export type { KeyValue } from './schema-loader.ts';
export { type PreloadInput, preload, serialize } from './snapshot.ts';
export type { CompressionChoice } from './socket.ts';
export type { SqlParameter, SqlParameters } from './sql-parameters.ts';
export { SubscriptionBuilderImpl, SubscriptionHandleImpl } from './subscription-builder.ts';
export type {
  ListenOptions,
  RowsAccessor,
  TableHandle,
  TableMethods,
  UniqueAccessor,
} from './table-handle.ts';
export type { WatchedQuery, WatchedRows, WatchOptions } from './watch.ts';
