import { expectedHeaders } from '../../src/mcp-protocol/request-headers.ts';
import { parseJson } from '../../src/values/json.ts';

interface ModernRequest {
  readonly body: string;
  readonly headers: Record<string, string>;
}

/** What each such request says of itself. */
export const modernMeta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** A well-formed request of the era without a handshake; members of `meta` come on top. */
export function modernRequest(method: string, params: object, meta: object = {}): ModernRequest {
  const all = JSON.stringify({ ...params, _meta: { ...modernMeta, ...meta } });
  return {
    body: `{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(method)},"params":${all}}`,
    headers: expectedHeaders({ method, params: parseJson(all) }),
  };
}
