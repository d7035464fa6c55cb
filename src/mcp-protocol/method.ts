import type { JsonValue } from '../values/json.ts';
import type { Caching } from './caching.ts';
import type { InputRequired } from './input-required.ts';
import { metaKey } from './meta.ts';
import type { RequestContext } from './request-context.ts';
import type { HeaderOf } from './request-headers.ts';
import type { ServerInfo } from './server-definition.ts';

/** One checked request for a method. */
export interface MethodCall<Session> {
  readonly params: JsonValue | undefined;
  readonly header: HeaderOf;
  readonly context: RequestContext<Session>;
}

/** The result of a method; the engine adds the members that every result of the era has. */
export interface MethodResult {
  readonly kind: 'result';
  readonly members: object;
  /** How long a client can cache it. */
  readonly caching?: Caching;
}

export type Method<Session> = (call: MethodCall<Session>) => Promise<MethodResult | InputRequired>;

/** Returns the members that every result of the modern era has in addition to its own. */
export function modernMembers(
  { members, caching }: Omit<MethodResult, 'kind'>,
  info: ServerInfo,
  meta: object = {},
): object {
  const told = '_meta' in members ? (members._meta as object) : {};
  const _meta = { ...meta, ...told, [metaKey.serverInfo]: info };
  return { resultType: 'complete', ...members, ...caching, _meta };
}

export function result(members: object, caching?: Caching): MethodResult {
  return { kind: 'result', members, ...(caching === undefined ? {} : { caching }) };
}
