import type { RequestCaller } from '../auth/caller.ts';
import { jsonBody } from './body.ts';
import { callerOf } from './context.ts';
import { type Exchange, empty, json, type Reply } from './exchange.ts';
import { checkOrigin, type OriginRules } from './origin.ts';
import { challenge, type LoginRules, mcpPaths } from './protected-resource.ts';
import type { Route } from './route.ts';

/** The MCP server as this door needs it; `mcp/server.ts` is one. */
export interface McpDoor {
  handle(request: {
    readonly body: string;
    readonly caller: RequestCaller;
    readonly database: string | undefined;
  }): Promise<{ readonly status: 200 | 202 | 400; readonly body?: string }>;
}

/** Which pages and which callers get to the MCP endpoints. */
export interface McpRules {
  readonly origins: OriginRules;
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
        run: (exchange) => handle(exchange, door),
      },
    },
  }));
}

async function handle(exchange: Exchange, door: McpDoor): Promise<Reply> {
  const { status, body } = await door.handle({
    body: await jsonBody(exchange),
    caller: callerOf(exchange),
    database: exchange.params.db,
  });
  return body === undefined ? empty(status) : json(status, body);
}
