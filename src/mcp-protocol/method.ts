import type { JsonValue } from '../values/json.ts';
import type { Caching } from './caching.ts';
import type { InputRequired } from './input-required.ts';
import { metaKey } from './meta.ts';
import type { RequestContext } from './request-context.ts';
import type { HeaderOf } from './request-headers.ts';
import type { ServerInfo } from './server-definition.ts';

/** One request for a method, with all that was checked before. */
export interface MethodCall<Session> {
  readonly params: JsonValue | undefined;
  readonly header: HeaderOf;
  readonly context: RequestContext<Session>;
}

/** What a method gives; the engine adds what each result of the era has. */
export interface MethodResult {
  readonly kind: 'result';
  readonly members: object;
  /** How long a client may keep it. */
  readonly caching?: Caching;
}

export type Method<Session> = (call: MethodCall<Session>) => Promise<MethodResult | InputRequired>;

/** What every result of the modern era has beside its own members. */
export function modernMembers(
  { members, caching }: Omit<MethodResult, 'kind'>,
  info: ServerInfo,
  meta: object = {},
): object {
  const _meta = { ...meta, [metaKey.serverInfo]: info };
  return { resultType: 'complete', ...members, ...caching, _meta };
}

export function result(members: object, caching?: Caching): MethodResult {
  return { kind: 'result', members, ...(caching === undefined ? {} : { caching }) };
}
