import type { ServerDefinition } from './server-definition.ts';

/** One message, as a transport received it. */
export interface EngineRequest<Session> {
  readonly body: string;
  /** First value of a header, by its lower-case name. */
  header(name: string): string | undefined;
  readonly session: Session;
  /** Aborted when the client has gone away. */
  readonly signal: AbortSignal;
}

/** What a transport sends back. */
export type EngineReply =
  /** A notification was taken. */
  | { readonly kind: 'accepted' }
  /** One JSON-RPC message. */
  | { readonly kind: 'message'; readonly status: number; readonly body: string }
  /** Messages as they come, the answer last, as an event stream. `undefined`: keep-alive. */
  | { readonly kind: 'stream'; readonly messages: AsyncIterable<string | undefined> };

export interface EngineOptions<Session> {
  readonly definition: ServerDefinition<Session>;
  /** Told of what no handler expected; the client gets -32603 without its text. */
  readonly onError: (error: unknown, method: string) => void;
  /** Aborted when the service stops: streams end then. */
  readonly stopping: AbortSignal;
}
