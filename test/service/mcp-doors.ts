import { Sandbox } from './harness.ts';
import type { Inn } from './inn.ts';
import { LiveBridge, request } from './live-bridge.ts';
import { hostWide, type Mode, rpc, scoped } from './mcp-support.ts';

/** The answer to one JSON-RPC request. */
export interface Answer {
  readonly result?: Record<string, unknown> & ToolOutcome;
  readonly error?: { readonly code: number; readonly message: string };
}

interface ToolOutcome {
  readonly content?: readonly { readonly text: string }[];
  readonly isError?: boolean;
}

export type Who = 'owner' | 'nobody';

/** A way to the MCP server of the service with the database `inn`. */
export interface McpDoor {
  /** Sends one request; `undefined` is the host-wide server, else that of one database. */
  send(database: string | undefined, as: Who, method: string, params: object): Promise<Answer>;
  close(): Promise<void>;
}

export function httpDoor({ running, owner }: Inn): McpDoor {
  const modeOf = (database: string | undefined): Mode =>
    database === undefined
      ? hostWide
      : { ...scoped, path: `/v1/database/${encodeURIComponent(database)}/mcp` };
  return {
    send: (database, as, method, params) => {
      const options = { mode: modeOf(database), as: as === 'owner' ? owner : undefined };
      return rpc(running, options, method, params);
    },
    close: async () => {},
  };
}

/** By bridges that run for as long as the door is open, one for each server and caller. */
export async function stdioDoor({ running, owner }: Inn): Promise<McpDoor> {
  const sandbox = await Sandbox.make(running.service.address.port);
  await sandbox.ok(['login', '--token', owner.token]);
  const bridges = new Map<string, LiveBridge>();
  return {
    send: (database, as, method, params) => {
      const args = [...(database === undefined ? [] : [database])];
      if (as === 'nobody') args.push('--anonymous');
      const key = args.join(' ');
      const bridge = bridges.get(key) ?? new LiveBridge(sandbox.spawn(['mcp', ...args]));
      bridges.set(key, bridge);
      return bridge.ask(request(bridge.messages.length, method, params)) as Promise<Answer>;
    },
    close: async () => {
      for (const bridge of bridges.values()) await bridge.end();
      sandbox.remove();
    },
  };
}
