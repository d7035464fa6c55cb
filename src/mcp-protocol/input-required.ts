import type { JsonValue } from '../values/json.ts';

/**
 * An incomplete result: the client asks its user (or model), and the work starts again with the
 * answers. The client must have declared the capability.
 */
export interface InputRequired {
  readonly kind: 'inputRequired';
  /** By a name that the tool chooses, which also identifies the answer. */
  readonly requests: Readonly<Record<string, InputRequest>>;
  /** Returned with the answers; sealed and bound to the request in between. */
  readonly state?: string;
}

export interface InputRequest {
  readonly method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list';
  readonly params: object;
}

/** The answers and the state with which the work starts again. */
export interface GivenInput {
  readonly answers: ReadonlyMap<string, JsonValue>;
  readonly state: string | undefined;
}
