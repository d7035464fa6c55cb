import type { RequestCaller } from '../auth/caller.ts';
import { Refusal } from '../database/outcome.ts';
import type { Host } from '../host/host.ts';
import {
  errorAnswer,
  RpcError,
  readMessage,
  resultAnswer,
  rpcCode,
} from '../mcp-protocol/json-rpc.ts';
import { JsonObject, type JsonValue } from '../values/json.ts';
import { instructionsOf } from './instructions.ts';
import { type ToolContext, ToolFailure } from './tool.ts';
import { describeTool, type Mode, toolsOf } from './tool-list.ts';

/** One message as an HTTP endpoint received it. */
export interface McpRequest {
  readonly body: string;
  readonly caller: RequestCaller;
  /** Name or identity from the path; `undefined` for the host-wide server. */
  readonly database: string | undefined;
}

export interface McpReply {
  readonly status: 200 | 202 | 400;
  /** JSON text; absent for a notification. */
  readonly body?: string;
}

export interface McpOptions {
  readonly host: Host;
  readonly serverVersion: string;
}

/** Revisions of the protocol with a handshake, newest first. */
export const protocolVersions = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;

/**
 * The MCP server, without sessions: each message stands for itself, so a client may call a tool
 * without having said hello first.
 */
export class McpServer {
  readonly #options: McpOptions;

  constructor(options: McpOptions) {
    this.#options = options;
  }

  async handle(request: McpRequest): Promise<McpReply> {
    const message = readMessage(request.body);
    if (message.kind === 'notification') return { status: 202 };
    if (message.kind === 'invalid') return { status: message.status, body: message.answer };
    try {
      const result = await this.#run(message.method, message.params, request);
      return { status: 200, body: resultAnswer(message.id, result) };
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return { status: 200, body: errorAnswer(message.id, error.code, error.message) };
    }
  }

  async #run(method: string, params: JsonValue | undefined, request: McpRequest): Promise<object> {
    const mode = request.database === undefined ? 'host' : 'database';
    switch (method) {
      case 'initialize':
        return this.#initialize(params, mode);
      case 'ping':
        return {};
      case 'tools/list':
        return { tools: toolsOf(mode).map((tool) => describeTool(tool, mode)) };
      case 'tools/call':
        return this.#callTool(params, mode, request);
      default:
        throw new RpcError(rpcCode.methodNotFound, `method not found: ${method}`);
    }
  }

  /** Answers the client's version when it is one of ours, else the newest that we speak. */
  #initialize(params: JsonValue | undefined, mode: Mode): object {
    const asked = params instanceof JsonObject ? params.get('protocolVersion') : undefined;
    const known = protocolVersions.find((version) => version === asked);
    return {
      protocolVersion: known ?? protocolVersions[0],
      capabilities: { tools: {} },
      serverInfo: { name: 'reducerdb', version: this.#options.serverVersion },
      instructions: instructionsOf(mode),
    };
  }

  async #callTool(params: JsonValue | undefined, mode: Mode, request: McpRequest): Promise<object> {
    if (!(params instanceof JsonObject)) {
      throw new RpcError(rpcCode.invalidParams, 'missing params');
    }
    const name = params.get('name');
    if (typeof name !== 'string') throw new RpcError(rpcCode.invalidParams, 'missing tool name');
    const tool = toolsOf(mode).find((candidate) => candidate.name === name);
    if (tool === undefined) throw new RpcError(rpcCode.invalidParams, `unknown tool: ${name}`);
    const context: ToolContext = {
      host: this.#options.host,
      caller: request.caller,
      database: request.database,
    };
    try {
      const given = params.get('arguments');
      const args = given instanceof JsonObject ? given : noArguments;
      return toolResult([await tool.run(args, context)], false);
    } catch (error) {
      if (!(error instanceof ToolFailure || error instanceof Refusal)) throw error;
      const advice = error instanceof ToolFailure ? error.advice : undefined;
      const texts = [error.message.trim(), ...(advice === undefined ? [] : [advice])];
      return toolResult(texts, true);
    }
  }
}

const noArguments = new JsonObject([]);

function toolResult(texts: readonly string[], isError: boolean): object {
  return { content: texts.map((text) => ({ type: 'text', text })), isError };
}
