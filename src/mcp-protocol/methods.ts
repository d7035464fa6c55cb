import { type Method, result } from './method.ts';
import { discover, initialize } from './methods/handshake.ts';
import { complete, getPrompt, listPrompts } from './methods/prompts.ts';
import { listResources, listTemplates, readResource } from './methods/resources.ts';
import { callTool, listTools } from './methods/tools.ts';
import type { ServerDefinition } from './server-definition.ts';
import type { Era } from './versions.ts';

/** Returns the methods of an era that a server supports; others do not exist. */
export function methodsOf<Session>(
  definition: ServerDefinition<Session>,
  era: Era,
): ReadonlyMap<string, Method<Session>> {
  const { resources, prompts, complete: completion } = definition;
  const offered: [string, Method<Session>][] = [
    ...(era === 'modern' ? modernOnly(definition) : legacyOnly(definition)),
    ['tools/list', listTools(definition)],
    ['tools/call', callTool(definition)],
  ];
  if (resources !== undefined) {
    offered.push(
      ['resources/list', listResources(resources)],
      ['resources/templates/list', listTemplates(resources)],
      ['resources/read', readResource(resources)],
    );
  }
  if (prompts !== undefined) {
    offered.push(['prompts/list', listPrompts(definition, prompts)]);
    offered.push(['prompts/get', getPrompt(prompts)]);
  }
  if (completion !== undefined) offered.push(['completion/complete', complete(completion)]);
  return new Map(offered);
}

function modernOnly<Session>(definition: ServerDefinition<Session>): [string, Method<Session>][] {
  return [['server/discover', discover(definition)]];
}

function legacyOnly<Session>(definition: ServerDefinition<Session>): [string, Method<Session>][] {
  return [
    ['initialize', initialize(definition)],
    ['ping', async () => result({})],
  ];
}
