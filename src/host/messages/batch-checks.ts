import type { DatabaseDescription } from '../../database/description.ts';
import type {
  CallError,
  ProcedureError,
  RefusalBody,
  SqlError,
  SqlParameter,
  SqlParameters,
} from '../../database/outcome.ts';
import type { ProgramSource, UpdatePermission } from '../../database/program-source.ts';
import type { ScheduleOutcome } from '../../database/schedules/schedule-ask.ts';
import type { SnapshotOutcome } from '../../database/snapshots/snapshot-outcome.ts';
import type { ExportError, ExportOutcome } from '../../database/transfer/export-ask.ts';
import type { ImportError, ImportOutcome } from '../../database/transfer/import-request.ts';
import { limits } from '../../limits.ts';
import { checkedResponse, type HandlerResponse } from '../../module/handler-response.ts';
import type { HandlerAuth } from '../../schema/definition.ts';
import type { AlgebraicType, NamedType } from '../../values/type.ts';
import type { StructuredReply } from './worker-messages.ts';

/**
 * What is in a batch as JSON text, or structured beside it. The functions throw unless it has the
 * right shape, as `checkMessage` does for the other messages.
 */

/** The errors of a call that have no bytes. */
export type TextCallError = Exclude<CallError, { readonly code: 'reducer.refusedWithValue' }>;

export function parseCallError(text: string): TextCallError {
  return checked(JSON.parse(text), isCallError, 'error of a call');
}

export function parseProcedureError(text: string): ProcedureError {
  return checked(JSON.parse(text), isProcedureError, 'error of a procedure');
}

/** The head of a handler's response. */
export function parseResponse(head: Uint8Array): HandlerResponse {
  const response = checkedResponse(head);
  if ('fault' in response) throw new Error(`invalid response of a handler: ${response.fault}`);
  return response;
}

export function parseSqlError(text: string): SqlError {
  return checked(JSON.parse(text), isSqlError, 'error of a statement');
}

export function parseRefusal(text: string): RefusalBody {
  return checked(JSON.parse(text), isRefusal, 'refusal');
}

/** Whether a client was let in: the words of the module that rejected it. */
export function parseConnected(text: string): { readonly refusal?: string } {
  return checked(JSON.parse(text), isConnected, 'answer to a connection');
}

/** The columns of a result, and the types that refs in them index. */
export interface ResultHead {
  readonly columns: readonly NamedType[];
  readonly types: readonly AlgebraicType[];
  /** What a limited token has read. */
  readonly tables?: readonly string[];
}

export function parseResultHead(text: string): ResultHead {
  return checked(JSON.parse(text), isResultHead, 'columns of a result');
}

/** Of an update: the kind of its program, and what it may do. */
/** With whether it is a trial. */
export type UpdateHead = readonly [ProgramSource['kind'], UpdatePermission, boolean];

export function parseUpdateHead(text: string): UpdateHead {
  return checked(JSON.parse(text), isUpdateHead, 'update');
}

export function parseParameters(text: string): SqlParameters {
  return new Map(checked(JSON.parse(text), areParameters, 'parameters'));
}

/** Previews, tables and schedules are shown as they come; their parts are not looked into. */
export function checkedReply(structured: unknown): StructuredReply {
  return checked(structured, isStructuredReply, 'reply');
}

function checked<Value>(
  json: unknown,
  isRight: (json: unknown) => json is Value,
  what: string,
): Value {
  if (!isRight(json)) throw new Error(`invalid ${what}`);
  return json;
}

type Fields = Readonly<Record<string, unknown>>;

/** The field that an error has besides its code. */
type FieldOf<Code> = Exclude<keyof Extract<TextCallError, { readonly code: Code }>, 'code'>;

const callErrorFields: {
  readonly [Code in TextCallError['code']]: [FieldOf<Code>] extends [never]
    ? 'none'
    : FieldOf<Code>;
} = {
  'reducer.unknown': 'reducer',
  'reducer.notCallable': 'lifecycle',
  'arguments.invalid': 'message',
  'reducer.refused': 'message',
  'reducer.refusedWithoutValue': 'message',
  'reducer.crashed': 'none',
  'reducer.overBudget': 'message',
  'quota.exceeded': 'message',
  'call.readOnly': 'message',
  'connection.refused': 'message',
  'idempotency.refused': 'message',
  'idempotency.tooMany': 'message',
  'schema.changed': 'none',
};

type Lifecycle = Extract<TextCallError, { readonly code: 'reducer.notCallable' }>['lifecycle'];
const lifecycles: KeysOf<Lifecycle> = { init: true, onConnect: true, onDisconnect: true };

/** All members of a union of strings: a new one breaks the build here. */
type KeysOf<Key extends string> = { readonly [Each in Key]: true };

function isCallError(json: unknown): json is TextCallError {
  if (!areFields(json) || !isKeyOf(callErrorFields, json.code)) return false;
  const field = callErrorFields[json.code];
  if (field === 'none') return true;
  return field === 'lifecycle' ? isKeyOf(lifecycles, json.lifecycle) : isString(json[field]);
}

const procedureErrorFields: {
  readonly [Code in ProcedureError['code']]: 'procedure' | 'message' | 'none';
} = {
  'procedure.unknown': 'procedure',
  'arguments.invalid': 'message',
  'procedure.failed': 'message',
  'procedure.overBudget': 'message',
  'procedure.stopped': 'message',
  'procedure.busy': 'message',
  'call.readOnly': 'message',
  'connection.refused': 'message',
  'schema.changed': 'none',
};

type BusyOf = Extract<ProcedureError, { readonly code: 'procedure.busy' }>['of'];
const busyParties: KeysOf<BusyOf> = { caller: true, database: true };

function isProcedureError(json: unknown): json is ProcedureError {
  if (!areFields(json) || !isKeyOf(procedureErrorFields, json.code)) return false;
  const field = procedureErrorFields[json.code];
  if (field !== 'none' && !isString(json[field])) return false;
  return json.code !== 'procedure.busy' || isKeyOf(busyParties, json.of);
}

const sqlErrorCodes: KeysOf<SqlError['code']> = {
  'sql.noTable': true,
  'sql.notAuthorized': true,
  'sql.invalid': true,
  'sql.invalidParameter': true,
  'sql.noHistory': true,
  'sql.overBudget': true,
  'sql.busy': true,
  'quota.exceeded': true,
  'sql.internal': true,
  'connection.refused': true,
};

function isSqlError(json: unknown): json is SqlError {
  return (
    areFields(json) &&
    isKeyOf(sqlErrorCodes, json.code) &&
    isString(json.message) &&
    (json.code !== 'sql.noTable' || isString(json.table)) &&
    (json.place === undefined || isPlace(json.place)) &&
    (json.hint === undefined || isString(json.hint))
  );
}

function isPlace(json: unknown): boolean {
  return areFields(json) && isNumber(json.line) && isNumber(json.column);
}

const refusalCodes: KeysOf<RefusalBody['code']> = {
  'database.overloaded': true,
  'database.opening': true,
  'database.stopped': true,
  'database.broken': true,
  'database.full': true,
  'database.lost': true,
  'database.notLeader': true,
  'database.noLeader': true,
  'database.noEngine': true,
  'creation.forbidden': true,
  'databases.tooMany': true,
  'names.tooMany': true,
  'quota.exceeded': true,
  'name.invalid': true,
  'name.unknown': true,
  'name.taken': true,
  'name.notYours': true,
  'database.unknown': true,
  'caller.notAuthorized': true,
  'caller.notOperator': true,
  'token.limited': true,
  'token.unknown': true,
  'idempotency.invalid': true,
  'grants.tooMany': true,
  'database.locked': true,
  'program.invalid': true,
  'migration.refused': true,
  'migration.breaksClients': true,
  'migration.invalidToken': true,
  'migration.failed': true,
  'migration.cancelled': true,
  'migration.running': true,
  'init.failed': true,
  'publish.invalid': true,
  'deploy.unknown': true,
  'durability.timeout': true,
  'schedule.unknown': true,
  'static.missing': true,
  'schedule.paused': true,
  'env.missing': true,
  'env.invalid': true,
  'env.needed': true,
  'env.unknown': true,
  'history.off': true,
  'history.invalid': true,
  'history.busy': true,
  'history.future': true,
  'history.other': true,
  'database.reset': true,
  'job.unknown': true,
  'backup.invalid': true,
  'backup.unknownObject': true,
  'restore.conflict': true,
  'jobs.tooMany': true,
  'jobs.tooManyOfOne': true,
  'requests.tooManyOfOne': true,
  'value.tooLong': true,
};

export function isRefusal(json: unknown): json is RefusalBody {
  return (
    areFields(json) &&
    isKeyOf(refusalCodes, json.code) &&
    isString(json.message) &&
    (json.retryAfterSeconds === undefined || isNumber(json.retryAfterSeconds))
  );
}

function isConnected(json: unknown): json is { readonly refusal?: string } {
  return areFields(json) && (json.refusal === undefined || isString(json.refusal));
}

function isResultHead(json: unknown): json is ResultHead {
  if (!areFields(json)) return false;
  const { columns, types, tables = [] } = json;
  if (!Array.isArray(tables) || !tables.every(isString)) return false;
  return Array.isArray(types) && types.every(isType) && areNamedTypes(columns);
}

const scalarKinds: KeysOf<Exclude<AlgebraicType['kind'], 'ref' | 'sum' | 'product' | 'array'>> = {
  ...{ string: true, bool: true },
  ...{ i8: true, i16: true, i32: true, i64: true, i128: true, i256: true },
  ...{ u8: true, u16: true, u32: true, u64: true, u128: true, u256: true },
  ...{ f32: true, f64: true },
};

/** A type that is too deep overflows the stack, which counts as a wrong shape like any error. */
function isType(json: unknown): json is AlgebraicType {
  if (!areFields(json)) return false;
  switch (json.kind) {
    case 'ref':
      return isNumber(json.ref);
    case 'sum':
      return areNamedTypes(json.variants);
    case 'product':
      return areNamedTypes(json.elements);
    case 'array':
      return isType(json.element);
    default:
      return isKeyOf(scalarKinds, json.kind);
  }
}

function areNamedTypes(json: unknown): boolean {
  return Array.isArray(json) && json.every(isNamedType);
}

/** JSON leaves out a name that is `undefined`. */
function isNamedType(json: unknown): boolean {
  return areFields(json) && (json.name === undefined || isString(json.name)) && isType(json.type);
}

function isUpdateHead(json: unknown): json is UpdateHead {
  if (!Array.isArray(json)) return false;
  const [kind, permission, isTrial]: readonly unknown[] = json;
  if (typeof isTrial !== 'boolean') return false;
  return isKeyOf(programKinds, kind) && areFields(permission) && isPermission(permission);
}

const programKinds: KeysOf<ProgramSource['kind']> = { js: true, wasm: true };
const policies: KeysOf<UpdatePermission['policy']> = { compatible: true, breakClients: true };

function isPermission({ policy, token, isRollback = false }: Fields): boolean {
  if (typeof isRollback !== 'boolean') return false;
  return isKeyOf(policies, policy) && (token === undefined || isString(token));
}

type Parameter = readonly [name: string, value: SqlParameter | readonly SqlParameter[]];

function areParameters(json: unknown): json is readonly Parameter[] {
  return Array.isArray(json) && json.every(isParameter);
}

function isParameter(json: unknown): json is Parameter {
  if (!Array.isArray(json)) return false;
  const [name, value]: readonly unknown[] = json;
  return isString(name) && (Array.isArray(value) ? value.every(isScalar) : isScalar(value));
}

function isScalar(json: unknown): json is SqlParameter {
  return isString(json) || typeof json === 'boolean' || json === null;
}

const structuredChecks: {
  readonly [Kind in StructuredReply['kind']]: (reply: Fields) => boolean;
} = {
  updated: ({ description, endsConnections, ended, figures }) =>
    isDescription(description) &&
    typeof endsConnections === 'boolean' &&
    Array.isArray(ended) &&
    ended.every((id) => typeof id === 'bigint') &&
    (figures === undefined || (areFields(figures) && areUpdateFigures(figures))),
  tried: ({ report }) => areFields(report) && isTrialReport(report),
  migrating: ({ progress }) => areFields(progress) && isMigrationProgress(progress),
  previewed: ({ outcome }) => areFields(outcome) && isString(outcome.kind),
  tables: ({ tables }) => Array.isArray(tables),
  watches: ({ watches }) => Array.isArray(watches) && watches.every(isWatch),
  schedules: ({ outcome }) => areFields(outcome) && isScheduleOutcome(outcome),
  snapshot: ({ outcome }) => areFields(outcome) && isSnapshotOutcome(outcome),
  rolled: ({ outcome }) => areFields(outcome) && isRollOutcome(outcome),
  exported: ({ outcome }) => areFields(outcome) && isExportOutcome(outcome),
  imported: ({ outcome }) => areFields(outcome) && isImportOutcome(outcome),
};

/** Rows come in a buffer of their own. */
const exportOutcomes: {
  readonly [Kind in Exclude<ExportOutcome['kind'], 'rows'>]: (outcome: Fields) => boolean;
} = {
  begun: ({ id, position, programHash, tables, types }) =>
    isAmount(id) &&
    [position, programHash].every(isString) &&
    Array.isArray(tables) &&
    tables.every((one) => areFields(one) && isString(one.name) && areNamedTypes(one.columns)) &&
    areFields(types) &&
    Array.isArray(types.types) &&
    types.types.every(isType),
  ended: () => true,
  failed: ({ error }) => isErrorOf(exportErrors, error),
};

const exportErrors: KeysOf<ExportError['code']> = {
  'export.noTable': true,
  'export.noRows': true,
  'export.tooMany': true,
  'export.stopped': true,
  'export.limited': true,
};

function isExportOutcome(outcome: Fields): boolean {
  const { kind } = outcome;
  return isKeyOf(exportOutcomes, kind) && exportOutcomes[kind](outcome);
}

const importOutcomes: {
  readonly [Kind in ImportOutcome['kind']]: (outcome: Fields) => boolean;
} = {
  imported: ({ offset, faults }) =>
    isAmount(offset) && Array.isArray(faults) && faults.every(isImportFault),
  there: ({ offset }) => isAmount(offset),
  stopped: ({ fault }) => isImportFault(fault),
  failed: ({ error }) => isErrorOf(importErrors, error),
};

const importErrors: KeysOf<ImportError['code']> = {
  'import.noTable': true,
  'import.notImportable': true,
  'import.notEmpty': true,
  'import.noKey': true,
  'import.readOnly': true,
  'import.refused': true,
  'import.tooOld': true,
  'import.overBudget': true,
  'schema.changed': true,
  'quota.exceeded': true,
};

function isImportOutcome(outcome: Fields): boolean {
  const { kind } = outcome;
  return isKeyOf(importOutcomes, kind) && importOutcomes[kind](outcome);
}

function isImportFault(fault: unknown): boolean {
  if (!areFields(fault) || !isAmount(fault.row) || !isString(fault.message)) return false;
  return fault.column === null || isString(fault.column);
}

function isErrorOf(codes: object, error: unknown): boolean {
  return areFields(error) && isKeyOf(codes, error.code) && isString(error.message);
}

const scheduleOutcomes: KeysOf<ScheduleOutcome['kind']> = {
  ...{ listed: true, applied: true, unknown: true, paused: true },
};

function isScheduleOutcome({ kind, schedules, names }: Fields): boolean {
  if (!isKeyOf(scheduleOutcomes, kind)) return false;
  if (kind === 'listed') return Array.isArray(schedules) && schedules.every(areFields);
  return kind !== 'applied' || (Array.isArray(names) && names.every(isString));
}

const snapshotOutcomes: {
  readonly [Kind in SnapshotOutcome['kind']]: (outcome: Fields) => boolean;
} = {
  taken: ({ offset, bytes, rowCount, millis }) => [offset, bytes, rowCount, millis].every(isAmount),
  kept: ({ offset }) => isAmount(offset),
  failed: ({ message }) => isString(message),
  cancelled: () => true,
  off: () => true,
};

function isAmount(value: unknown): boolean {
  return isNumber(value) && Number.isFinite(value) && value >= 0;
}

function isSnapshotOutcome(outcome: Fields): boolean {
  const { kind } = outcome;
  return isKeyOf(snapshotOutcomes, kind) && snapshotOutcomes[kind](outcome);
}

/** Only shown. */
function isWatch(json: unknown): boolean {
  if (!areFields(json)) return false;
  const { sql, subscribers, kind, reason = '', evaluations, microsMean, rows = 0 } = json;
  return (
    [sql, kind, reason].every(isString) &&
    [subscribers, evaluations, microsMean, rows].every(isNumber)
  );
}

/** Only shown; its rows are read with the types that they are said to have. */
function areUpdateFigures({ rows, millis, pauseMillis }: Fields): boolean {
  return isAmount(rows) && isNumber(millis) && isNumber(pauseMillis);
}

function isTrialReport({ back, ...forth }: Fields): boolean {
  const { clients, isOnline } = forth;
  const isBack = back === undefined || (areFields(back) && isTrialBack(back));
  return isTriedWay(forth) && isBack && isAmount(clients) && typeof isOnline === 'boolean';
}

function isTriedWay({ tables, conflicts, assertions, sampledTo }: Fields): boolean {
  return [tables, conflicts, assertions].every(Array.isArray) && isNumber(sampledTo);
}

function isTrialBack({ isTried, migrations, changed, ...way }: Fields): boolean {
  const areIds = Array.isArray(migrations) && migrations.every(isString);
  const isCompared = changed === undefined || Array.isArray(changed);
  return isTriedWay(way) && typeof isTried === 'boolean' && areIds && isCompared;
}

function isMigrationProgress({ table, done, total }: Fields): boolean {
  return isString(table) && [done, total].every(isAmount);
}

function isRollOutcome({ kind, place, message }: Fields): boolean {
  if (kind === 'failed') return isString(message);
  if (kind !== 'sealed' || !areFields(place)) return false;
  const { databaseIdentity, epoch, lastMicros, offset, position, segment } = place;
  const areBig = [databaseIdentity, epoch, lastMicros].every((one) => typeof one === 'bigint');
  const areHashes = [place.chainLow, place.chainHigh].every(isNumber);
  return areBig && areHashes && [offset, position, segment].every(isAmount);
}

function isStructuredReply(reply: unknown): reply is StructuredReply {
  if (!areFields(reply) || !isKeyOf(structuredChecks, reply.kind)) return false;
  return structuredChecks[reply.kind](reply);
}

export function isDescription(description: unknown): description is DatabaseDescription {
  if (!areFields(description) || !areFields(description.definition)) return false;
  const { definition, schemaVersion, programHash } = description;
  return (
    isNumber(schemaVersion) &&
    Number.isSafeInteger(schemaVersion) &&
    schemaVersion >= 0 &&
    isString(programHash) &&
    programHash.length === hashDigits &&
    isDefinition(definition, 0)
  );
}

function isDefinition(definition: Fields, depth: number): boolean {
  const { tables, reducers, procedures, views, types, crons, env, typespace } = definition;
  const { submodules } = definition;
  return (
    depth <= limits.nestingDepthMax &&
    areFields(typespace) &&
    [tables, reducers, procedures, views, types, crons, env, typespace.types].every(
      Array.isArray,
    ) &&
    Array.isArray(submodules) &&
    areHandlers(definition.httpHandlers) &&
    areRoutes(definition.httpRoutes) &&
    submodules.every((one) => {
      return areFields(one) && areFields(one.module) && isDefinition(one.module, depth + 1);
    })
  );
}

/** Looked at with each request for a handler, so all of them are checked. */
function areHandlers(handlers: unknown): boolean {
  if (!Array.isArray(handlers)) return false;
  return handlers.every(
    (one) => areFields(one) && isString(one.name) && isKeyOf(handlerAuths, one.auth),
  );
}

const handlerAuths: KeysOf<HandlerAuth> = { none: true, optional: true, required: true };

function areRoutes(routes: unknown): boolean {
  if (!Array.isArray(routes) || routes.length > limits.httpRoutesMax) return false;
  return routes.every(
    (one) =>
      areFields(one) &&
      isString(one.handler) &&
      isString(one.path) &&
      one.path.length <= limits.httpRoutePathLengthMax &&
      (one.method === undefined || isString(one.method)),
  );
}

const hashDigits = 64;

function areFields(json: unknown): json is Fields {
  return typeof json === 'object' && json !== null;
}

function isKeyOf<Table extends object>(table: Table, key: unknown): key is keyof Table {
  return typeof key === 'string' && Object.hasOwn(table, key);
}

function isString(json: unknown): json is string {
  return typeof json === 'string';
}

function isNumber(json: unknown): json is number {
  return typeof json === 'number';
}
