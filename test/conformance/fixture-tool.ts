import type { InputRequired } from '../../src/mcp-protocol/input-required.ts';
import type { RequestContext } from '../../src/mcp-protocol/request-context.ts';
import type { Content, JsonSchema, Tool } from '../../src/mcp-protocol/tool.ts';

/** The fixture server looks at nothing of who asks. */
export type FixtureSession = object;

export type FixtureContext = RequestContext<FixtureSession>;

export type FixtureAnswer = readonly Content[] | InputRequired;

interface FixtureTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema?: JsonSchema;
  run(context: FixtureContext): Promise<FixtureAnswer> | FixtureAnswer;
}

const noArguments: JsonSchema = { type: 'object', additionalProperties: false };

/** A tool that always works, and looks at no argument. */
export function fixtureTool(source: FixtureTool): Tool<FixtureSession> {
  const { name, description, inputSchema = noArguments } = source;
  return {
    name,
    title: name,
    description,
    inputSchema,
    annotations: {
      title: name,
      readOnlyHint: true,
      destructiveHint: false,
      openWorldHint: false,
    },
    run: async (_, context) => {
      const answer = await source.run(context);
      return 'kind' in answer ? answer : { content: answer, isError: false };
    },
  };
}
