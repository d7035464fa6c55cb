import { limits } from '../limits.ts';
import { JsonObject, type JsonValue, member } from '../values/json.ts';
import { ownText } from './own-text.ts';
import { invalidParams } from './rpc-error.ts';

/** Kinds of changes that a client wants to watch, or watches. */
export interface Changes {
  readonly tools: boolean;
  readonly prompts: boolean;
  readonly resources: boolean;
  /** Resources whose content is watched. */
  readonly uris: readonly string[];
}

/** Reads `params.notifications` of a request to listen. */
export function readWanted(params: JsonValue | undefined): Changes {
  const wanted = member(params, 'notifications');
  if (!(wanted instanceof JsonObject)) throw invalidParams('notifications must be an object');
  const isWanted = (name: string) => member(wanted, name) === true;
  return {
    tools: isWanted('toolsListChanged'),
    prompts: isWanted('promptsListChanged'),
    resources: isWanted('resourcesListChanged'),
    uris: readUris(member(wanted, 'resourceSubscriptions')),
  };
}

function readUris(given: JsonValue | undefined): readonly string[] {
  if (given === undefined || given === null) return [];
  const isList = Array.isArray(given) && given.every((uri) => typeof uri === 'string');
  if (!isList) throw invalidParams('resourceSubscriptions must be an array of URIs');
  if (given.length > limits.watchedResourcesMax) {
    throw invalidParams(`at most ${limits.watchedResourcesMax} resources are watched at once`);
  }
  return [...new Set(given)].map(ownText);
}

/** Writes the response in the same form; kinds that are not watched are omitted. */
export function describeChanges({ tools, prompts, resources, uris }: Changes): object {
  return {
    ...(tools ? { toolsListChanged: true } : {}),
    ...(prompts ? { promptsListChanged: true } : {}),
    ...(resources ? { resourcesListChanged: true } : {}),
    ...(uris.length === 0 ? {} : { resourceSubscriptions: uris }),
  };
}
