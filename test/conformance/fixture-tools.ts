import { setTimeout as pause } from 'node:timers/promises';
import type { JsonSchema, Tool } from '../../src/mcp-protocol/tool.ts';
import { text } from '../../src/mcp-protocol/tool.ts';
import { audio, embedded, image } from './fixture-media.ts';
import { type FixtureContext, type FixtureSession, fixtureTool } from './fixture-tool.ts';

/** Tools that answer at once, under the names that the suite looks for. */
export const plainTools: readonly Tool<FixtureSession>[] = [
  fixtureTool({
    name: 'test_simple_text',
    description: 'Answers with a text.',
    run: () => [text('This is a simple text response for testing.')],
  }),
  fixtureTool({
    name: 'test_image_content',
    description: 'Answers with an image.',
    run: () => [image],
  }),
  fixtureTool({
    name: 'test_audio_content',
    description: 'Answers with a sound.',
    run: () => [audio],
  }),
  fixtureTool({
    name: 'test_embedded_resource',
    description: 'Answers with a resource.',
    run: () => [embedded('test://embedded-resource', 'This is an embedded resource content.')],
  }),
  fixtureTool({
    name: 'test_multiple_content_types',
    description: 'Answers with a text, an image and a resource.',
    run: () => [
      text('Multiple content types test:'),
      image,
      embedded('test://mixed-content-resource', '{"test":"data"}', 'application/json'),
    ],
  }),
  errorTool(),
  fixtureTool({
    name: 'test_tool_with_progress',
    description: 'Says how far it is: at the beginning, half way, at the end.',
    run: async (context) => {
      for (const done of [0, 50, 100]) await step(() => context.progress(done, 100, `${done} %`));
      return [text('done')];
    },
  }),
  ...['test_tool_with_logging', 'test_logging_tool'].map((name) =>
    fixtureTool({ name, description: 'Logs three messages.', run: logThrice }),
  ),
  fixtureTool({
    name: 'json_schema_2020_12_tool',
    description: 'Tool with JSON Schema 2020-12 features',
    inputSchema: schemaOfManyWords(),
    run: () => [text('ok')],
  }),
  fixtureTool({
    name: 'test_custom_header',
    description: 'Its argument also comes in a header.',
    inputSchema: {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
      required: ['region'],
    },
    run: () => [text('ok')],
  }),
];

/** What goes wrong inside of a tool is a result. */
function errorTool(): Tool<FixtureSession> {
  const name = 'test_error_handling';
  const tool = fixtureTool({ name, description: 'Never works.', run: () => [] });
  const content = [text('This tool intentionally returns an error for testing')];
  return { ...tool, run: async () => ({ content, isError: true }) };
}

async function logThrice(context: FixtureContext) {
  for (const words of ['started', 'processing data', 'completed']) {
    await step(() => context.log('info', `Tool execution ${words}`));
  }
  return [text('logged')];
}

/** Between two of them there is time for a message to leave. */
async function step(work: () => void): Promise<void> {
  work();
  await pause(50);
}

function schemaOfManyWords(): JsonSchema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
      address: {
        $anchor: 'addressDef',
        type: 'object',
        properties: { street: { type: 'string' }, city: { type: 'string' } },
      },
    },
    properties: {
      name: { type: 'string' },
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: { type: 'string' },
      email: { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema has this name
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  };
}
