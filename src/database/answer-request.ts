import { assert, unreachable } from '../assert.ts';
import type { ConnectionNumber } from '../values/connection-number.ts';
import { OutdatedUse, useFunction } from './broken-clients.ts';
import { endConnection, openConnection } from './connections.ts';
import { type DatabaseCore, requireSpace } from './core.ts';
import type { PausedRows } from './live/paused-rows.ts';
import { resume } from './live/resume.ts';
import { answerOnce, subscribe, unsubscribe } from './live/subscribe.ts';
import type { LongReads } from './long-reads.ts';
import type { Updates } from './migrations/updates.ts';
import { connectionClosedText, type SqlRequest } from './outcome.ts';
import { runPreview } from './preview.ts';
import type { RunningProcedures } from './procedures/running-procedures.ts';
import type { ProgramHash } from './program-hash.ts';
import { refusedReply } from './refused-reply.ts';
import { runCall } from './run-call.ts';
import { runQuery } from './run-query.ts';
import { answerAsk } from './schedules/answer-ask.ts';
import type { Snapshots } from './snapshots/snapshots.ts';
import { tableFigures } from './table-figures.ts';
import type { Ticket } from './ticket.ts';
import type { Exports } from './transfer/exports.ts';
import { runImport } from './transfer/run-import.ts';
import type { DatabaseReply, DatabaseRequest, TicketedRequest, TurnResult } from './turn.ts';
import { watchFigures } from './watch-figures.ts';

/** The parts of the actor that requests act on. */
export interface Answering {
  readonly core: DatabaseCore;
  readonly hash: ProgramHash;
  readonly longReads: LongReads;
  readonly procedures: RunningProcedures;
  readonly snapshots: Snapshots;
  readonly updates: Pick<Updates, 'cancel'>;
  /** Has the log sealed behind this turn. */
  readonly roll: (ticket: Ticket) => void;
  readonly exports: Exports;
  /** Called before work for another ticket continues, once `resultsBefore` results exist. */
  readonly begin: (ticket: Ticket, resultsBefore: number) => void;
}

/**
 * Runs one request, which is not an update. `undefined` for one that is answered in a later turn.
 * Requests that write are rejected while the disk is full.
 */
export function answerRequest(
  parts: Answering,
  work: TicketedRequest,
  results: TurnResult[],
): DatabaseReply | undefined {
  try {
    return answer(parts, work, results);
  } catch (error) {
    if (error instanceof OutdatedUse) return outdated(parts, work, results);
    if (parts.core.full === undefined) throw error;
    return refusedReply(error);
  }
}

/** Ends the connection of a request that uses what has changed since it was opened. */
function outdated(
  parts: Answering,
  { ticket, request, acceptedMicros }: TicketedRequest,
  results: TurnResult[],
): DatabaseReply {
  const connectionId = connectionOf(request);
  assert(connectionId !== undefined, 'only an open connection can be outdated');
  leave(parts, ticket, connectionId, results);
  endConnection(parts.core, connectionId, acceptedMicros);
  return { kind: 'outdated' };
}

function connectionOf(request: DatabaseRequest): ConnectionNumber | undefined {
  switch (request.kind) {
    case 'call':
      return request.call.connection.id;
    case 'procedure':
      return request.procedure.connection.id;
    case 'subscribe':
    case 'resume':
    case 'oneOff':
      return request.connection.connectionId;
    default:
      return undefined;
  }
}

/** What runs for a connection that ends is cancelled. */
function leave(
  parts: Answering,
  ticket: Ticket,
  connectionId: ConnectionNumber,
  results: TurnResult[],
): void {
  parts.procedures.cancelOf(connectionId);
  cancelReads(parts, ticket, connectionId, results);
}

function answer(
  parts: Answering,
  { ticket, request, acceptedMicros }: TicketedRequest,
  results: TurnResult[],
): DatabaseReply | undefined {
  const { core, hash, procedures, snapshots } = parts;
  switch (request.kind) {
    case 'call':
      useFunction(core, request.call.connection, request.call.reducer);
      return { kind: 'called', outcome: runCall(core, request.call, acceptedMicros) };
    case 'procedure':
      useFunction(core, request.procedure.connection, request.procedure.procedure);
      return procedures.start(ticket, request.procedure, acceptedMicros);
    case 'handler':
      return procedures.startHandler(ticket, request.handler, acceptedMicros);
    case 'cancel':
      procedures.cancel(request.of, request.why);
      snapshots.cancel(request.of);
      results.push(...parts.updates.cancel(request.of));
      return { kind: 'cancelled' };
    case 'query':
      return query(parts, ticket, request.query, acceptedMicros);
    case 'preview': {
      const outcome = runPreview({ core, hash, request: request.preview, acceptedMicros });
      return { kind: 'previewed', outcome };
    }
    case 'tables':
      return { kind: 'tables', tables: tableFigures(core, request.caller) };
    case 'watches':
      return { kind: 'watches', watches: watchFigures(core.live.queries) };
    case 'schedules':
      return { kind: 'schedules', outcome: answerAsk(core, request) };
    case 'snapshot':
      requireSpace(core);
      return snapshots.request(ticket);
    case 'roll':
      requireSpace(core);
      parts.roll(ticket);
      return undefined;
    case 'export':
      return parts.exports.answer(ticket, request.caller, request.ask);
    case 'import':
      return { kind: 'imported', outcome: runImport(core, request.batch, acceptedMicros) };
    case 'connect':
      return openConnection(core, request, acceptedMicros);
    case 'disconnect':
      leave(parts, ticket, request.connectionId, results);
      return endConnection(core, request.connectionId, acceptedMicros);
    case 'subscribe': {
      const outcome = subscribe(core, request, acceptedMicros);
      if (outcome.kind === 'paused') return readOn(parts, ticket, outcome);
      return { kind: 'subscribed', outcome };
    }
    case 'resume':
      return { kind: 'resumed', outcome: resume(core, request) };
    case 'unsubscribe': {
      const outcome = unsubscribe(core, request, acceptedMicros);
      if (outcome.kind === 'paused') return readOn(parts, ticket, outcome);
      return { kind: 'unsubscribed', outcome };
    }
    case 'oneOff': {
      const outcome = answerOnce(core, request, acceptedMicros);
      if (outcome.kind === 'paused') return readOn(parts, ticket, outcome);
      return { kind: 'oneOff', outcome };
    }
    case 'program':
      return { kind: 'program', program: core.program.source };
    case 'update':
      throw new Error('an update is not queued as a request');
    default:
      return unreachable(request);
  }
}

function query(
  { core, longReads }: Answering,
  ticket: Ticket,
  asked: SqlRequest,
  acceptedMicros: bigint,
): DatabaseReply | undefined {
  const begun = runQuery(core, asked, acceptedMicros);
  if (begun.kind === 'paused') return longReads.addStatement(ticket, begun);
  return { kind: 'queried', outcome: begun };
}

function readOn({ longReads }: Answering, ticket: Ticket, rows: PausedRows): DatabaseReply {
  longReads.add(ticket, rows);
  return { kind: 'reading', queries: rows.queries };
}

function cancelReads(
  { longReads, begin }: Answering,
  ticket: Ticket,
  connectionId: ConnectionNumber,
  results: TurnResult[],
): void {
  const cancelled = longReads.cancelOf(connectionId, connectionClosedText);
  if (cancelled.length === 0) return;
  results.push(...cancelled);
  begin(ticket, results.length);
}
