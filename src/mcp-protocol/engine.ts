import { JsonObject, type JsonValue } from '../values/json.ts';
import { errorAnswer, RawJson, RpcError, readMessage, resultAnswer, rpcCode } from './json-rpc.ts';
import type { RequestContext } from './request-context.ts';
import type { ServerDefinition } from './server-definition.ts';
import type { Tool, ToolResult } from './tool.ts';
import { type Era, legacyVersions, protocolVersions } from './versions.ts';

/** One message, as a transport received it. */
export interface EngineRequest<Session> {
  readonly body: string;
  /** First value of a header, by its lower-case name. */
  header(name: string): string | undefined;
  readonly session: Session;
  readonly caller: EngineCaller;
  /** Aborted when the client has gone away. */
  readonly signal: AbortSignal;
}

/** Whom bounds count, and to whom what the server gives out for later is bound. */
export interface EngineCaller {
  /** The same for all requests of one caller. */
  readonly key: string;
  /** True: others may have the same key. */
  readonly isAnonymous: boolean;
}

/** What a transport sends back. */
export type EngineReply =
  /** A notification was taken. */
  | { readonly kind: 'accepted' }
  /** One JSON-RPC message. */
  | { readonly kind: 'message'; readonly status: number; readonly body: string };

export interface EngineOptions<Session> {
  readonly definition: ServerDefinition<Session>;
  /** Told of what no handler expected; the client gets -32603 without its text. */
  readonly onError: (error: unknown, method: string) => void;
  /** Aborted when the service stops: streams end then. */
  readonly stopping: AbortSignal;
}

/** Serves what a `ServerDefinition` offers, message by message. */
export class Engine<Session> {
  readonly #options: EngineOptions<Session>;

  constructor(options: EngineOptions<Session>) {
    this.#options = options;
  }

  async handle(request: EngineRequest<Session>): Promise<EngineReply> {
    const message = readMessage(request.body);
    if (message.kind === 'notification') return { kind: 'accepted' };
    if (message.kind === 'invalid') {
      return { kind: 'message', status: message.status, body: message.answer };
    }
    const { id, method } = message;
    try {
      const result = await this.#run(method, message.params, request);
      return { kind: 'message', status: 200, body: resultAnswer(id, result) };
    } catch (error) {
      if (error instanceof RpcError) {
        return { kind: 'message', status: 200, body: errorAnswer(id, error) };
      }
      this.#options.onError(error, method);
      const answer = errorAnswer(id, new RpcError(rpcCode.internal, 'internal error'));
      return { kind: 'message', status: 500, body: answer };
    }
  }

  async #run(
    method: string,
    params: JsonValue | undefined,
    request: EngineRequest<Session>,
  ): Promise<object> {
    const { definition } = this.#options;
    switch (method) {
      case 'initialize':
        return this.#initialize(params, request.session);
      case 'server/discover':
        return {
          supportedVersions: protocolVersions,
          capabilities: { tools: {} },
          instructions: definition.instructions(request.session),
        };
      case 'ping':
        return {};
      case 'tools/list': {
        const tools = await definition.tools(request.session);
        return { tools: tools.map(describeTool) };
      }
      case 'tools/call':
        return this.#callTool(params, request);
      default:
        throw new RpcError(rpcCode.methodNotFound, `method not found: ${method}`);
    }
  }

  /** Answers the client's version when it is one of ours, else the newest that we speak. */
  #initialize(params: JsonValue | undefined, session: Session): object {
    const { definition } = this.#options;
    const asked = params instanceof JsonObject ? params.get('protocolVersion') : undefined;
    const known = legacyVersions.find((version) => version === asked);
    return {
      protocolVersion: known ?? legacyVersions[0],
      capabilities: { tools: {} },
      serverInfo: definition.info,
      instructions: definition.instructions(session),
    };
  }

  async #callTool(params: JsonValue | undefined, request: EngineRequest<Session>): Promise<object> {
    if (!(params instanceof JsonObject)) {
      throw new RpcError(rpcCode.invalidParams, 'missing params');
    }
    const name = params.get('name');
    if (typeof name !== 'string') throw new RpcError(rpcCode.invalidParams, 'missing tool name');
    const tool = await this.#findTool(name, request.session);
    if (tool === undefined) throw new RpcError(rpcCode.invalidParams, `unknown tool: ${name}`);
    const given = params.get('arguments');
    const args = given instanceof JsonObject ? given : noArguments;
    const result = await tool.run(args, contextOf(request, 'legacy'));
    if ('kind' in result) throw new RpcError(rpcCode.internal, 'input cannot be asked for');
    return toolResult(result);
  }

  async #findTool(name: string, session: Session): Promise<Tool<Session> | undefined> {
    const { definition } = this.#options;
    if (definition.findTool !== undefined) return definition.findTool(name, session);
    return (await definition.tools(session)).find((tool) => tool.name === name);
  }
}

const noArguments = new JsonObject([]);

function contextOf<Session>(
  { session, signal }: EngineRequest<Session>,
  era: Era,
): RequestContext<Session> {
  return {
    session,
    era,
    version: undefined,
    clientCapabilities: undefined,
    signal,
    progress: () => undefined,
    log: () => undefined,
    given: undefined,
  };
}

function describeTool<Session>(tool: Tool<Session>): object {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  return {
    ...{ name, title, description, inputSchema },
    ...(outputSchema === undefined ? {} : { outputSchema }),
    annotations,
  };
}

function toolResult({ content, structured, isError }: ToolResult): object {
  const structuredContent = structured === undefined ? undefined : new RawJson(structured);
  return { content, structuredContent, isError };
}
