import type { Person, Running } from './running.ts';

/** What `tools/call` gives. */
export interface ToolResult {
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
}

/** A server for the whole host, or for the database `inn`. */
export interface Mode {
  readonly name: string;
  readonly path: string;
  /** Argument with which every data tool names the database. */
  readonly database: { readonly database?: string };
}

export const hostWide: Mode = {
  name: 'host-wide',
  path: '/v1/mcp',
  database: { database: 'inn' },
};
export const scoped: Mode = { name: 'in a database', path: '/v1/database/inn/mcp', database: {} };
export const modes = [hostWide, scoped];

export interface AskOptions {
  readonly mode: Mode;
  /** Without any header of MCP, as a client that reads the text of results alone. */
  readonly isBare?: boolean;
  readonly as?: Person | undefined;
  readonly features?: string;
}

/** Sends a request of a legacy client; gives the JSON of its answer. */
export async function rpc(
  running: Running,
  { mode, as, features, isBare = false }: AskOptions,
  method: string,
  params: object = {},
) {
  const query = features === undefined ? '' : `?features=${features}`;
  const { status, text } = await running.ask('POST', mode.path + query, {
    as,
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    headers: {
      'content-type': 'application/json',
      ...(isBare || method === 'initialize' ? {} : { 'mcp-protocol-version': '2025-11-25' }),
    },
  });
  if (status !== 200) throw new Error(`${status} ${text}`);
  return JSON.parse(text);
}

/** The result of a tool about the inn; a protocol error is thrown. */
export async function ask(
  running: Running,
  options: AskOptions,
  name: string,
  args: object = {},
): Promise<ToolResult> {
  const all = { ...options.mode.database, ...args };
  const { result, error } = await rpc(running, options, 'tools/call', { name, arguments: all });
  if (error !== undefined) throw new Error(`${error.code} ${error.message}`);
  return result;
}

export interface ToolShape {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: {
    readonly properties: Readonly<Record<string, { type: string; description?: string }>>;
    readonly required?: readonly string[];
  };
  readonly outputSchema?: object;
  readonly annotations: { readonly readOnlyHint: boolean };
}

export async function toolsIn(running: Running, options: AskOptions): Promise<ToolShape[]> {
  return (await rpc(running, options, 'tools/list')).result.tools;
}
