import { rowListCount } from '../../../src/protocol/row-list.ts';
import {
  type ClientMessage,
  encodeClientMessage,
} from '../../../src/protocol/v2/client-message.ts';
import type { ServerMessage } from '../../../src/protocol/v2/server-message.ts';
import { serverMessagesIn } from '../../../src/protocol/v3.ts';
import { bodyOf, SocketClient } from '../socket-client.ts';
import { encoded } from '../socket-guest.ts';

/** Answers that a request may get. */
type Answer = Exclude<
  ServerMessage,
  { readonly kind: 'initialConnection' | 'transactionUpdate' | 'procedureResult' }
>;

/** A client that speaks version 2 of the messages by itself. Many requests may be in flight. */
export class V2Caller {
  readonly #client: SocketClient;
  readonly #waiting = new Map<number, (answer: Answer | Error) => void>();
  #lastRequest = 0;

  private constructor(client: SocketClient) {
    this.#client = client;
    client.socket.on('message', () => {
      for (const frame of client.frames.splice(0)) {
        for (const message of serverMessagesIn(bodyOf(frame))) this.#received(message);
      }
    });
    void client.ended.then(({ code, reason }) => {
      const error = new Error(`the connection ended: ${code} ${reason}`);
      for (const settle of this.#waiting.values()) settle(error);
    });
  }

  static async open(url: string, database: string, token: string): Promise<V2Caller> {
    const headers = { authorization: `Bearer ${token}` };
    const protocols = ['v2.bsatn.spacetimedb'];
    return new V2Caller(await SocketClient.open(url, database, { protocols, headers }));
  }

  /** Resolves when the call is committed and durable. */
  async call(reducer: string, ...args: readonly (number | string)[]): Promise<void> {
    const answer = await this.#ask((requestId) => {
      return { kind: 'callReducer', requestId, reducer, args: encoded(args) };
    });
    if (answer.kind !== 'reducerResult') throw new Error(`${reducer}: ${answer.kind}`);
    const { outcome } = answer;
    if (outcome.kind !== 'ok' && outcome.kind !== 'okEmpty') throw failureOf(reducer, outcome);
  }

  /** Asks once, and gives how many rows the answer has. */
  async countRows(query: string): Promise<number> {
    const answer = await this.#ask((requestId) => ({ kind: 'oneOffQuery', requestId, query }));
    if (answer.kind !== 'oneOffQueryResult') throw new Error(`${query}: ${answer.kind}`);
    const { result } = answer;
    if (result.kind === 'err') throw new Error(`${query}: ${result.error}`);
    return result.tables.reduce((sum, { rows }) => sum + rowListCount(rows), 0);
  }

  /** Resolves with the function that ends it, when the first rows are there. */
  async subscribe(query: string): Promise<() => Promise<void>> {
    let querySetId = 0;
    const answer = await this.#ask((requestId) => {
      querySetId = requestId;
      return { kind: 'subscribe', requestId, querySetId, queries: [query] };
    });
    if (answer.kind !== 'subscribeApplied') throw new Error(`${query}: ${answer.kind}`);
    return async () => {
      const sendDroppedRows = false;
      await this.#ask((requestId) => {
        return { kind: 'unsubscribe', requestId, querySetId, sendDroppedRows };
      });
    };
  }

  async #ask(message: (requestId: number) => ClientMessage): Promise<Answer> {
    this.#lastRequest += 1;
    const requestId = this.#lastRequest;
    const answer = await new Promise<Answer | Error>((resolve) => {
      this.#waiting.set(requestId, resolve);
      this.#client.send(encodeClientMessage(message(requestId)));
    });
    if (answer instanceof Error) throw answer;
    return answer;
  }

  #received(message: ServerMessage): void {
    if (message.kind === 'initialConnection' || message.kind === 'transactionUpdate') return;
    if (message.kind === 'procedureResult' || message.requestId === undefined) {
      throw new Error(`nobody asked for this: ${message.kind}`);
    }
    this.#waiting.get(message.requestId)?.(message);
    this.#waiting.delete(message.requestId);
  }
}

function failureOf(
  reducer: string,
  outcome: Extract<
    Extract<ServerMessage, { kind: 'reducerResult' }>['outcome'],
    { kind: 'err' | 'internalError' }
  >,
): Error {
  // An error of a reducer is a text, after its length.
  const text =
    outcome.kind === 'err'
      ? Buffer.from(outcome.error.subarray(4)).toString('utf8')
      : outcome.message;
  return new Error(`${reducer}: ${text}`);
}
