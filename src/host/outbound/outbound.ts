import type { FetchOutcome, OutboundRequest } from '../../module/lane.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { HostFigures } from './host-counts.ts';
import type { RequestWay } from './request-way.ts';

/** Where lanes have the HTTP requests of their modules sent. */
export interface Outbound {
  /** False: every request fails with `disabledText`, even inside a transaction. */
  readonly isEnabled: boolean;
  /** Opens a way for requests of one database. */
  open(database: DatabaseIdentity, options: WayOptions): OpenWay;
}

export interface WayOptions {
  /** How many lanes share the way: as many times as one may, it sends. */
  readonly lanes: number;
  /** Called when something has come over it that no lane sends; it is closed then. */
  broken(message: string): void;
}

/** A way that is open, for the one who opened it. */
export interface OpenWay {
  /** The end for who sends requests; its ports can be transferred. */
  readonly way: RequestWay;
  /** The program was replaced: what it waits for is of no use, and nothing more is sent for it. */
  replaced(): void;
  /** The lanes have ended, or are about to: so do their requests. */
  close(): void;
}

/** The sending of requests for all databases of a service. */
export interface ServiceOutbound extends Outbound {
  /** Requests by database and host since the service started, or as last known. */
  figures(): Promise<readonly HostFigures[]>;
  /** Names of databases have changed. Resolves when the rules follow them. */
  renamed(): Promise<void>;
  /** Ends what is kept for a database that was deleted. */
  forget(database: DatabaseIdentity): void;
  /** Ends running requests and closes all connections. */
  close(): Promise<void>;
}

/** Sends one request after another, or many at once. */
export interface Sender {
  /**
   * Sends a request and reads the whole answer. Never rejects: any status is a response, and what
   * kept an answer from coming is a failure, for `signal` too.
   */
  fetch(
    database: DatabaseIdentity,
    request: OutboundRequest,
    signal: AbortSignal,
  ): Promise<FetchOutcome>;
}

export const disabledText = 'module outbound HTTP requests are disabled';
