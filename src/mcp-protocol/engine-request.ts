import type { JsonValue } from '../values/json.ts';

/** One message, as received by a transport. */
export interface EngineRequest<Session> {
  readonly body: string;
  /** Parses a large body without blocking other work; absent: it is parsed at once. */
  readonly parseLarge?: (text: string) => Promise<JsonValue>;
  /** Returns the first value of a header, by its lower-case name. */
  header(name: string): string | undefined;
  readonly session: Session;
  readonly caller: EngineCaller;
  /** Called with the number of further messages in a batch; absent: they are not counted. */
  readonly countMore?: (requestCount: number) => void;
  /** Identity of the endpoint that was addressed: its states are invalid at any other. */
  readonly endpoint: string;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
}

/** The caller to whom limits apply, and to whom data given out for later is bound. */
export interface EngineCaller {
  /** Equal for all requests of one caller. */
  readonly key: string;
  /** Whether others may have the same key. */
  readonly isAnonymous: boolean;
}

/** The reply that a transport sends. */
export type EngineReply = ReplyContent & {
  /** Sent with the reply. */
  readonly headers?: Readonly<Record<string, string>>;
};

type ReplyContent =
  /** No content: a notification was accepted, or a request was cancelled. */
  | { readonly kind: 'accepted' }
  /** JSON of one message or of a batch. */
  | { readonly kind: 'message'; readonly status: number; readonly body: string }
  | StreamReply;

/** A stream of messages that ends with the response. `undefined`: keep-alive. */
export interface StreamReply {
  readonly kind: 'stream';
  readonly messages: AsyncIterable<string | undefined>;
  /** Settles when the work on the request, which counts until then, has ended; absent: it has. */
  readonly work?: Promise<unknown>;
}
