import type { InputRequest, InputRequired } from '../../src/mcp-protocol/input-required.ts';
import { type Content, type JsonSchema, type Tool, text } from '../../src/mcp-protocol/tool.ts';
import { JsonObject, member } from '../../src/values/json.ts';
import { formOf, formOfUser, formWithChoices, formWithDefaults } from './fixture-forms.ts';
import {
  type FixtureAnswer,
  type FixtureContext,
  type FixtureSession,
  fixtureTool,
} from './fixture-tool.ts';

/** Tools that ask the client before they answer, under the names that the suite looks for. */
export const askingTools: readonly Tool<FixtureSession>[] = [
  asking('elicitation', (context) => {
    const name = answered(context, 'user_name', 'name');
    return name === undefined
      ? inputRequired({ user_name: formOf('What is your name?', 'name') })
      : [text(`Hello, ${name}!`)];
  }),
  asking('sampling', (context) => {
    const question = { capital_question: sampling('What is the capital of France?') };
    return onceAnswered(context, question);
  }),
  asking('list_roots', (context) => onceAnswered(context, { client_roots: roots })),
  asking('request_state', (context) => withState(context, { confirm: confirmation })),
  asking('multiple_inputs', (context) =>
    withState(context, {
      user_name: formOf('What is your name?', 'name'),
      greeting: sampling('Generate a greeting'),
      client_roots: roots,
    }),
  ),
  asking('multi_round', (context) => {
    if (context.given?.state === 'round 2') return onceAnswered(context, secondQuestion);
    const firstQuestion = { step1: formOf('Step 1: What is your name?', 'name') };
    const hasName = answered(context, 'step1', 'name') !== undefined;
    return hasName
      ? inputRequired(secondQuestion, 'round 2')
      : inputRequired(firstQuestion, 'round 1');
  }),
  asking('tampered_state', (context) => withState(context, { confirm: confirmation })),
  asking('capabilities', askWhatIsPossible),
  fixtureTool({
    name: 'test_sampling',
    description: 'Has a model of the client answer.',
    inputSchema: oneText('prompt'),
    run: (context, args) => onceAnswered(context, { answer: sampling(textOf(args, 'prompt')) }),
  }),
  fixtureTool({
    name: 'test_elicitation',
    description: 'Asks who the user is.',
    inputSchema: oneText('message'),
    run: (context, args) => onceAnswered(context, { user: formOfUser(textOf(args, 'message')) }),
  }),
  fixtureTool({
    name: 'test_elicitation_sep1034_defaults',
    description: 'Asks with a form that is filled in.',
    run: (context) => onceAnswered(context, { form: formWithDefaults }),
  }),
  fixtureTool({
    name: 'test_elicitation_sep1330_enums',
    description: 'Asks with a form of choices.',
    run: (context) => onceAnswered(context, { form: formWithChoices }),
  }),
  fixtureTool({
    name: 'test_streaming_elicitation',
    description: 'Says how far it is, and then asks.',
    run: (context) => {
      context.progress(1, 2);
      return onceAnswered(context, { confirm: confirmation });
    },
  }),
  fixtureTool({
    name: 'test_missing_capability',
    description: 'Cannot work without a model of the client.',
    run: (context) => onceAnswered(context, { question: sampling('Are you there?') }),
  }),
];

/** What the prompt of the fixtures asks, too. */
export function askForContext(context: FixtureContext): InputRequired | string {
  const given = answered(context, 'user_context', 'context');
  const question = { user_context: formOf('What context should the prompt use?', 'context') };
  return given ?? inputRequired(question);
}

type Questions = Readonly<Record<string, InputRequest>>;

function asking(what: string, run: (context: FixtureContext) => FixtureAnswer) {
  const name = `test_input_required_result_${what}`;
  return fixtureTool({ name, description: `Asks the client: ${what}.`, run });
}

function inputRequired(requests: Questions, state?: string): InputRequired {
  return { kind: 'inputRequired', requests, ...(state === undefined ? {} : { state }) };
}

/** Asks again for as long as an answer is missing. */
function onceAnswered(context: FixtureContext, questions: Questions): FixtureAnswer {
  const answers = Object.keys(questions).map((key) => context.given?.answers.get(key));
  if (!answers.every((answer) => answer instanceof JsonObject)) return inputRequired(questions);
  return [text(`${answers.length} answered`)];
}

/** Only with the state of the first round is an answer one. */
function withState(context: FixtureContext, questions: Questions): FixtureAnswer {
  const answer = onceAnswered(context, questions);
  const isOurs = context.given?.state === 'asked';
  return 'kind' in answer || !isOurs ? inputRequired(questions, 'asked') : [stateIsOurs];
}

const stateIsOurs: Content = text('state-ok');

/** A field of a form that the user accepted. */
function answered({ given }: FixtureContext, key: string, field: string): string | undefined {
  const value = member(member(given?.answers.get(key), 'content'), field);
  return typeof value === 'string' ? value : undefined;
}

function askWhatIsPossible(context: FixtureContext): FixtureAnswer {
  const can = (capability: string) => context.clientCapabilities?.get(capability) !== undefined;
  const questions = {
    ...(can('elicitation') && { confirm: confirmation }),
    ...(can('sampling') && { question: sampling('What can you do?') }),
    ...(can('roots') && { client_roots: roots }),
  };
  return onceAnswered(context, questions);
}

function oneText(name: string): JsonSchema {
  return { type: 'object', properties: { [name]: { type: 'string' } }, required: [name] };
}

function textOf(args: JsonObject, name: string): string {
  const given = args.get(name);
  return typeof given === 'string' ? given : '';
}

function sampling(words: string): InputRequest {
  const messages = [{ role: 'user', content: text(words) }];
  return { method: 'sampling/createMessage', params: { messages, maxTokens: 100 } };
}

const confirmation = formOf('Please confirm', 'ok', 'boolean');
const secondQuestion = { step2: formOf('Step 2: What is your favorite color?', 'color') };
const roots: InputRequest = { method: 'roots/list', params: {} };
