import type { TokenClaims } from '../auth/claims.ts';
import type { RateLimiter } from '../auth/rate-limiter.ts';
import { TokenError } from '../auth/token-json.ts';
import { tooManyRequestsText } from '../doors/request-faults.ts';
import { limits } from '../limits.ts';
import { identityToHex } from '../values/identity.ts';
import { jsonObject } from './body.ts';
import { requireConsole } from './console.ts';
import { callerOf, type HttpContext } from './context.ts';
import { type Exchange, HttpError, json, type Reply, text } from './exchange.ts';
import type { Route } from './route.ts';
import type { SessionSeed } from './sign-ins.ts';
import { endToken } from './tokens.ts';

export function consoleSessionRoutes(context: HttpContext): Route[] {
  return [
    {
      path: '/v1/console/codes',
      methods: {
        POST: {
          token: 'required',
          ignoresQueryToken: true,
          run: (exchange) => createCode(exchange, context),
        },
      },
    },
    {
      path: '/v1/console/sessions',
      methods: { POST: { token: 'none', run: (exchange) => beginSession(exchange, context) } },
    },
    {
      path: '/v1/console/sessions/current',
      methods: {
        DELETE: {
          token: 'required',
          ignoresQueryToken: true,
          run: (exchange) => endSession(exchange, context),
        },
      },
    },
  ];
}

/**
 * Throws the response for a client that cannot sign in: the console is not served to it, others
 * could read along, or a page of another origin has sent it.
 */
export function requireSignIn(exchange: Exchange, context: HttpContext): void {
  requireConsole(exchange, context);
  if (!exchange.isConfidential) throw new HttpError(text(403, inTheOpenText, noStore));
  if (isOfOtherPage(exchange)) throw new HttpError(text(403, otherPageText, noStore));
}

/**
 * Pages load images and frames from anywhere without an `Origin`; then browsers say that another
 * site asks, and for what. Only a visit leads here from elsewhere, as from an issuer.
 */
function isOfOtherPage(exchange: Exchange): boolean {
  if (exchange.sender === 'stranger') return true;
  if (exchange.sender !== 'program') return false;
  const site = exchange.header('sec-fetch-site');
  const isVisit =
    exchange.header('sec-fetch-mode') === 'navigate' &&
    exchange.header('sec-fetch-dest') === 'document';
  return (site === 'cross-site' || site === 'same-site') && !isVisit;
}

/** Throws the response for a network that signs in too often. */
export function requireTurn({ clientNetwork }: Exchange, rate: RateLimiter): void {
  const seconds = rate.take(clientNetwork);
  if (seconds === 0) return;
  const headers = { ...noStore, 'retry-after': String(seconds) };
  throw new HttpError(text(429, tooManyRequestsText, headers));
}

const inTheOpenText =
  'Signing in to the console takes TLS, or a client on the machine of the service: others could ' +
  'read the code. Ask by https, or paste a token into the console.';

const otherPageText = 'A page of another origin cannot sign anyone in to the console.';

const noStore = { 'cache-control': 'no-store' };

/** `POST /v1/console/codes`: a code with which a browser becomes the caller. */
async function createCode(exchange: Exchange, context: HttpContext): Promise<Reply> {
  requireSignIn(exchange, context);
  requireTurn(exchange, context.signIns.codeRate);
  const claims = await context.tokens.verify(callerOf(exchange).token);
  const fault = seedFault(claims);
  if (fault !== undefined) throw new HttpError(text(403, fault, noStore));
  const { code, expiresAt } = issueCode(context, { claims, endsWithToken: true });
  const body = { code, expires_at: timeText(expiresAt), path: `/console/#code=${code}` };
  return json(200, JSON.stringify(body), noStore);
}

/** Issues a code, or throws the response where too many wait. */
export function issueCode({ signIns }: HttpContext, seed: SessionSeed) {
  const issued = signIns.codes.issue(identityToHex(seed.claims.identity), seed);
  if (issued !== undefined) return issued;
  const headers = { ...noStore, 'retry-after': String(limits.consoleCodeMillis / 1_000) };
  throw new HttpError(text(429, 'Too many people are signing in; try again later', headers));
}

function seedFault({ capability, session, isStandIn }: TokenClaims): string | undefined {
  if (capability !== undefined) return limitedText;
  if (session !== undefined) return 'A session of the console cannot begin another';
  return isStandIn ? 'This token stands for another; sign in with that one' : undefined;
}

const limitedText = 'A limited token cannot sign in to the console by a code: paste it there';

/** `POST /v1/console/sessions`: exchanges a code for a token of the caller's own identity. */
async function beginSession(exchange: Exchange, context: HttpContext): Promise<Reply> {
  requireSignIn(exchange, context);
  requireTurn(exchange, context.signIns.codeRate);
  const { code } = await jsonObject(exchange);
  if (typeof code !== 'string') throw new HttpError(text(422, '`code` must be a string', noStore));
  const seed = context.signIns.codes.take(code);
  if (seed === undefined) throw new HttpError(text(401, badCodeText, noStore));
  const { token, identity, expiresAt } = await sessionOf(context, seed);
  await context.host.audit.note({
    action: 'begin session',
    caller: { identity, address: exchange.address },
    outcome: 'done',
    detail: { with: seed.endsWithToken ? 'token' : 'login' },
  });
  const body = {
    token,
    identity: identityToHex(identity),
    expires_at: timeText(expiresAt * 1_000),
  };
  return json(200, JSON.stringify(body), noStore);
}

const badCodeText =
  `This code does not count: it was used, or is older than ${limits.consoleCodeMillis / 1_000} ` +
  's. Get another with `reducerdb console`, or log in again.';

async function sessionOf({ tokens }: HttpContext, { claims, endsWithToken }: SessionSeed) {
  const terms = { seconds: limits.consoleSessionSeconds, endsWithOriginal: endsWithToken };
  try {
    return await tokens.issueSession(claims, terms);
  } catch (error) {
    if (!(error instanceof TokenError)) throw error;
    throw new HttpError(text(401, error.message, noStore));
  }
}

/** `DELETE /v1/console/sessions/current`: the session that was presented counts no longer. */
async function endSession(exchange: Exchange, context: HttpContext): Promise<Reply> {
  if (callerOf(exchange).session === undefined) {
    throw new HttpError(text(400, 'This token is not that of a session of the console'));
  }
  return endToken(exchange, context);
}

function timeText(millis: number): string {
  return new Date(millis).toISOString();
}
