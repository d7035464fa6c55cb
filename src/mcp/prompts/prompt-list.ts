import type { Prompt } from '../../mcp-protocol/prompt.ts';
import type { McpSession } from '../session.ts';
import { explainFailingReducer } from './explain-failing-reducer.ts';
import { exploreDatabase } from './explore-database.ts';
import { reviewAccessRules } from './review-access-rules.ts';

/** Returns the prompts in the order in which clients see them. */
export function promptsOf(session: McpSession): readonly Prompt<McpSession>[] {
  return [exploreDatabase(session), explainFailingReducer(session), reviewAccessRules(session)];
}
