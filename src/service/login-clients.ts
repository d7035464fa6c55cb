import type { LoginClient } from '../auth/issuer-login.ts';
import { requireIssuerName } from '../auth/issuer-name.ts';
import { hostName, isLoopbackName } from '../auth/page-rules.ts';
import { ConfigurationError, type ServiceConfiguration } from './configuration.ts';

/** The clients as which people log in to the console. Throws `ConfigurationError`. */
export function loginClientsOf({
  loginClients,
  loginSecrets,
  issuers,
}: Pick<ServiceConfiguration, 'loginClients' | 'loginSecrets' | 'issuers'>): LoginClient[] {
  const stray = Object.keys(loginSecrets).find((issuer) => loginClients[issuer] === undefined);
  if (stray !== undefined) {
    throw new ConfigurationError(
      `auth.login-secrets names ${stray}, which auth.login-clients (--login-client) does not`,
    );
  }
  return Object.entries(loginClients).map(([issuer, clientId]) => {
    requireIssuerAddress(issuer);
    requireAccepted(issuer, clientId, issuers);
    const { [issuer]: clientSecret } = loginSecrets;
    return { issuer, clientId, ...(clientSecret !== undefined && { clientSecret }) };
  });
}

/** What is sent to an issuer in the open, such as a secret, others could read. */
function requireIssuerAddress(issuer: string): void {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  const isLocal = url?.protocol === 'http:' && isLoopbackName(hostName(url.host));
  if (url?.protocol !== 'https:' && !isLocal) {
    throw new ConfigurationError(`auth.login-clients: \`${issuer}\` is not an https address`);
  }
  try {
    requireIssuerName(issuer);
  } catch (cause) {
    throw new ConfigurationError(`auth.login-clients: ${(cause as Error).message}`, { cause });
  }
}

/** People who log in have tokens of the issuer, which have to be accepted from others as well. */
function requireAccepted(
  issuer: string,
  clientId: string,
  { accepted }: ServiceConfiguration['issuers'],
): void {
  if (accepted === undefined) return;
  const rule = accepted.find((one) => one.issuer === issuer);
  const isFit = rule !== undefined && (rule.audiences?.includes(clientId) ?? true);
  if (isFit) return;
  throw new ConfigurationError(
    `auth.login-clients names ${issuer}, whose tokens for ${clientId} auth.issuers does not ` +
      `accept; add --accept-issuer ${issuer}=${clientId}`,
  );
}
