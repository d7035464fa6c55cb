import { AssertionError, unreachable } from '../assert.ts';
import { querySetId } from '../database/live/set-id.ts';
import type { CallOutcome, ProcedureOutcome } from '../database/outcome.ts';
import { callErrorText, procedureErrorText } from '../doors/call-error-text.ts';
import type {
  CalledEvent,
  LiveEvent,
  LiveRequest,
  SetUpdate,
  UpdatedEvent,
} from '../host/feeds/live-connection.ts';
import { limits } from '../limits.ts';
import type { QueryRows } from '../live/live-update.ts';
import { type EncodedRows, encodedBy } from '../protocol/message-parts.ts';
import { type ClientMessage, decodeClientMessage } from '../protocol/v2/client-message.ts';
import {
  encodeServerMessage,
  type ReducerOutcome,
  writeServerMessage,
} from '../protocol/v2/server-message.ts';
import { clientMessagesIn } from '../protocol/v3.ts';
import { DecodeError } from '../values/binary-reader.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { EncodedMessage } from './encoded-message.ts';
import type { Encoded, MessageCodec, Person } from './message-codec.ts';
import { encodedMessage, type PlainMessage } from './v2-rows.ts';
import { endOfUpdates, querySetOf, updateMessage, updateMessages } from './v2-updates.ts';

/** Versions 2 and 3, whose messages are the same. */
export class V2 implements MessageCodec {
  readonly keptCount = 0;
  readonly #version: 'v2' | 'v3';
  readonly #person: Person;

  constructor(version: 'v2' | 'v3', person: Person) {
    this.#version = version;
    this.#person = person;
  }

  *decode(bytes: Uint8Array, isBinary: boolean): Generator<LiveRequest, void, void> {
    if (!isBinary) {
      throw new DecodeError(`${this.#version} websocket does not support text messages`);
    }
    if (this.#version === 'v2') {
      yield requestOf(decodeClientMessage(bytes));
      return;
    }
    for (const message of clientMessagesIn(bytes)) yield requestOf(message);
  }

  encode(events: readonly LiveEvent[]): Encoded<EncodedMessage> {
    const messages: EncodedMessage[] = [];
    for (let at = 0; at < events.length; ) {
      const doneEnd = this.#version === 'v3' ? endOfDone(events, at) : at;
      const updatesEnd = this.#version === 'v3' ? endOfUpdates(events, at) : at;
      if (doneEnd > at) messages.push(doneMessages(events, at, doneEnd));
      else if (updatesEnd > at) messages.push(updateMessages(events, at, updatesEnd));
      else messages.push(this.messageOf(events[at] as LiveEvent));
      at = Math.max(doneEnd, updatesEnd, at + 1);
    }
    return { messages, requests: none };
  }

  /** The message of one event. */
  messageOf(event: LiveEvent): EncodedMessage {
    if (event.kind === 'updated') return updateMessage(event);
    if (event.kind === 'called') return resultMessage(event);
    return encodedMessage(this.#plainOf(event));
  }

  #plainOf(event: Exclude<LiveEvent, UpdatedEvent | CalledEvent>): PlainMessage {
    switch (event.kind) {
      case 'resumed':
        throw new AssertionError('only our own subprotocol has requests to resume');
      case 'connected':
        return { kind: 'initialConnection', ...this.#person };
      case 'subscribed': {
        const { requestId, setId: querySetId } = event.request;
        if (event.outcome.kind === 'refused') {
          const { error } = event.outcome;
          return { kind: 'subscriptionError', requestId, querySetId, error };
        }
        const tables = rowsByTable(event.outcome.queries);
        return { kind: 'subscribeApplied', requestId, querySetId, tables };
      }
      case 'unsubscribed': {
        const { requestId, setId: querySetId } = event.request;
        if (event.outcome.kind === 'refused') {
          const { error } = event.outcome;
          return { kind: 'subscriptionError', requestId, querySetId, error };
        }
        const { queries } = event.outcome;
        const tables = queries === undefined ? undefined : rowsByTable(queries);
        return { kind: 'unsubscribeApplied', requestId, querySetId, tables };
      }
      case 'setFailed': {
        const { setId: querySetId, error } = event;
        return { kind: 'subscriptionError', requestId: undefined, querySetId, error };
      }
      case 'oneOff': {
        const { requestId } = event.request;
        if (event.outcome.kind === 'failed') return failedQuery(requestId, event.outcome.error);
        const { table, rows } = event.outcome;
        const result = { kind: 'ok', tables: [{ table, rows }] } as const;
        return { kind: 'oneOffQueryResult', requestId, result };
      }
      case 'procedure':
        return procedureMessage(event.request.requestId, event.outcome);
      case 'refused':
        return refusedMessage(event.request, event.body.message);
      default:
        return unreachable(event);
    }
  }
}

const none: readonly LiveRequest[] = [];

/** A request that all versions have. */
export function requestOf(message: ClientMessage): LiveRequest {
  const { requestId } = message;
  switch (message.kind) {
    case 'subscribe': {
      const setId = querySetId(message.querySetId);
      const { queries } = message;
      return { kind: 'subscribe', requestId, setId, queries, knowsEvents: true };
    }
    case 'unsubscribe': {
      const setId = querySetId(message.querySetId);
      const { sendDroppedRows: withRows } = message;
      return { kind: 'unsubscribe', requestId, setId, withRows };
    }
    case 'oneOffQuery':
      return { kind: 'oneOff', requestId, sql: message.query };
    case 'callReducer': {
      const { reducer, args } = message;
      return { kind: 'call', requestId, reducer, args, schemaVersion: undefined, isCaller: true };
    }
    case 'callProcedure': {
      const { procedure, args } = message;
      return { kind: 'procedure', requestId, procedure, args, schemaVersion: undefined };
    }
    default:
      return unreachable(message);
  }
}

function rowsByTable(queries: readonly QueryRows[]) {
  return queries.flatMap(({ table, fragments }) => fragments.map((rows) => ({ table, rows })));
}

/** Returns the end of the run of calls from `start` that report only success. */
export function endOfDone(events: readonly LiveEvent[], start: number): number {
  const last = Math.min(events.length, start + limits.serverFrameMessagesMax);
  let end = start;
  while (end < last && isDone(events[end] as LiveEvent)) end += 1;
  return end;
}

function isDone(event: LiveEvent): boolean {
  if (event.kind !== 'called' || event.sets.length > 0) return false;
  return event.outcome.kind === 'committed' && event.outcome.value === undefined;
}

/** Encodes these in one pass, without an object each: most messages of a busy connection. */
export function doneMessages(
  events: readonly LiveEvent[],
  start: number,
  end: number,
): EncodedMessage {
  const bytes = encodedBy((writer) => {
    for (let at = start; at < end; at += 1) {
      const { request, timestampMicros } = events[at] as CalledEvent;
      const { requestId } = request;
      const timestamp = timestampMicros;
      writeServerMessage(writer, { kind: 'reducerResult', requestId, timestamp, outcome: done });
    }
  });
  return EncodedMessage.several(bytes, end - start);
}

const noBytes = new Uint8Array(0);
const done = { kind: 'ok', returned: noBytes, querySets: [] } as const;

function resultMessage({ request, timestampMicros, outcome, sets }: CalledEvent): EncodedMessage {
  const message: PlainMessage = {
    kind: 'reducerResult',
    requestId: request.requestId,
    timestamp: timestampMicros,
    outcome: outcomeOf(outcome, sets),
  };
  return new EncodedMessage(encodeServerMessage(message));
}

function outcomeOf(outcome: CallOutcome, sets: readonly SetUpdate[]): ReducerOutcome<EncodedRows> {
  if (outcome.kind === 'committed') {
    const returned = outcome.value ?? noBytes;
    return { kind: 'ok', returned, querySets: sets.map(querySetOf) };
  }
  const { error } = outcome;
  if (error.code === 'reducer.refused') return { kind: 'err', error: encodedText(error.message) };
  if (error.code === 'reducer.refusedWithValue') return { kind: 'err', error: error.value };
  return { kind: 'internalError', message: callErrorText(error) };
}

function refusedMessage(request: LiveRequest, message: string): PlainMessage {
  const { requestId } = request;
  switch (request.kind) {
    case 'call': {
      const outcome = { kind: 'internalError', message } as const;
      return { kind: 'reducerResult', requestId, timestamp: nowMicros(), outcome };
    }
    case 'subscribe':
    case 'unsubscribe': {
      const querySetId = request.setId;
      return { kind: 'subscriptionError', requestId, querySetId, error: message };
    }
    case 'resume':
      throw new AssertionError('only our own subprotocol has requests to resume');
    case 'oneOff':
      return failedQuery(requestId, message);
    case 'procedure':
      return failedProcedure(requestId, message);
    default:
      return unreachable(request);
  }
}

function failedQuery(requestId: number, error: string): PlainMessage {
  return { kind: 'oneOffQueryResult', requestId, result: { kind: 'err', error } };
}

function procedureMessage(requestId: number, outcome: ProcedureOutcome): PlainMessage {
  if (outcome.kind === 'failed') {
    return failedProcedure(requestId, procedureErrorText(outcome.error));
  }
  const { value, timestampMicros: timestamp, micros } = outcome;
  const status = { kind: 'returned', value } as const;
  const durationMicros = BigInt(micros);
  return { kind: 'procedureResult', status, timestamp, durationMicros, requestId };
}

function failedProcedure(requestId: number, message: string): PlainMessage {
  const status = { kind: 'internalError', message } as const;
  return { kind: 'procedureResult', status, timestamp: 0n, durationMicros: 0n, requestId };
}

function encodedText(text: string): Uint8Array {
  const writer = new BinaryWriter(text.length + 8);
  writer.string(text);
  return writer.finish();
}

function nowMicros(): bigint {
  return BigInt(Date.now()) * 1000n;
}
