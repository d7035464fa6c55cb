import type { ClientMessage } from '../protocol/v2/client-message.ts';
import type { ClientFunction, ClientSchema } from './client-schema.ts';
import type { CallOptions, Request } from './requests.ts';

export type FunctionKind = 'reducer' | 'procedure';

interface FunctionCall {
  readonly kind: FunctionKind;
  /** As the program calls it. */
  readonly name: string;
  /** Throws what the call is rejected with. */
  readonly find: (schema: ClientSchema) => ClientFunction;
  readonly args: unknown;
  readonly options: CallOptions;
}

/** What is sent for a call of a reducer or a procedure, and what its answers mean. */
export function requestOf(call: FunctionCall): Request {
  const { kind, name, find, args, options } = call;
  const { retry, optimistic } = options;
  let found: ClientFunction | undefined;
  return {
    kind,
    name,
    mayRepeat: retry === true,
    message: (requestId, schema) => {
      found = find(schema);
      return callMessage(kind, found.parts.name, requestId, found.encode(args));
    },
    info: () => found && { name: found.parts.name, args },
    result: (bytes) => found?.decode(bytes),
    refusal: (bytes) => found?.refusal(bytes),
    predict: optimistic && ((draft) => optimistic(draft, args ?? {})),
  };
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
