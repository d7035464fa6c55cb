import { member } from '../../values/json.ts';
import { cachingOf } from '../caching.ts';
import { type Method, result } from '../method.ts';
import type { ServerDefinition } from '../server-definition.ts';
import { type Era, legacyVersions, protocolVersions } from '../versions.ts';

/** Responds with the client's version if it has a handshake, else with the newest such version. */
export function initialize<Session>(definition: ServerDefinition<Session>): Method<Session> {
  return async ({ params, context: { session } }) => {
    const asked = member(params, 'protocolVersion');
    return result({
      protocolVersion: legacyVersions.find((version) => version === asked) ?? legacyVersions[0],
      capabilities: capabilitiesOf(definition, session, 'legacy'),
      serverInfo: definition.info,
      instructions: definition.instructions(session),
    });
  };
}

export function discover<Session>(definition: ServerDefinition<Session>): Method<Session> {
  return async ({ context: { session } }) => {
    const members = {
      supportedVersions: protocolVersions,
      capabilities: capabilitiesOf(definition, session, 'modern'),
      instructions: definition.instructions(session),
    };
    return result(members, cachingOf(definition, session));
  };
}

/** Only the modern era has notifications of changes, and constant lists need none. */
function capabilitiesOf<Session>(
  definition: ServerDefinition<Session>,
  session: Session,
  era: Era,
): object {
  const { resources, prompts, complete, logs, watchTools, watchPrompts } = definition;
  const isModern = era === 'modern';
  const mayChange = isModern && definition.isConstant?.(session) !== true;
  const listChanged = (isTold: boolean) => (mayChange && isTold ? { listChanged: true } : {});
  const isWatched = resources?.watch !== undefined;
  const watched = isModern && isWatched ? { subscribe: true, listChanged: true } : {};
  return {
    tools: listChanged(watchTools !== undefined),
    ...(resources === undefined ? {} : { resources: watched }),
    ...(prompts === undefined ? {} : { prompts: listChanged(watchPrompts !== undefined) }),
    ...(complete === undefined ? {} : { completions: {} }),
    ...(isModern && logs === true ? { logging: {} } : {}),
  };
}
