import type { Caller, Committed, SqlError, SqlRequest } from '../../database/outcome.ts';
import { askingOf, type PreviewRequest } from '../../database/preview-outcome.ts';
import { areLimited } from '../../database/rights.ts';
import type { DatabaseReply, DatabaseRequest } from '../../database/turn.ts';
import { doneResult, type LedgerAction } from './ledger-entry.ts';

/** The caller, as requests name it. */
export type ActivityCaller = Pick<Caller, 'identity' | 'rights' | 'jwtPayload'>;

/** Something that a caller did, or that it was refused. Cheap to make: every call makes one. */
export interface Activity {
  readonly micros: bigint;
  readonly caller: ActivityCaller;
  readonly action: LedgerAction;
  /** A statement is still as the caller wrote it. */
  readonly subject: string;
  readonly result: string;
  readonly rows: number | undefined;
  readonly offset: number | undefined;
  /** How long it ran; `undefined`: nothing ran. */
  readonly durationMillis: number | undefined;
}

/** Receives what happens in one database. */
export interface ActivitySink {
  did(activity: Activity): void;
  /** A limited token has read these tables. */
  read(caller: ActivityCaller, tables: readonly string[], micros: bigint): void;
}

/** A request, and when it was accepted. */
export interface Asked {
  readonly request: DatabaseRequest;
  readonly acceptedMicros: bigint;
}

interface Answered extends Asked {
  readonly reply: Answer;
}

/** `ended`: its database ended with it. */
export type Answer = DatabaseReply | { readonly kind: 'ended'; readonly code: string };

/** Notes an answer, if it is one of those that the ledger keeps. */
export function noteAnswer(sink: ActivitySink, asked: Asked, reply: Answer): void {
  const { request, acceptedMicros } = asked;
  const answered = { request, acceptedMicros, reply };
  switch (request.kind) {
    case 'call':
      noteCall(sink, answered, request.call.caller, request.call.reducer);
      return;
    case 'procedure':
      noteProcedure(sink, answered, request.procedure.caller, request.procedure.procedure);
      return;
    case 'handler':
      noteProcedure(sink, answered, request.handler.caller, request.handler.handler);
      return;
    case 'query':
      noteQuery(sink, answered, request.query);
      return;
    case 'preview':
      noteApplied(sink, answered, request.preview);
      return;
    case 'import':
      noteImport(sink, answered, request.batch.caller, request.batch.table);
      return;
    case 'export':
      if (reply.kind !== 'exported' || reply.outcome.kind !== 'begun') return;
      noteRead(sink, answered, request.caller, reply.outcome.tables.map(nameOf));
      return;
    case 'subscribe':
      noteSubscribe(sink, answered, request.connection.caller, request.subscribe.queries);
      return;
    case 'oneOff':
      noteOneOff(sink, answered, request.connection.caller, request.oneOff.sql);
      return;
    case 'connect':
      if (reply.kind !== 'connected' || reply.refusal === undefined) return;
      note(sink, answered, request.caller, ['connect', '', 'connection.refused']);
      return;
    default:
  }
}

type Words = readonly [action: LedgerAction, subject: string, result: string];

function note(
  sink: ActivitySink,
  { acceptedMicros: micros, reply }: Answered,
  caller: ActivityCaller,
  [action, subject, result]: Words,
  committed?: Partial<Committed>,
): void {
  sink.did({
    ...{ micros, caller, action, subject, result },
    rows: committed?.rows,
    offset: committed?.offset,
    durationMillis: durationOf(reply),
  });
}

function noteRead(
  sink: ActivitySink,
  { acceptedMicros }: Answered,
  caller: ActivityCaller,
  tables: readonly string[],
): void {
  if (tables.length > 0 && areLimited(caller.rights)) sink.read(caller, tables, acceptedMicros);
}

function noteCall(
  sink: ActivitySink,
  { acceptedMicros: micros, reply }: Answered,
  caller: ActivityCaller,
  subject: string,
): void {
  const action = 'call';
  if (reply.kind === 'called' && reply.outcome.kind === 'committed') {
    const { rows, offset, micros: ran } = reply.outcome;
    const durationMillis = ran / 1_000;
    const result = doneResult;
    sink.did({ micros, caller, action, subject, result, rows, offset, durationMillis });
    return;
  }
  const result = codeOf(reply);
  // It is made again, for the program that serves now.
  if (result === undefined || result === 'schema.changed') return;
  const durationMillis = durationOf(reply);
  const nothing = { rows: undefined, offset: undefined };
  sink.did({ micros, caller, action, subject, result, ...nothing, durationMillis });
}

function noteProcedure(
  sink: ActivitySink,
  answered: Answered,
  caller: ActivityCaller,
  subject: string,
): void {
  const { request, reply } = answered;
  const action = request.kind === 'handler' ? 'handler' : 'procedure';
  const result = codeOf(reply) ?? doneResult;
  if (result === 'schema.changed') return;
  const isRun = reply.kind === 'procedure' || reply.kind === 'handler';
  const committed = isRun ? reply.outcome.committed : undefined;
  note(sink, answered, caller, [action, subject, result], committed);
}

function noteQuery(sink: ActivitySink, answered: Answered, { caller, sql }: SqlRequest): void {
  const { reply } = answered;
  if (reply.kind === 'queried' && reply.outcome.kind === 'result') {
    const { inserted, deleted, updated, offset, tables } = reply.outcome;
    if (tables !== undefined) {
      noteRead(sink, answered, caller, tables);
      return;
    }
    const rows = inserted + deleted + 2 * updated;
    if (rows === 0 && !looksLikeWrite(sql)) return;
    note(sink, answered, caller, ['sql', sql, doneResult], { rows, offset });
    return;
  }
  const code = codeOf(reply);
  if (code === undefined) return;
  if (looksLikeWrite(sql) || isRefused(code)) note(sink, answered, caller, ['sql', sql, code]);
}

/** Of previews, only what they apply has an effect. */
function noteApplied(
  sink: ActivitySink,
  answered: Answered,
  { work, apply }: PreviewRequest,
): void {
  const { reply } = answered;
  if (reply.kind !== 'previewed') return;
  const { caller } = askingOf(work);
  const words = (result: string): Words =>
    work.kind === 'call' ? ['call', work.call.reducer, result] : ['sql', work.query.sql, result];
  const { outcome } = reply;
  if (outcome.kind === 'refused') note(sink, answered, caller, words('preview.refused'));
  if (apply === undefined || outcome.kind !== 'applied') return;
  const counts = outcome.preview.changes.map((table) => table.insertCount + table.deleteCount);
  const rows = counts.reduce((sum, count) => sum + count, 0);
  note(sink, answered, caller, words(doneResult), { rows, offset: outcome.offset });
}

function noteImport(
  sink: ActivitySink,
  answered: Answered,
  caller: ActivityCaller,
  table: string,
): void {
  const { request, reply } = answered;
  if (request.kind !== 'import') return;
  if (reply.kind === 'imported' && reply.outcome.kind === 'imported') {
    const { offset, faults } = reply.outcome;
    const rows = request.batch.count - faults.length;
    note(sink, answered, caller, ['import', table, doneResult], { rows, offset });
    return;
  }
  const code = codeOf(reply);
  if (code !== undefined) note(sink, answered, caller, ['import', table, code]);
}

function noteSubscribe(
  sink: ActivitySink,
  answered: Answered,
  caller: ActivityCaller,
  queries: readonly string[],
): void {
  const { reply } = answered;
  if (reply.kind !== 'subscribed') return;
  if (reply.outcome.kind === 'applied') {
    if (!areLimited(caller.rights)) return;
    const tables = new Set(reply.outcome.queries.flatMap(({ reads = [] }) => reads));
    noteRead(sink, answered, caller, [...tables]);
    return;
  }
  note(sink, answered, caller, ['subscribe', queries.join('; '), 'subscription.refused']);
}

function noteOneOff(
  sink: ActivitySink,
  answered: Answered,
  caller: ActivityCaller,
  sql: string,
): void {
  const { reply } = answered;
  if (reply.kind !== 'oneOff') return;
  if (reply.outcome.kind === 'rows') noteRead(sink, answered, caller, reply.outcome.reads ?? []);
  else note(sink, answered, caller, ['sql', sql, 'query.refused']);
}

/** How long the request ran, in milliseconds; `undefined`: nothing ran. */
function durationOf(reply: Answer): number | undefined {
  switch (reply.kind) {
    case 'called':
    case 'procedure':
    case 'handler':
    case 'queried':
    case 'previewed':
      return reply.outcome.micros / 1_000;
    default:
      return undefined;
  }
}

/** Why a request has failed; `undefined`: it has not. */
function codeOf(reply: Answer): string | undefined {
  switch (reply.kind) {
    case 'ended':
      return reply.code;
    case 'refused':
      return reply.body.code;
    case 'called':
    case 'procedure':
    case 'handler':
    case 'queried':
    case 'imported':
      return 'error' in reply.outcome ? reply.outcome.error.code : undefined;
    default:
      return undefined;
  }
}

/** Codes of reads that the rights of the caller did not allow, as far as anyone can tell. */
const refusedReads: readonly string[] = [
  'sql.notAuthorized',
  'sql.noTable',
  'connection.refused',
] satisfies readonly SqlError['code'][];

function isRefused(code: string): boolean {
  return refusedReads.includes(code);
}

/** The counts of a statement say what it wrote; its words, what it meant to. */
function looksLikeWrite(sql: string): boolean {
  return /^\s*(?:insert|update|delete|set)\b/i.test(sql);
}

function nameOf({ name }: { readonly name: string }): string {
  return name;
}
