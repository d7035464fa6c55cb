import type { RequestCaller } from '../auth/caller.ts';
import type { PageRules } from '../auth/page-rules.ts';
import type { CopyOffer } from '../doors/copy-offer.ts';
import type { EngineReply } from '../mcp-protocol/engine-request.ts';
import { errorText, noId, notJsonText } from '../mcp-protocol/json-rpc.ts';
import { RpcError, rpcCode } from '../mcp-protocol/rpc-error.ts';
import { type AgentFeature, agentFeatures, isAgentFeature } from '../protocol/agent-features.ts';
import type { JsonValue } from '../values/json.ts';
import { jsonBody, parseBody } from './body.ts';
import { callerOf } from './context.ts';
import { eventStreamReply } from './event-stream-reply.ts';
import { type Exchange, empty, HttpError, json, type Reply, text } from './exchange.ts';
import { checkOrigin } from './origin.ts';
import { challenge, type LoginRules, mcpPaths } from './protected-resource.ts';
import type { Route } from './route.ts';

/** The MCP server as this door needs it; `service` assembles one. */
export interface McpDoor {
  handle(request: McpRequest): Promise<EngineReply>;
  /** The database that a message to the server of a whole host is about. */
  databaseIn(body: JsonValue): string | undefined;
  /** Whether a message says from which rows it is to be answered. */
  namesRows(body: JsonValue): boolean;
}

/** One message as an endpoint received it. */
export interface McpRequest {
  readonly body: string;
  header(name: string): string | undefined;
  readonly caller: RequestCaller;
  /** Counts further messages of a batch. */
  countMore(requestCount: number): void;
  /** Name or identity from the path; `undefined` for the host-wide server. */
  readonly database: string | undefined;
  readonly features: ReadonlySet<AgentFeature>;
  /** A copy that it may be answered from. */
  readonly offer: CopyOffer | undefined;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
}

/** Which pages and callers have access to the MCP endpoints. */
export interface McpRules {
  readonly origins: PageRules;
  readonly login: LoginRules;
}

/** The two MCP endpoints: the whole host, and one database. */
export function mcpRoutes(door: McpDoor, { origins, login }: McpRules): Route[] {
  return mcpPaths.map((path) => ({
    path,
    cors: (exchange) => checkOrigin(exchange, origins),
    methods: {
      POST: {
        token: login.isRequired ? 'required' : 'anonymous',
        showsCaller: true,
        ignoresQueryToken: true,
        challenge: (exchange, fault) => challenge(exchange, path, { rules: login, fault }),
        target: (exchange) => targetIn(exchange, door),
        takesOffer: async (exchange) => {
          const body = await parsedBody(exchange);
          return body !== undefined && door.namesRows(body);
        },
        run: (exchange) => handle(exchange, door),
      },
    },
  }));
}

async function targetIn(exchange: Exchange, door: McpDoor): Promise<string | undefined> {
  const { db } = exchange.params;
  if (db !== undefined) return db;
  const body = await parsedBody(exchange);
  return body === undefined ? undefined : door.databaseIn(body);
}

async function parsedBody(exchange: Exchange): Promise<JsonValue | undefined> {
  const body = await jsonBody(exchange, json(400, notUtf8));
  try {
    return await parseBody(body);
  } catch (error) {
    // What is no JSON is answered by the server, in its own words.
    if (error instanceof HttpError) return undefined;
    throw error;
  }
}

async function handle(exchange: Exchange, door: McpDoor): Promise<Reply> {
  const features = featuresOf(exchange);
  const reply = await door.handle({
    body: await jsonBody(exchange, json(400, notUtf8)),
    header: (name) => exchange.header(name),
    caller: callerOf(exchange),
    countMore: (requestCount) => exchange.countMore(requestCount),
    database: exchange.params.db,
    features,
    offer: exchange.offer,
    signal: exchange.abandoned,
  });
  switch (reply.kind) {
    case 'accepted':
      return empty(202);
    case 'message':
      return json(reply.status, reply.body, { ...reply.headers });
    case 'stream':
      if (reply.work !== undefined) exchange.inHandUntil(reply.work);
      return eventStreamReply(reply.messages, reply.headers);
  }
}

/** The engine takes text, so bytes that are not UTF-8 get its error for invalid JSON here. */
const notUtf8 = errorText(noId, new RpcError(rpcCode.parseError, notJsonText('it is not UTF-8')));

/** Returns the features that the address asks for in addition to the five tools. */
function featuresOf({ query }: Exchange): ReadonlySet<AgentFeature> {
  const words = query.parameters.getAll('features').flatMap((list) => list.split(','));
  const given = words.map((word) => word.trim()).filter((word) => word !== '');
  const unknown = given.find((word) => !isAgentFeature(word));
  if (unknown !== undefined) {
    const known = agentFeatures.map((word) => `\`${word}\``).join(', ');
    throw new HttpError(text(400, `unknown feature \`${unknown}\`; there are ${known}`));
  }
  return new Set(given.filter(isAgentFeature));
}
