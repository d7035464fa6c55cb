import { JsonObject } from '../../values/json.ts';
import { cachingOf } from '../caching.ts';
import { RawJson } from '../json-text.ts';
import { type Method, result } from '../method.ts';
import { pageOf } from '../page.ts';
import { checkParameterHeaders } from '../request-headers.ts';
import { invalidParams } from '../rpc-error.ts';
import type { ServerDefinition } from '../server-definition.ts';
import type { Tool, ToolResult } from '../tool.ts';

export function listTools<Session>(definition: ServerDefinition<Session>): Method<Session> {
  return async ({ params, context: { session } }) => {
    const { items, nextCursor } = pageOf(await definition.tools(session), params);
    const members = { tools: items.map(describe), nextCursor };
    return result(members, cachingOf(definition, session));
  };
}

function describe<Session>(tool: Tool<Session>): object {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  return { name, title, description, inputSchema, outputSchema, annotations };
}

export function callTool<Session>(definition: ServerDefinition<Session>): Method<Session> {
  return async ({ params, header, context }) => {
    if (!(params instanceof JsonObject)) throw invalidParams('missing params', howToCall);
    const name = params.get('name');
    if (typeof name !== 'string') throw invalidParams('missing tool name', howToCall);
    const tools = await definition.tools(context.session);
    const tool = tools.find((candidate) => candidate.name === name);
    if (tool === undefined) throw invalidParams(`unknown tool: ${name}`, toolsHint(tools));
    const given = params.get('arguments');
    const args = given instanceof JsonObject ? given : noArguments;
    if (context.era === 'modern') checkParameterHeaders(tool.inputSchema, args, header);
    const answer = await tool.run(args, context);
    return 'kind' in answer ? answer : result(membersOf(answer));
  };
}

const noArguments = new JsonObject([]);

const howToCall = {
  hint: 'params are {"name":"<tool>","arguments":{…}}; tools/list has the tools',
};

function toolsHint(tools: readonly { readonly name: string }[]) {
  const names = tools.slice(0, toolsNamedMax).map(({ name }) => name);
  const rest = tools.length - names.length;
  return { hint: `there are ${names.join(', ')}${rest === 0 ? '' : ` and ${rest} more`}` };
}

const toolsNamedMax = 20;

function membersOf({ content, structured, isError, meta }: ToolResult): object {
  const structuredContent = structured === undefined ? undefined : new RawJson(structured);
  const told = meta === undefined ? {} : { _meta: meta };
  return { content, isError, structuredContent, ...told };
}
