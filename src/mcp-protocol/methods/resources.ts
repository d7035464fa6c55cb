import { member } from '../../values/json.ts';
import { notCached } from '../caching.ts';
import { type Method, result } from '../method.ts';
import { pageOf } from '../page.ts';
import type { Resources } from '../resource.ts';
import { invalidParams, RpcError, rpcCode } from '../rpc-error.ts';
import type { Era } from '../versions.ts';

export function listResources<Session>(resources: Resources<Session>): Method<Session> {
  return async ({ params, context: { session } }) => {
    const { items, nextCursor } = pageOf(await resources.list(session), params);
    return result({ resources: items, nextCursor }, notCached);
  };
}

export function listTemplates<Session>(resources: Resources<Session>): Method<Session> {
  return async ({ params, context: { session } }) => {
    const { items, nextCursor } = pageOf(await resources.templates(session), params);
    return result({ resourceTemplates: items, nextCursor }, notCached);
  };
}

export function readResource<Session>(resources: Resources<Session>): Method<Session> {
  return async ({ params, context }) => {
    const uri = member(params, 'uri');
    if (typeof uri !== 'string') throw invalidParams('uri must be a string');
    const found = await resources.read(uri, context);
    if (found === undefined) throw notFound(uri, context.era);
    return 'kind' in found ? found : result({ contents: found }, notCached);
  };
}

function notFound(uri: string, era: Era): RpcError {
  const code = era === 'modern' ? rpcCode.invalidParams : rpcCode.resourceNotFound;
  return new RpcError(code, `resource not found: ${uri}`, { uri });
}
