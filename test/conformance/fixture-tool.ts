import type { InputRequired } from '../../src/mcp-protocol/input-required.ts';
import type { RequestContext } from '../../src/mcp-protocol/request-context.ts';
import type { Content, JsonSchema, Tool } from '../../src/mcp-protocol/tool.ts';
import type { JsonObject } from '../../src/values/json.ts';

/** The fixture server looks at nothing of who asks. */
export type FixtureSession = object;

export type FixtureContext = RequestContext<FixtureSession>;

export type FixtureAnswer = readonly Content[] | InputRequired;

interface FixtureTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema?: JsonSchema;
  run(context: FixtureContext, args: JsonObject): Promise<FixtureAnswer> | FixtureAnswer;
}

const noArguments: JsonSchema = { type: 'object', additionalProperties: false };

/** A tool that always works. */
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
    run: async (args, context) => {
      const answer = await source.run(context, args);
      return 'kind' in answer ? answer : { content: answer, isError: false };
    },
  };
}
