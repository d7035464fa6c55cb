import { JsonObject, type JsonValue, member } from '../values/json.ts';

export const sessionHeader = 'mcp-session-id';

/** What a client can be asked for, and the modes that not every client supports. */
const askable: Readonly<Record<string, readonly string[]>> = {
  elicitation: ['form', 'url'],
  sampling: ['context', 'tools'],
  roots: [],
};

/**
 * Creates a session id. A legacy client declares what it can be asked for only once, in
 * `initialize`, so its session id repeats these capabilities before a unique part:
 *
 * ```
 * elicitation-form-url.roots.5f0c2b1e-9a5d-4c36-8f0b-2f6d0f1f6a11
 * ```
 *
 * So there is no session that a restart could lose or that must be ended, and a forged id declares
 * no more than `initialize` could have. A client that cannot be asked gets no id.
 */
export function sessionIdFor(capabilities: JsonValue | undefined): string | undefined {
  const words = Object.entries(askable).flatMap(([name, kinds]) => {
    const declared = member(capabilities, name);
    if (declared === undefined) return [];
    return [name, ...kinds.filter((kind) => member(declared, kind) !== undefined)].join('-');
  });
  return words.length === 0 ? undefined : [...words, crypto.randomUUID()].join('.');
}

/** Reads the capabilities that the client of this session declared. */
export function capabilitiesIn(sessionId: string | undefined): JsonObject | undefined {
  const words = sessionId?.split('.').map((word) => word.split('-')) ?? [];
  const declared = words.filter(([name = '']) => Object.hasOwn(askable, name));
  if (declared.length === 0) return undefined;
  return new JsonObject(declared.map(([name = '', ...kinds]) => [name, objectOf(kinds)]));
}

function objectOf(names: readonly string[]): JsonObject {
  return new JsonObject(names.map((name) => [name, new JsonObject([])]));
}
