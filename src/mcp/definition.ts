import type { ServerDefinition } from '../mcp-protocol/server-definition.ts';
import { instructionsOf } from './instructions.ts';
import type { McpSession } from './session.ts';
import { modeOf, toolsOf } from './tool-list.ts';

/** What this product offers to agents. */
export function makeDefinition(version: string): ServerDefinition<McpSession> {
  return {
    info: { name: 'reducerdb', version },
    instructions: (session) => instructionsOf(modeOf(session)),
    tools: async (session) => toolsOf(modeOf(session)),
  };
}
