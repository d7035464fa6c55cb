import type {
  Completion,
  CompletionRequest,
  Prompt,
  PromptMessage,
} from '../../src/mcp-protocol/prompt.ts';
import { type Content, text } from '../../src/mcp-protocol/tool.ts';
import { embedded, image } from './fixture-media.ts';
import { askForContext } from './fixture-questions.ts';
import type { FixtureSession } from './fixture-tool.ts';

/** Prompts under the names that the suite looks for. */
export const fixturePrompts: readonly Prompt<FixtureSession>[] = [
  prompt('test_simple_prompt', [], () => [text('This is a simple prompt for testing.')]),
  prompt('test_prompt_with_arguments', ['arg1', 'arg2'], ([first, second]) => [
    text(`Prompt with arguments: arg1='${first}', arg2='${second}'`),
  ]),
  prompt('test_prompt_with_embedded_resource', ['resourceUri'], ([uri = '']) => [
    embedded(uri, 'Embedded resource content for testing.'),
    text('Please process the embedded resource above.'),
  ]),
  prompt('test_prompt_with_image', [], () => [image, text('Please analyze the image above.')]),
  {
    ...prompt('test_input_required_result_prompt', [], () => []),
    get: async (_, context) => {
      const given = askForContext(context);
      return typeof given === 'string' ? fromUser([text(`In the context of ${given}.`)]) : given;
    },
  },
];

/** Is there after a change. */
export const laterPrompt = prompt('test_later_prompt', [], () => [text('Now it is later.')]);

const places = ['Paris', 'Parma', 'Porto'];

/** What fits the beginning of the first argument. */
export async function completePlace({ argument }: CompletionRequest): Promise<Completion> {
  const begin = argument.value.toLowerCase();
  return { values: places.filter((place) => place.toLowerCase().startsWith(begin)) };
}

function prompt(
  name: string,
  names: readonly string[],
  contents: (values: readonly string[]) => readonly Content[],
): Prompt<FixtureSession> {
  return {
    name,
    title: name,
    description: `The suite asks for ${name}.`,
    arguments: names.map((one) => ({ name: one, description: `The ${one}.`, required: true })),
    get: async (args) => fromUser(contents(names.map((one) => args.get(one) ?? ''))),
  };
}

function fromUser(contents: readonly Content[]): readonly PromptMessage[] {
  return contents.map((content) => ({ role: 'user', content }));
}
