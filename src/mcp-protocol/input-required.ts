import type { JsonValue } from '../values/json.ts';

/**
 * A result that is not there yet: the client asks its user (or model), and the work begins again
 * with the answers. The client must have declared that it can.
 */
export interface InputRequired {
  readonly kind: 'inputRequired';
  /** By a name of the tool's choice, under which the answer comes back. */
  readonly requests: Readonly<Record<string, InputRequest>>;
  /** Comes back with the answers; sealed, and bound to the request, on the way. */
  readonly state?: string;
}

export interface InputRequest {
  readonly method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list';
  readonly params: object;
}

/** What came back when the work begins again. */
export interface GivenInput {
  readonly answers: ReadonlyMap<string, JsonValue>;
  readonly state: string | undefined;
}
