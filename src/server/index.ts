/**
 * The module SDK: the library that modules are written with. It declares tables and functions, and
 * provides the context that functions run in.
 *
 * @module
 */

export { ColumnBuilder, TypeBuilder } from '../declare/builder.ts';
export type { Fields as ElementsObj, Variants as VariantsObj } from '../declare/composite.ts';
export {
  ArrayBuilder,
  ByteArrayBuilder,
  OptionBuilder,
  ProductBuilder,
  RefBuilder,
  ResultBuilder,
  RowBuilder,
  SimpleSumBuilder,
  SumBuilder,
} from '../declare/composite-builders.ts';
export {
  ArrayColumnBuilder,
  ByteArrayColumnBuilder,
  type ColumnMetadata,
  OptionColumnBuilder,
  ProductColumnBuilder,
  ResultColumnBuilder,
  SimpleSumColumnBuilder,
  SumColumnBuilder,
} from '../declare/composite-columns.ts';
export type {
  Columns as RowObj,
  Infer,
  InferSpacetimeTypeOfRow,
  InferTypeOfParams,
  InferTypeOfRow,
  InferTypeOfTypeBuilder,
} from '../declare/infer.ts';
export { toCamelCase } from '../declare/names.ts';
export {
  F32Builder,
  F32ColumnBuilder,
  F64Builder,
  F64ColumnBuilder,
  I8Builder,
  I8ColumnBuilder,
  I16Builder,
  I16ColumnBuilder,
  I32Builder,
  I32ColumnBuilder,
  I64Builder,
  I64ColumnBuilder,
  I128Builder,
  I128ColumnBuilder,
  I256Builder,
  I256ColumnBuilder,
  U8Builder,
  U8ColumnBuilder,
  U16Builder,
  U16ColumnBuilder,
  U32Builder,
  U32ColumnBuilder,
  U64Builder,
  U64ColumnBuilder,
  U128Builder,
  U128ColumnBuilder,
  U256Builder,
  U256ColumnBuilder,
} from '../declare/number-builders.ts';
export { isRowTypedQuery, isTypedQuery, makeQueryBuilder, toSql } from '../declare/query.ts';
export {
  and,
  BooleanExpr,
  evaluateBooleanExpr,
  literal,
  not,
  or,
} from '../declare/query-expression.ts';
export type {
  ColumnExpr,
  ColumnExpression,
  Query,
  QueryBuilder,
  RowExpr,
  RowTypedQuery,
  TableRef,
} from '../declare/query-types.ts';
export { type Bound, Range } from '../declare/range.ts';
export {
  BoolBuilder,
  BoolColumnBuilder,
  ConnectionIdBuilder,
  ConnectionIdColumnBuilder,
  IdentityBuilder,
  IdentityColumnBuilder,
  ScheduleAtBuilder,
  ScheduleAtColumnBuilder,
  StringBuilder,
  StringColumnBuilder,
  TimeDurationBuilder,
  TimeDurationColumnBuilder,
  TimestampBuilder,
  TimestampColumnBuilder,
  UuidBuilder,
  UuidColumnBuilder,
} from '../declare/scalar-builders.ts';
export { table } from '../declare/table.ts';
export { ConnectionId } from '../values/connection-id.ts';
export { Identity } from '../values/identity.ts';
export { ScheduleAt } from '../values/schedule-at.ts';
export { TimeDuration } from '../values/time-duration.ts';
export { Timestamp } from '../values/timestamp.ts';
export { Uuid } from '../values/uuid.ts';
export {
  AbortController,
  AbortError,
  type AbortEvent,
  type AbortListener,
  AbortSignal,
} from './abort-signal.ts';
export { attachMigrations, type MigrationFile } from './attach-migrations.ts';
export type { AuthCtx, JwtClaims } from './auth.ts';
export type {
  AnonymousViewCtx,
  AuthHandlerContext,
  FetchInit,
  HandlerContext,
  InferSchema,
  OptionalAuthHandlerContext,
  ProcedureCtx,
  ReducerCtx,
  TransactionCtx,
  ViewCtx,
} from './contexts.ts';
export { type EnvDeclaration, type EnvReader, type ModuleTypes, SecretBuilder, t } from './env.ts';
export { CallError, errors, HostError, SenderError, SpacetimeHostError } from './errors.ts';
export type {
  CronOptions,
  HttpHandlerExport,
  ProcedureExport,
  Reducer,
  ReducerExport,
  ScheduleRetry,
  ViewExport,
} from './functions.ts';
export type { DbView } from './handles.ts';
export {
  type BodyInit,
  Headers,
  type HeadersInit,
  Request,
  type RequestInit,
  type ResponseInit,
  SyncResponse,
} from './http-messages.ts';
export {
  type LooseTables,
  type Migration,
  type MigrationCheck,
  type MigrationMoment,
  type MigrationOptions,
  type MigrationReader,
  type MigrationSteps,
  type MigrationTx,
  migration,
  type Step,
} from './migration.ts';
export type {
  NewIndex,
  NewTable,
  NewTables,
  OldIndex,
  OldTable,
  OldTables,
} from './migration-tables.ts';
export type { ModuleConsole } from './module-globals.ts';
export type { Random } from './random.ts';
export type { ModuleExport } from './registration.ts';
export { type BodyChunk, type BodyReader, type BodyStream, Response } from './response.ts';
export { Router } from './router.ts';
export { CaseConversionPolicy, type ModuleSettings, schema } from './schema.ts';
export { type SignatureOptions, verifySignature } from './verify-signature.ts';
