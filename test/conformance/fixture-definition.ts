import { randomBytes } from 'node:crypto';
import type { ServerDefinition } from '../../src/mcp-protocol/server-definition.ts';
import { type Tool, text } from '../../src/mcp-protocol/tool.ts';
import { ChangingList } from './changing-list.ts';
import { completePlace, fixturePrompts, laterPrompt } from './fixture-prompts.ts';
import { askingTools } from './fixture-questions.ts';
import { fixtureResources } from './fixture-resources.ts';
import { type FixtureSession, fixtureTool } from './fixture-tool.ts';
import { plainTools } from './fixture-tools.ts';

/** A server that has all that the suite looks for. */
export function makeFixtures(): ServerDefinition<FixtureSession> {
  const prompts = new ChangingList(fixturePrompts, laterPrompt);
  const tools: ChangingList<Tool<FixtureSession>> = new ChangingList(
    [
      ...plainTools,
      ...askingTools,
      trigger('test_trigger_tool_change', () => tools.change()),
      trigger('test_trigger_prompt_change', () => prompts.change()),
    ],
    trigger('test_later_tool', () => undefined),
  );
  return {
    info: { name: 'fixtures', version: '1.0.0' },
    instructions: () => 'Everything that a suite of tests wants to see.',
    tools: async () => tools.entries(),
    watchTools: (_, changed) => tools.watch(changed),
    resources: fixtureResources,
    prompts: () => prompts.entries(),
    watchPrompts: (_, changed) => prompts.watch(changed),
    complete: completePlace,
    logs: true,
    sealingKey: randomBytes(32),
  };
}

function trigger(name: string, run: () => void): Tool<FixtureSession> {
  return fixtureTool({
    name,
    description: 'Changes what this server offers.',
    run: () => {
      run();
      return [text('changed')];
    },
  });
}
