import { identityToHex } from '../values/identity.ts';
import { asOwner } from '../values/identity-roles.ts';
import { callerOf, type HttpContext } from './context.ts';
import { type Exchange, empty, json, type Reply } from './exchange.ts';
import { bareIdentity } from './path-identity.ts';
import type { Route } from './route.ts';
import { giveUpToken } from './tokens.ts';

/** Lifetime of the token that a browser puts into a WebSocket address. */
const websocketTokenSeconds = 60;

export function identityRoutes(context: HttpContext): Route[] {
  return [
    {
      path: '/v1/identity',
      methods: { POST: { token: 'none', run: () => createIdentity(context) } },
    },
    {
      path: '/v1/identity/public-key',
      methods: { GET: { token: 'none', run: () => publicKey(context) } },
    },
    {
      path: '/v1/identity/websocket-token',
      methods: {
        POST: { token: 'required', run: (exchange) => websocketToken(exchange, context) },
      },
    },
    {
      path: '/v1/identity/revoke',
      methods: {
        POST: { token: 'required', run: (exchange) => giveUpToken(exchange, context) },
      },
    },
    {
      path: '/v1/identity/:identity/verify',
      methods: { GET: { token: 'required', run: verifyIdentity } },
    },
    {
      path: '/v1/identity/:identity/databases',
      methods: { GET: { token: 'none', run: (exchange) => ownedDatabases(exchange, context) } },
    },
  ];
}

async function createIdentity({ tokens }: HttpContext): Promise<Reply> {
  const { identity, token } = await tokens.issue();
  return json(200, JSON.stringify({ identity: identityToHex(identity), token }));
}

function publicKey({ tokens }: HttpContext): Reply {
  const headers = { 'content-type': 'application/pem-certificate-chain' };
  return { status: 200, headers, body: tokens.publicPem };
}

async function websocketToken(exchange: Exchange, { tokens }: HttpContext): Promise<Reply> {
  const claims = await tokens.verify(callerOf(exchange).token);
  const { token } = await tokens.reissue(claims, websocketTokenSeconds);
  return json(200, JSON.stringify({ token }));
}

function verifyIdentity(exchange: Exchange): Reply {
  const isTheirs = bareIdentity(exchange) === callerOf(exchange).identity;
  return isTheirs ? { status: 204 } : empty(400);
}

function ownedDatabases(exchange: Exchange, { host }: HttpContext): Reply {
  const identities = host.databasesOwnedBy(asOwner(bareIdentity(exchange))).map(identityToHex);
  return json(200, JSON.stringify({ identities }));
}
