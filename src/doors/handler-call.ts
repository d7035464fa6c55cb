import { unreachable } from '../assert.ts';
import type {
  Caller,
  HandlerOutcome,
  HandlerRequest,
  ProcedureError,
} from '../database/outcome.ts';
import { strangerRights } from '../database/rights.ts';
import type { DatabaseHandle } from '../host/supervision/database-handle.ts';
import type { HandlerAuth, ModuleDefinition } from '../schema/definition.ts';
import { matchRoute, type RequestPath } from '../schema/match-route.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import { schemaChangedText } from './call-error-text.ts';
import { decodePathPart } from './request-target.ts';

/** A request for a handler of a module, as a door has received it. */
export interface HandlerCall extends Pick<HandlerRequest, 'client'> {
  readonly method: string;
  /** What follows `/route` in the target: empty, or begins with `/`; not decoded. */
  readonly path: string;
  /** Settles the caller, for a handler that looks at tokens. */
  readonly callerFor: (handler: string, auth: 'optional' | 'required') => Promise<Caller>;
  /** The encoded head; a token that was checked must not be in it. */
  readonly headFor: (auth: HandlerAuth) => Uint8Array;
  /** Read once a route was found. */
  readonly body: () => Promise<Uint8Array>;
  readonly signal?: AbortSignal;
}

export type HandlerAnswer =
  | HandlerOutcome
  /** The bytes of the path are not UTF-8, or no route has it. */
  | { readonly kind: 'badPath' }
  | { readonly kind: 'noRoute' };

/** The text for a request that no handler of the module is for. */
export const noRouteText = 'Database has not registered a handler for this route';

/** How often a publish can overtake a request before its client gets an error. */
const attemptsMax = 5;

/** Finds the route of the request in the running definition, and has its handler answer. */
export async function callHandler(
  handle: DatabaseHandle,
  call: HandlerCall,
): Promise<HandlerAnswer> {
  const path = decodedPath(call.path);
  if (path === undefined) return { kind: 'badPath' };
  let body: Uint8Array | undefined;
  for (let attempt = 1; ; attempt += 1) {
    const { definition, schemaVersion } = await handle.describe();
    const match = matchRoute(definition, call.method, path);
    if (match === undefined) return { kind: 'noRoute' };
    const { handler, params } = match;
    const auth = authOf(definition, handler);
    const caller = auth === 'none' ? nobody : await call.callerFor(handler, auth);
    body ??= await call.body();
    const head = call.headFor(auth);
    const { client, signal } = call;
    // What a webhook was answered for must not be lost: its sender will not send it again.
    const request = { caller, handler, head, body, params, client, schemaVersion, confirmed: true };
    const outcome = await handle.answer(request, signal);
    const isOvertaken = outcome.kind === 'failed' && outcome.error.code === 'schema.changed';
    if (attempt === attemptsMax || !isOvertaken) return outcome;
  }
}

/** The caller of a request without a token: the sender of its transactions is the identity 0. */
export const nobody: Caller = {
  identity: callerIdentity(0n),
  rights: strangerRights,
  jwtPayload: '',
  isAnonymous: true,
};

/** `undefined` if the bytes of the path are not UTF-8. */
function decodedPath(path: string): RequestPath | undefined {
  const segments: string[] = [];
  for (const part of path.split('/').slice(1)) {
    const segment = decodePathPart(part);
    if (segment === undefined) return undefined;
    segments.push(segment);
  }
  return { whole: segments.map((segment) => `/${segment}`).join(''), segments };
}

function authOf({ httpHandlers }: ModuleDefinition, handler: string): HandlerAuth {
  return httpHandlers.find(({ name }) => name === handler)?.auth ?? 'none';
}

/** How the failure of a handler is answered: in the module's words, or why it did not answer. */
export function handlerFailure(error: ProcedureError): {
  readonly status: number;
  readonly text: string;
  /** True if the same request may succeed later. */
  readonly isPassing: boolean;
} {
  switch (error.code) {
    case 'procedure.failed':
    case 'procedure.overBudget':
      return { status: 500, text: error.message, isPassing: false };
    case 'procedure.busy': {
      const status = error.of === 'caller' ? 429 : 503;
      return { status, text: error.message, isPassing: true };
    }
    case 'procedure.stopped':
      return { status: 503, text: error.message, isPassing: true };
    case 'schema.changed':
      return { status: 503, text: schemaChangedText, isPassing: true };
    case 'call.readOnly':
    case 'connection.refused':
      return { status: 403, text: error.message, isPassing: false };
    case 'arguments.invalid':
      return { status: 400, text: error.message, isPassing: false };
    case 'procedure.unknown':
      return { status: 404, text: noRouteText, isPassing: false };
    default:
      return unreachable(error);
  }
}
