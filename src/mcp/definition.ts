import type { ServerDefinition } from '../mcp-protocol/server-definition.ts';
import { instructionsOf } from './instructions.ts';
import type { McpSession } from './session.ts';
import { makeTools, modeOf } from './tool-list.ts';

/** What this product offers to agents. */
export function makeDefinition(version: string): ServerDefinition<McpSession> {
  const toolsOf = makeTools();
  return {
    info: { name: 'reducerdb', version },
    instructions: (session) => instructionsOf(modeOf(session)),
    tools: async (session) => toolsOf(session),
  };
}
