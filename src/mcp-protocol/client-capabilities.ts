import { JsonObject, type JsonValue, member } from '../values/json.ts';

export const sessionHeader = 'mcp-session-id';

/** What a client can be asked for, and the kinds of it that not every client knows. */
const askable: Readonly<Record<string, readonly string[]>> = {
  elicitation: ['form', 'url'],
  sampling: ['context', 'tools'],
  roots: [],
};

/**
 * A legacy client says once, in `initialize`, what it can be asked for. The id of its session
 * repeats just that in front of what makes it unique:
 *
 * ```
 * elicitation-form-url.roots.5f0c2b1e-9a5d-4c36-8f0b-2f6d0f1f6a11
 * ```
 *
 * So there is no session that a restart could lose or that must be ended, and who makes up an id
 * says no more than it could have said in `initialize`. A client that cannot be asked gets none.
 */
export function sessionIdFor(capabilities: JsonValue | undefined): string | undefined {
  const words = Object.entries(askable).flatMap(([name, kinds]) => {
    const declared = member(capabilities, name);
    if (declared === undefined) return [];
    return [name, ...kinds.filter((kind) => member(declared, kind) !== undefined)].join('-');
  });
  return words.length === 0 ? undefined : [...words, crypto.randomUUID()].join('.');
}

/** What the client of this session said that it can. */
export function capabilitiesIn(sessionId: string | undefined): JsonObject | undefined {
  const words = sessionId?.split('.').map((word) => word.split('-')) ?? [];
  const declared = words.filter(([name = '']) => Object.hasOwn(askable, name));
  if (declared.length === 0) return undefined;
  return new JsonObject(declared.map(([name = '', ...kinds]) => [name, objectOf(kinds)]));
}

function objectOf(names: readonly string[]): JsonObject {
  return new JsonObject(names.map((name) => [name, new JsonObject([])]));
}
