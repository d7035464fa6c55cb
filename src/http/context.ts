import type { Registry } from 'prom-client';
import { present } from '../assert.ts';
import type { RequestCaller } from '../auth/caller.ts';
import type { HostTokens } from '../auth/host-tokens.ts';
import type { RequestRates } from '../auth/rate-limiter.ts';
import type { Caller } from '../database/outcome.ts';
import type { Host } from '../host/host.ts';
import type { HostedDatabase } from '../host/host-types.ts';
import type { Exchange } from './exchange.ts';

/** What the endpoints need of the service. */
export interface HttpContext {
  readonly host: Host;
  readonly tokens: HostTokens;
  readonly rates: RequestRates;
  /** Name and version that `/v1/health` shows. */
  readonly packageName: string;
  readonly version: string;
  /**
   * True: strangers may create databases, also with a token, which anyone can get. Their browsers
   * must not do it for a page without their knowing.
   */
  readonly strangersCreate: boolean;
  /** Program bytes that a publish may have. */
  readonly programBytesMax: number;
  readonly nowMicros: () => bigint;
  /** Who reads the metrics: `off` makes them an unknown path. */
  readonly metricsFor: 'anyone' | 'operators' | 'off';
  /** Figures of the service as a whole, for metrics. */
  readonly figures: () => readonly ServiceFigure[];
  /** What is measured all the time, for metrics. */
  readonly registry: Registry;
  /** Aborted when the service stops: answers without an end, such as a followed log, end then. */
  readonly stopping: AbortSignal;
}

/** One figure of the metrics, such as how many clients are connected. */
export interface ServiceFigure {
  readonly name: string;
  readonly help: string;
  readonly value: number;
}

/** The caller of an endpoint whose token rule guarantees one. */
export function callerOf(exchange: Exchange): RequestCaller {
  return present(exchange.caller, 'the caller of an endpoint that settles one');
}

/** The name or identity in the path. */
export function targetOf(exchange: Exchange): string {
  return present(exchange.params.db, 'the path parameter :db');
}

/** The database of the path, with the caller as it sees it. */
export function openTarget(
  exchange: Exchange,
  host: Host,
): { database: HostedDatabase; caller: Caller } {
  const database = host.database(targetOf(exchange));
  return { database, caller: host.callerFor(callerOf(exchange), database) };
}
