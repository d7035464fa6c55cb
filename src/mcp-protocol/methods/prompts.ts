import { limits } from '../../limits.ts';
import { JsonObject, type JsonValue, member } from '../../values/json.ts';
import { cachingOf } from '../caching.ts';
import { type Method, result } from '../method.ts';
import { pageOf } from '../page.ts';
import type { CompletionRequest, Prompt } from '../prompt.ts';
import { invalidParams } from '../rpc-error.ts';
import type { ServerDefinition } from '../server-definition.ts';

type Prompts<Session> = NonNullable<ServerDefinition<Session>['prompts']>;

export function listPrompts<Session>(
  definition: ServerDefinition<Session>,
  prompts: Prompts<Session>,
): Method<Session> {
  return async ({ params, context: { session } }) => {
    const { items, nextCursor } = pageOf(prompts(session), params);
    const members = { prompts: items.map(describe), nextCursor };
    return result(members, cachingOf(definition, session));
  };
}

function describe<Session>(prompt: Prompt<Session>): object {
  const { name, title, description } = prompt;
  return { name, title, description, arguments: prompt.arguments };
}

export function getPrompt<Session>(prompts: Prompts<Session>): Method<Session> {
  return async ({ params, context }) => {
    const name = member(params, 'name');
    if (typeof name !== 'string') throw invalidParams('missing prompt name');
    const prompt = prompts(context.session).find((candidate) => candidate.name === name);
    if (prompt === undefined) throw invalidParams(`unknown prompt: ${name}`);
    const args = readTexts(member(params, 'arguments'), 'arguments');
    const missing = prompt.arguments.find((one) => one.required && !args.has(one.name));
    if (missing !== undefined) throw invalidParams(`missing argument: ${missing.name}`);
    const answer = await prompt.get(args, context);
    if ('kind' in answer) return answer;
    return result({ description: prompt.description, messages: answer });
  };
}

export function complete<Session>(
  completion: NonNullable<ServerDefinition<Session>['complete']>,
): Method<Session> {
  return async ({ params, context }) => {
    const { values } = await completion(readRequest(params), context);
    const shown = values.slice(0, limits.mcpCompletionValuesMax);
    const hasMore = shown.length < values.length;
    return result({ completion: { values: shown, total: values.length, hasMore } });
  };
}

function readRequest(params: JsonValue | undefined): CompletionRequest {
  const argument = member(params, 'argument');
  const name = member(argument, 'name');
  const value = member(argument, 'value');
  if (typeof name !== 'string') throw invalidParams('argument.name must be a string');
  if (typeof value !== 'string') throw invalidParams('argument.value must be a string');
  const others = readTexts(member(member(params, 'context'), 'arguments'), 'context.arguments');
  return { ref: readReference(member(params, 'ref')), argument: { name, value }, others };
}

function readReference(ref: JsonValue | undefined): CompletionRequest['ref'] {
  const name = member(ref, 'name');
  const uri = member(ref, 'uri');
  switch (member(ref, 'type')) {
    case 'ref/prompt':
      if (typeof name === 'string') return { kind: 'prompt', name };
      throw invalidParams('ref.name must be a string');
    case 'ref/resource':
      if (typeof uri === 'string') return { kind: 'resource', uri };
      throw invalidParams('ref.uri must be a string');
    default:
      throw invalidParams('ref.type must be "ref/prompt" or "ref/resource"');
  }
}

function readTexts(given: JsonValue | undefined, what: string): ReadonlyMap<string, string> {
  if (given === undefined || given === null) return new Map();
  if (!(given instanceof JsonObject)) throw invalidParams(`${what} must be an object`);
  return new Map(
    given.entries.map(([name, value]) => {
      if (typeof value !== 'string') throw invalidParams(`${what}.${name} must be a string`);
      return [name, value];
    }),
  );
}
