import { type JsonValue, member } from '../values/json.ts';

/** Names in `_meta` that belong to the protocol. */
export const metaKey = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  progressToken: 'progressToken',
} as const;

/** Reads a member of `params._meta`, by one of the names above. */
export function readMeta(
  params: JsonValue | undefined,
  name: keyof typeof metaKey,
): JsonValue | undefined {
  const meta = member(params, '_meta');
  return member(meta, metaKey[name]);
}
