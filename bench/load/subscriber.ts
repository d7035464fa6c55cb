/** A client that subscribes to much. */
import { rowListCount } from '../../src/protocol/row-list.ts';
import { encodeClientMessage } from '../../src/protocol/v2/client-message.ts';
import { serverMessagesIn } from '../../src/protocol/v3.ts';
import { obey } from './load-process.ts';
import { RawSocket } from './raw-socket.ts';

const skills = {
  /** Connects, subscribes to one query, and leaves when its rows are there. */
  async firstRows({ port, database, text }: FirstRows): Promise<Fetched> {
    const socket = await RawSocket.open(port, database);
    const requestId = 1;
    const queries = [text];
    const started = performance.now();
    socket.send(encodeClientMessage({ kind: 'subscribe', requestId, querySetId: 1, queries }));
    const rowCount = await new Promise<number>((resolve, reject) => {
      const frame = (payload: Buffer): void => {
        for (const message of serverMessagesIn(payload.subarray(1))) {
          if (message.kind === 'subscriptionError') reject(new Error(message.error));
          if (message.kind !== 'subscribeApplied') continue;
          resolve(message.tables.reduce((sum, { rows }) => sum + rowListCount(rows), 0));
        }
      };
      socket.listen({ frame }, (reason) => reject(new Error(reason)));
    });
    const seconds = (performance.now() - started) / 1000;
    socket.end();
    return { rowCount, byteCount: socket.bytesRead, seconds };
  },
};

export type Subscriber = typeof skills;

export interface FirstRows {
  readonly port: number;
  readonly database: string;
  readonly text: string;
}

export interface Fetched {
  readonly rowCount: number;
  readonly byteCount: number;
  readonly seconds: number;
}

obey(skills);
