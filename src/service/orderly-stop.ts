import { setMaxListeners } from 'node:events';
import type { Host } from '../host/host.ts';
import { limits } from '../limits.ts';
import type { WebSocketDoor } from '../websocket/door.ts';
import type { ClusterHost } from './cluster-host.ts';
import type { ServiceLog } from './service-log.ts';
import type { ServerEnd } from './stop-service.ts';

export interface StoppedParts {
  readonly log: ServiceLog;
  readonly cluster: Pick<ClusterHost, 'drain'> | undefined;
  readonly sockets: WebSocketDoor;
  readonly host: Host;
  readonly end: ServerEnd;
  /** What ends the parts, in the order in which they were built. */
  readonly releases: (() => Promise<void> | void)[];
}

/** How a service stops: first what it leads goes to other hosts, then its doors close. */
export class OrderlyStop {
  readonly #stopping = new AbortController();
  #stopsAt: number | undefined;

  constructor() {
    // Each request that follows a log adds a listener; there may be many.
    setMaxListeners(0, this.#stopping.signal);
  }

  /** Aborted when no new requests are taken. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Time until the end; `undefined` before the stop has begun. */
  get millisLeft(): number | undefined {
    return this.#stopsAt === undefined ? undefined : Math.max(0, this.#stopsAt - performance.now());
  }

  async run({ log, cluster, sockets, host, end, releases }: StoppedParts): Promise<void> {
    log.report({ level: 'info', message: 'stopping' });
    const drainsUntil = performance.now() + limits.drainMillisMax;
    const isEngineThere = (await cluster?.drain(limits.drainMillisMax)) ?? true;
    if (cluster !== undefined && isEngineThere) {
      await sockets.untilDrained(drainsUntil - performance.now());
    }
    const millisMax = isEngineThere ? limits.shutdownMillisMax : limits.stopWithoutEngineMillis;
    this.#stopping.abort();
    this.#stopsAt = performance.now() + millisMax;
    if (!isEngineThere) host.replication.giveUp();
    const isServed = sockets.close(millisMax);
    const hurry = setTimeout(() => host.hurry(), limits.shutdownPatienceMillis);
    await end.close(millisMax);
    await isServed;
    clearTimeout(hurry);
    for (const release of releases.reverse()) await release();
    log.report({ level: 'info', message: 'stopped' });
  }
}
