import { createHash, randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import type { LocalIssuer, Page, SignClaims } from './local-issuer.ts';

/**
 * Has an issuer log in whoever comes, by the code flow of OAuth with PKCE: tokens are for the
 * resource that was asked for.
 */
export function offerLogin(issuer: LocalIssuer, sign: SignClaims): void {
  const open = new Map<string, { readonly challenge: string; readonly resource: string }>();
  const authorize: Page = ({ searchParams: asked }, response) => {
    const code = randomUUID();
    open.set(code, {
      challenge: asked.get('code_challenge') ?? '',
      resource: asked.get('resource') ?? '',
    });
    const back = new URL(asked.get('redirect_uri') ?? '');
    back.searchParams.set('code', code);
    response.writeHead(302, { location: back.href }).end();
  };
  const token: Page = async (_, response, request) => {
    const asked = new URLSearchParams(await text(request));
    const code = open.get(asked.get('code') ?? '');
    const verifier = createHash('sha256').update(asked.get('code_verifier') ?? '');
    response.setHeader('content-type', 'application/json');
    if (code === undefined || verifier.digest('base64url') !== code.challenge) {
      response.writeHead(400).end('{"error":"invalid_grant"}');
      return;
    }
    const access_token = await sign({ aud: code.resource, iat: Math.floor(Date.now() / 1000) });
    response.end(JSON.stringify({ access_token, token_type: 'Bearer' }));
  };
  issuer.pages.set('/authorize', authorize);
  issuer.pages.set('/token', token);
  // Nobody speaks the older form of the discovery document here.
  issuer.pages.set('/.well-known/oauth-authorization-server', (_, response) => {
    response.writeHead(404).end();
  });
  issuer.discovery = {
    authorization_endpoint: `${issuer.url}/authorize`,
    token_endpoint: `${issuer.url}/token`,
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
  };
}
