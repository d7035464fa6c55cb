import type { JsonValue } from '../values/json.ts';

/** One message, as a transport received it. */
export interface EngineRequest<Session> {
  readonly body: string;
  /** Parses a large body without holding up others; absent: it is parsed at once. */
  readonly parseLarge?: (text: string) => Promise<JsonValue>;
  /** First value of a header, by its lower-case name. */
  header(name: string): string | undefined;
  readonly session: Session;
  readonly caller: EngineCaller;
  /** Told how many messages a batch has beside its first; absent: nobody counts. */
  readonly countMore?: (requestCount: number) => void;
  /**
   * What the address of the request stands for: a state that one endpoint gave out is of no use at
   * another one.
   */
  readonly endpoint: string;
  /** Aborted when the client has gone away. */
  readonly signal: AbortSignal;
}

/** Whom bounds count, and to whom what the server gives out for later is bound. */
export interface EngineCaller {
  /** The same for all requests of one caller. */
  readonly key: string;
  /** True: others may have the same key. */
  readonly isAnonymous: boolean;
}

/** What a transport sends back. */
export type EngineReply = ReplyContent & {
  /** Go along with the answer. */
  readonly headers?: Readonly<Record<string, string>>;
};

type ReplyContent =
  /** There is nothing to say: a notification was taken, or a request was cancelled. */
  | { readonly kind: 'accepted' }
  /** JSON of one message, or of a batch. */
  | { readonly kind: 'message'; readonly status: number; readonly body: string }
  | StreamReply;

/** Messages as they come, the answer last, as an event stream. `undefined`: keep-alive. */
export interface StreamReply {
  readonly kind: 'stream';
  readonly messages: AsyncIterable<string | undefined>;
  /** Settles when the work on the request is over, which is held until then; absent: it is. */
  readonly work?: Promise<unknown>;
}
