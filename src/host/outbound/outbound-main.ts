import { parentPort, workerData } from 'node:worker_threads';
import { present, unreachable } from '../../assert.ts';
import { countNicenessFrom, setNiceness } from '../../node/child-priority.ts';
import { systemThreadId } from '../../node/thread-faults.ts';
import { nicenessOf } from '../watching/standing.ts';
import { OutboundHttp } from './outbound-http.ts';
import type { FromOutbound, OutboundStart, ToOutbound } from './outbound-messages.ts';
import { WayRequests } from './way-requests.ts';

/** Sends the HTTP requests of all modules, in a thread of its own: see `outbound-thread.ts`. */
const gateway = present(parentPort, 'this file runs in a worker thread');
const start = workerData as OutboundStart;
countNicenessFrom(start.niceness);
const threadId = systemThreadId();
if (threadId !== 0) setNiceness(threadId, nicenessOf.later);

const post = (message: FromOutbound): void => gateway.postMessage(message);
let { names } = start;
const http = new OutboundHttp({
  rules: start.rules,
  namesOf: (database) => [...names].flatMap(([name, of]) => (of === database ? [name] : [])),
  onRefused: (database, host) => post({ kind: 'refused', database, host }),
  ...(start.nameServers !== undefined && { nameServers: start.nameServers }),
  figures: start.figures,
});
const ways = new Map<number, WayRequests>();

gateway.on('message', (message: ToOutbound) => {
  switch (message.kind) {
    case 'open':
      open(message);
      return;
    case 'replaced':
      ways.get(message.way)?.replaced();
      return;
    case 'close':
      ways.get(message.way)?.close();
      ways.delete(message.way);
      return;
    case 'forget':
      http.forget(message.database);
      return;
    case 'names':
      names = message.names;
      post({ kind: 'done' });
      return;
    case 'askFigures':
      post({ kind: 'figures', figures: http.figures });
      post({ kind: 'done' });
      return;
    default:
      unreachable(message);
  }
});

function open(message: Extract<ToOutbound, { kind: 'open' }>): void {
  const { way, database, port, answers, lanes } = message;
  const broken = (text: string): void => {
    ways.delete(way);
    post({ kind: 'broken', way, message: text });
  };
  ways.set(way, new WayRequests(http, database, { port, answers, lanes, broken }));
}
