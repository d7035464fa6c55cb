import { randomBytes } from 'node:crypto';
import type { ServerDefinition } from '../mcp-protocol/server-definition.ts';
import { complete } from './completion.ts';
import { instructionsOf } from './instructions.ts';
import { promptsOf } from './prompts/prompt-list.ts';
import { DatabaseResources } from './resources/database-resources.ts';
import { GuidePages } from './resources/guide-pages.ts';
import type { McpSession } from './session.ts';
import { makeTools } from './tool-list.ts';
import { watchReducerTools } from './tools-watch.ts';
import { makeReducerTools } from './typed-reducers.ts';

export interface ProductDefinition {
  readonly version: string;
  /** Folder of this version's guide. */
  readonly guideDirectory: string;
}

/** Creates what this product offers to agents. */
export function makeDefinition(product: ProductDefinition): ServerDefinition<McpSession> {
  const { version, guideDirectory } = product;
  const toolsOf = makeTools();
  const reducerTools = makeReducerTools(toolsOf);
  const guide = new GuidePages(guideDirectory);
  return {
    info: { name: 'reducerdb', version },
    instructions: instructionsOf,
    // The rights of a limited token and the set of reducer tools can change at any time.
    isConstant: ({ caller, features }) =>
      caller.capability === undefined && !features.has('typed-reducers'),
    sealingKey: randomBytes(32),
    tools: async (session) => [...toolsOf(session), ...(await reducerTools(session))],
    resources: new DatabaseResources(guide),
    prompts: promptsOf,
    watchTools: (session, changed) => watchReducerTools(session, reducerTools, changed),
    complete: (request, { session }) => complete(request, session, guide),
  };
}
