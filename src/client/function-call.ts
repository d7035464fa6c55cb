import type { ClientMessage } from '../protocol/v2/client-message.ts';
import type { ClientFunction, ClientSchema } from './client-schema.ts';
import type { ReducerInfo } from './events.ts';
import type { CallOptions, Request } from './requests.ts';

export type FunctionKind = 'reducer' | 'procedure';

/** Throws the error that the call is rejected with. */
export type FindFunction = (schema: ClientSchema, call: FunctionCall) => ClientFunction;

/** The request of a call of a reducer or a procedure, and the decoding of its answers. */
export class FunctionCall implements Request {
  readonly kind: FunctionKind;
  /** As the program calls it. */
  readonly name: string;
  readonly args: unknown;
  readonly mayRepeat: boolean;
  readonly predict: Request['predict'];
  readonly #find: FindFunction;
  #found: ClientFunction | undefined;

  constructor(
    { kind, name, find }: { kind: FunctionKind; name: string; find: FindFunction },
    args: unknown,
    { retry, optimistic }: CallOptions,
  ) {
    this.kind = kind;
    this.name = name;
    this.args = args ?? {};
    this.mayRepeat = retry === true;
    this.predict = optimistic && ((draft) => optimistic(draft, this.args));
    this.#find = find;
  }

  message(requestId: number, schema: ClientSchema): ClientMessage {
    this.#found = this.#find(schema, this);
    const { parts } = this.#found;
    return callMessage(this.kind, parts.name, requestId, this.#found.encode(this.args));
  }

  info(): ReducerInfo | undefined {
    return this.#found && { name: this.#found.parts.name, args: this.args };
  }

  result(bytes: Uint8Array): unknown {
    return this.#found?.decode(bytes);
  }

  refusal(bytes: Uint8Array): Error | undefined {
    return this.#found?.refusal(bytes);
  }
}

/** `name` is the one on the wire. */
export function callMessage(
  kind: FunctionKind,
  name: string,
  requestId: number,
  args: Uint8Array,
): ClientMessage {
  return kind === 'reducer'
    ? { kind: 'callReducer', requestId, reducer: name, args }
    : { kind: 'callProcedure', requestId, procedure: name, args };
}
