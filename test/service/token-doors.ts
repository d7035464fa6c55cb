import type { IncomingMessage } from 'node:http';
import type { Running } from './running.ts';
import { SocketClient } from './socket-client.ts';

/** What a door said to somebody whom it did not let in. */
export interface Refused {
  readonly door: string;
  readonly status: number;
  readonly text: string;
  readonly contentType: string | null | undefined;
  /** Whom it took the caller for. */
  readonly caller: string | null | undefined;
}

/**
 * Presents a token at every door of a service, in each of the ways in which one can be passed, and
 * gives the answers.
 */
export function presentEverywhere(
  running: Running,
  database: string,
  token: string,
): Promise<Refused[]> {
  const headers = { authorization: `Bearer ${token}` };
  const query = `token=${encodeURIComponent(token)}`;
  const where = `/v1/database/${database}`;
  const mcp = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const ofJson = { 'content-type': 'application/json' };
  const ask = async (door: string, ...given: Parameters<Running['ask']>): Promise<Refused> => {
    const answer = await running.ask(...given);
    const { status, text } = answer;
    const contentType = answer.headers.get('content-type');
    return { door, status, text, contentType, caller: answer.headers.get('spacetime-identity') };
  };
  return Promise.all([
    ask('HTTP header', 'GET', where, { headers }),
    ask('HTTP query', 'GET', `${where}?${query}`),
    ask('MCP', 'POST', `${where}/mcp`, { headers: { ...headers, ...ofJson }, body: mcp }),
    ask('MCP of the host', 'POST', '/v1/mcp', { headers: { ...headers, ...ofJson }, body: mcp }),
    ask('websocket-token', 'POST', '/v1/identity/websocket-token', { headers }),
    knock('WebSocket header', SocketClient.begin(running.service.url, database, { headers })),
    knock('WebSocket query', SocketClient.begin(running.service.url, database, { query })),
  ]);
}

/** The answer to an upgrade that is not done. */
function knock(door: string, { socket }: SocketClient): Promise<Refused> {
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('open', () => reject(new Error(`${door}: let in`)));
    socket.on('unexpected-response', (_request, answer: IncomingMessage) => {
      let text = '';
      answer.on('data', (chunk) => {
        text += chunk;
      });
      answer.on('end', () => {
        const { statusCode: status = 0, headers } = answer;
        const caller = headers['spacetime-identity']?.toString() ?? null;
        resolve({ door, status, text, contentType: headers['content-type'], caller });
      });
    });
  });
}
