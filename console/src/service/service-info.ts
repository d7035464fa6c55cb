import { requestJson } from './http.ts';
import { listOf, objectOf, textOf } from './json.ts';

/** What the service is and can do. */
export interface ServiceInfo {
  readonly version: string;
  readonly startedAt: string;
  readonly features: ReadonlySet<string>;
  readonly issuers: readonly { readonly issuer: string; readonly name: string }[];
}

/** `GET /v1/service`. */
export async function readServiceInfo(signal?: AbortSignal): Promise<ServiceInfo> {
  const answer = await requestJson('/v1/service', signal === undefined ? {} : { signal });
  const body = objectOf(answer);
  return {
    version: textOf(body.version),
    startedAt: textOf(body.started_at),
    features: new Set(listOf(body.features).map(textOf)),
    issuers: listOf(body.issuers).map((each) => {
      const { issuer, name } = objectOf(each);
      return { issuer: textOf(issuer), name: textOf(name) };
    }),
  };
}
