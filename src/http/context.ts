import type { Registry } from 'prom-client';
import { present } from '../assert.ts';
import type { RequestCaller } from '../auth/caller.ts';
import type { HostTokens } from '../auth/host-tokens.ts';
import type { RequestRates } from '../auth/rate-limiter.ts';
import type { Caller } from '../database/outcome.ts';
import type { Clients } from '../doors/clients.ts';
import type { Host } from '../host/host.ts';
import type { HostedDatabase } from '../host/hosted-database.ts';
import type { AppPlaces } from './app-places.ts';
import type { CallRates } from './call-rates.ts';
import type { ClusterDesk } from './cluster-desk.ts';
import type { ConsoleContext } from './console.ts';
import type { Exchange } from './exchange.ts';
import type { ServiceFacts } from './service-facts.ts';
import type { SignIns } from './sign-ins.ts';
import type { TemplateFolder } from './template-folder.ts';

/** What the endpoints need from the service. */
export interface HttpContext extends ConsoleContext {
  readonly host: Host;
  /** Whether calls wait for durability where their callers do not say: in a cluster. */
  readonly confirms?: boolean;
  readonly tokens: HostTokens;
  readonly rates: RequestRates;
  /** Name and version that `/v1/health` shows. */
  readonly packageName: string;
  readonly version: string;
  /** The address of the service for others, if its operator has named one. */
  readonly publicUrl?: string | undefined;
  /**
   * Whether strangers can create databases, with or without a token (anyone can get one). A page
   * must not make their browsers do it without their knowledge.
   */
  readonly strangersCreate: boolean;
  /** Maximum program bytes of a publish. */
  readonly programBytesMax: number;
  /** Maximum bytes of the body of a request to a handler of a module. */
  readonly handlerBodyBytesMax: number;
  readonly nowMicros: () => bigint;
  readonly facts: ServiceFacts;
  readonly callRates: CallRates;
  readonly signIns: SignIns;
  readonly templates: TemplateFolder;
  /** Where static files of databases are served. */
  readonly places: AppPlaces;
  /** Who can read the metrics; with `off`, their path does not exist. */
  readonly metricsFor: 'anyone' | 'operators' | 'off';
  /** The cluster that the service is a host of; absent: it is alone. */
  readonly cluster?: ClusterDesk | undefined;
  /** Figures of the whole service, for metrics. */
  readonly figures: () => readonly ServiceFigure[];
  /** Who is connected to which database. */
  readonly clients: Clients;
  /** Metrics that are recorded continuously. */
  readonly registry: Registry;
  /** Reports an error that nobody expects, of a response that has begun. */
  readonly onError: (error: unknown, method: string, path: string) => void;
  /** Aborted when the service stops; endless responses, such as a followed log, end then. */
  readonly stopping: AbortSignal;
}

/** One figure of the metrics, such as how many clients are connected. */
export interface ServiceFigure {
  readonly name: string;
  readonly help: string;
  readonly value: number;
}

/** Returns the caller of an endpoint whose token rule guarantees one. */
export function callerOf(exchange: Exchange): RequestCaller {
  return present(exchange.caller, 'the caller of an endpoint that settles one');
}

/** Returns the name or identity in the path. */
export function targetOf(exchange: Exchange): string {
  return present(exchange.params.db, 'the path parameter :db');
}

/** Opens the database of the path on behalf of the caller. */
export function openTarget(
  exchange: Exchange,
  host: Host,
): { database: HostedDatabase; caller: Caller } {
  const database = host.database(targetOf(exchange));
  return { database, caller: host.callerFor(callerOf(exchange), database) };
}
