import { RawSocket } from '../../../bench/load/raw-socket.ts';
import { rowListCount } from '../../../src/protocol/row-list.ts';
import { encodeClientMessage } from '../../../src/protocol/v2/client-message.ts';
import type { ServerMessage } from '../../../src/protocol/v2/server-message.ts';
import { serverMessagesIn } from '../../../src/protocol/v3.ts';

/** Stays subscribed to the items of a zone, in version 3, and counts their changes. */
export class ZoneWatcher {
  readonly zone: number;
  /** Changed items of its zone since its first rows. */
  count = 0;
  failure: string | undefined;
  readonly #socket: RawSocket;

  private constructor(socket: RawSocket, zone: number) {
    this.#socket = socket;
    this.zone = zone;
  }

  static async open(port: number, database: string, zone: number): Promise<ZoneWatcher> {
    const watcher = new ZoneWatcher(await RawSocket.open(port, database), zone);
    await watcher.#subscribe();
    return watcher;
  }

  #subscribe(): Promise<void> {
    return new Promise((resolve, reject) => {
      const frame = (payload: Buffer): void => {
        for (const message of serverMessagesIn(payload.subarray(1))) {
          if (message.kind === 'subscribeApplied') resolve();
          this.#received(message);
        }
      };
      this.#socket.listen({ frame }, (reason) => {
        this.failure = reason;
        reject(new Error(reason));
      });
      const queries = [`SELECT * FROM item WHERE zone = ${this.zone}`];
      const message = { kind: 'subscribe', requestId: 1, querySetId: 1, queries } as const;
      this.#socket.send(encodeClientMessage(message));
    });
  }

  #received(message: ServerMessage): void {
    if (message.kind === 'subscriptionError') this.failure = message.error;
    if (message.kind !== 'transactionUpdate') return;
    for (const { tables } of message.querySets) {
      for (const { changes } of tables) {
        for (const change of changes) {
          if (change.kind === 'persistent') this.count += rowListCount(change.inserts);
        }
      }
    }
  }
}
