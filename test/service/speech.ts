import * as v1 from '../../src/protocol/v1/client-message.ts';
import * as v2 from '../../src/protocol/v2/client-message.ts';
import { encoded } from './socket-guest.ts';

export const versions = ['v3.bsatn', 'v2.bsatn', 'v1.bsatn', 'v1.json'] as const;
export type Version = (typeof versions)[number];

export type Argument = number | string | boolean;

/** The same requests in every version of the messages. */
export interface Speech {
  subscribe(requestId: number, setId: number, queries: readonly string[]): Uint8Array | string;
  unsubscribe(requestId: number, setId: number): Uint8Array | string;
  /** `isQuiet`: the caller wants no word of its success; only version 1 can. */
  call(requestId: number, reducer: string, args: readonly Argument[], isQuiet?: boolean): Said;
  oneOff(requestId: number, query: string): Said;
}

export type Said = Uint8Array | string;

export function speechOf(version: Version): Speech {
  switch (version) {
    case 'v3.bsatn':
    case 'v2.bsatn':
      return v2Speech;
    case 'v1.bsatn':
      return v1Speech;
    case 'v1.json':
      return textSpeech;
  }
}

const v2Speech: Speech = {
  subscribe(requestId, querySetId, queries) {
    return v2.encodeClientMessage({ kind: 'subscribe', requestId, querySetId, queries });
  },
  unsubscribe(requestId, querySetId) {
    const sendDroppedRows = true;
    return v2.encodeClientMessage({ kind: 'unsubscribe', requestId, querySetId, sendDroppedRows });
  },
  call(requestId, reducer, args) {
    const message = { kind: 'callReducer', requestId, reducer, args: encoded(args) } as const;
    return v2.encodeClientMessage(message);
  },
  oneOff: (requestId, query) => v2.encodeClientMessage({ kind: 'oneOffQuery', requestId, query }),
};

const v1Speech: Speech = {
  subscribe(requestId, queryId, queries) {
    return v1.encodeClientMessage({ kind: 'subscribeMulti', requestId, queryId, queries });
  },
  unsubscribe: (requestId, queryId) =>
    v1.encodeClientMessage({ kind: 'unsubscribeMulti', requestId, queryId }),
  call(requestId, reducer, args, isQuiet = false) {
    return v1.encodeClientMessage({
      kind: 'callReducer',
      requestId,
      reducer,
      args: encoded(args),
      notifySuccess: !isQuiet,
    });
  },
  oneOff(requestId, query) {
    const messageId = Uint8Array.of(requestId, requestId >> 8, requestId >> 16, 0);
    return v1.encodeClientMessage({ kind: 'oneOffQuery', messageId, query });
  },
};

const textSpeech: Speech = {
  subscribe(request_id, id, query_strings) {
    return JSON.stringify({ SubscribeMulti: { query_strings, request_id, query_id: { id } } });
  },
  unsubscribe: (request_id, id) =>
    JSON.stringify({ UnsubscribeMulti: { request_id, query_id: { id } } }),
  call(request_id, reducer, args, isQuiet = false) {
    const flags = isQuiet ? 1 : 0;
    const call = { reducer, args: JSON.stringify(args), request_id, flags };
    return JSON.stringify({ CallReducer: call });
  },
  oneOff(requestId, query_string) {
    const message_id = requestId.toString(16).padStart(8, '0');
    return JSON.stringify({ OneOffQuery: { message_id, query_string } });
  },
};
