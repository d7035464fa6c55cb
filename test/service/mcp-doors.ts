import type { ChildProcess } from 'node:child_process';
import { Sandbox } from './harness.ts';
import type { Inn } from './inn.ts';
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
  const bridges = new Map<string, Bridge>();
  return {
    send: (database, as, method, params) => {
      const args = [...(database === undefined ? [] : [database])];
      if (as === 'nobody') args.push('--anonymous');
      const key = args.join(' ');
      const bridge = bridges.get(key) ?? new Bridge(sandbox.spawn(['mcp', ...args]));
      bridges.set(key, bridge);
      return bridge.ask(method, params);
    },
    close: async () => {
      for (const bridge of bridges.values()) await bridge.end();
      sandbox.remove();
    },
  };
}

/** A bridge over standard input and output; each line of it is one message. */
class Bridge {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  readonly #ended: Promise<unknown>;
  #text = '';
  #id = 0;

  constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = new Promise((resolve) => child.on('close', resolve));
    child.stdout?.on('data', (chunk) => {
      this.#text += chunk;
      const lines = this.#text.split('\n');
      this.#text = lines.pop() ?? '';
      for (const line of lines) {
        const answer = JSON.parse(line);
        this.#waiting.get(answer.id)?.(answer);
      }
    });
  }

  ask(method: string, params: object): Promise<Answer> {
    this.#id += 1;
    const id = this.#id;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
  }

  async end(): Promise<void> {
    this.#child.stdin?.end();
    await this.#ended;
  }
}
