import { expect, it } from 'vitest';
import type { Stay } from '../doors/stay.ts';
import type { LiveConnection } from '../host/feeds/live-connection.ts';
import { Backlog } from './backlog.ts';
import { Connection, type ConnectionParts } from './connection.ts';
import type { MessageCodec } from './message-codec.ts';
import { restartOf } from './partings.ts';
import type { SendQueue } from './send-queue.ts';
import type { Socket } from './socket.ts';
import { completeSocketLimits } from './socket-limits.ts';

/** Creates a connection whose database has answered a call that is not durable yet. */
function held(isInCluster = false) {
  const log: string[] = [];
  const live = { unanswered: 0, heldCount: 1, close: () => log.push('left') };
  const reasons: string[] = [];
  const socket = {
    close: (code: number, reason: string) => {
      log.push(`closed ${code}`);
      reasons.push(reason);
    },
  };
  const codec = { encode: () => ({ messages: ['answer'], requests: [] }) };
  const queue = {
    messageCount: 0,
    push: (message: string) => {
      log.push(message);
      queue.messageCount += 1;
      return true;
    },
    flush: () => {
      queue.messageCount = 0;
      return 1;
    },
    abandon: () => undefined,
  };
  const owner = {
    backlog: new Backlog(1_000),
    traffic: { messagesIn: 0, bytesIn: 0, messagesOut: 0, framesOut: 0, bytesOut: 0, dropped: 0 },
    hasMessages: () => undefined,
    relieve: () => undefined,
    gone: () => log.push('gone'),
    failed: (error: unknown) => log.push(String(error)),
  };
  const parts: ConnectionParts = {
    socket: socket as unknown as Socket,
    live: live as unknown as LiveConnection,
    client: {} as unknown as ConnectionParts['client'],
    codec: codec as unknown as MessageCodec,
    queue: queue as unknown as SendQueue,
    stay: { isOver: false } as unknown as Stay,
    pace: () => 0,
    limits: completeSocketLimits({}),
    owner,
    isInCluster,
  };
  return { log, reasons, live, connection: new Connection(parts, 0) };
}

const later = () => performance.now() + 60_000;

it('[cli 8] a stop waits for answers that are held until they are durable', () => {
  const { log, live, connection } = held();
  connection.finish(later());
  connection.tick(performance.now());
  expect(log).toEqual([]);
  live.heldCount = 0;
  connection.deliver([]);
  connection.flush();
  expect(log).toEqual(['answer', 'closed 1001', 'left']);
});

it('[cli 8] a stop does not wait longer than it may', () => {
  const { log, connection } = held();
  connection.finish(performance.now() - 1);
  connection.tick(performance.now());
  expect(log).toEqual(['closed 1001', 'left']);
});

it.each([
  ['database', (connection: Connection) => connection.ended('database')],
  ['host', (connection: Connection) => connection.finish(performance.now() - 1)],
  ['cluster', (connection: Connection) => connection.leave()],
] as const)('[replication 11.8] a host of a cluster closes with a reason: %s', (cause, end) => {
  const { reasons, connection } = held(true);
  end(connection);
  connection.tick(performance.now());
  expect(reasons).toEqual([restartOf(cause).reason]);
});
