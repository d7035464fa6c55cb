import { type AppHosts, isLocalName } from '../auth/app-hosts.ts';
import { hostName, isLoopbackName } from '../auth/page-rules.ts';

/** Where apps are, as their visitors address them. */
export interface AppPlaces {
  readonly hosts: AppHosts;
  /** Public address of the service; `undefined`: as clients address it. */
  readonly publicUrl: string | undefined;
  readonly scheme: 'http' | 'https';
}

/**
 * The origin of a database's app, such as `http://shop.localhost:3000`, for a client that sent this
 * `Host`; `undefined`: it has none that this client can reach.
 */
export function appOrigin(
  { hosts, publicUrl, scheme }: AppPlaces,
  name: string,
  host: string | undefined,
): string | undefined {
  const authority = host?.toLowerCase() ?? '';
  const isLocal = isLoopbackName(hostName(authority));
  const chosen = hosts.hostsOf(name).find((one) => isLocal || !isLocalName(one));
  if (chosen === undefined) return undefined;
  const [, port = ''] = /(:\d{1,5})$/.exec(authority) ?? [];
  if (publicUrl === undefined || isLocalName(chosen)) return `${scheme}://${chosen}${port}`;
  const url = new URL(publicUrl);
  return `${url.protocol}//${chosen}${url.port === '' ? '' : `:${url.port}`}`;
}
