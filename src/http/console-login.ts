import { type IssuerLogins, type LoginClient, LoginError } from '../auth/issuer-login.ts';
import { limits } from '../limits.ts';
import { issueCode, requireSignIn, requireTurn } from './console-sessions.ts';
import type { HttpContext } from './context.ts';
import { badQuery, type Exchange, empty, HttpError, type Reply, text } from './exchange.ts';
import type { Route } from './route.ts';

export interface LoginContext extends HttpContext {
  readonly logins: IssuerLogins;
}

/** The way to an issuer and back; both are addresses that a browser is sent to. */
export function consoleLoginRoutes(context: LoginContext): Route[] {
  const get = (run: (exchange: Exchange) => Promise<Reply>): Route['methods'] => ({
    GET: { token: 'none', run },
  });
  return [
    { path: '/v1/console/login', methods: get((exchange) => login(exchange, context)) },
    { path: callbackPath, methods: get((exchange) => callback(exchange, context)) },
  ];
}

const callbackPath = '/v1/console/callback';

/** `GET /v1/console/login?issuer=…&return=/console/…`: sends the browser to the issuer. */
async function login(exchange: Exchange, context: LoginContext): Promise<Reply> {
  const [only, ...others] = loginClients(exchange, context);
  const { logins } = context;
  const issuer = exchange.query.string('issuer') ?? (others.length === 0 ? only.issuer : undefined);
  if (issuer === undefined) throw badQuery('missing field `issuer`');
  const returnTo = returnIn(exchange);
  const redirectUri = `${baseFor(exchange, context)}${callbackPath}`;
  const network = exchange.clientNetwork;
  try {
    return redirect(await logins.begin({ issuer, network, redirectUri, returnTo }));
  } catch (error) {
    if (!(error instanceof LoginError)) throw error;
    return redirect(withFault(returnTo, error.message));
  }
}

/** Returns the clients of a request that can be a login, and counts it. */
function loginClients(
  exchange: Exchange,
  context: LoginContext,
): readonly [LoginClient, ...LoginClient[]] {
  requireSignIn(exchange, context);
  const [only, ...others] = context.logins.clients;
  if (only === undefined) throw new HttpError(text(404, noIssuerText, safety));
  requireTurn(exchange, context.signIns.loginRate);
  return [only, ...others];
}

const noIssuerText =
  'Nobody can log in to the console at an issuer: none is set. The setting is auth.login-clients.';

/** `GET /v1/console/callback`: redeems the issuer's code, and gives the page one of ours. */
async function callback(exchange: Exchange, context: LoginContext): Promise<Reply> {
  loginClients(exchange, context);
  const { logins } = context;
  const { query } = exchange;
  const state = query.string('state') ?? '';
  const code = query.string('code');
  if (code === undefined) {
    const fault = query.string('error') === 'access_denied' ? refusedText : faultyText;
    return redirect(withFault(logins.abandon(state) ?? '/console/', fault));
  }
  try {
    const { claims, returnTo } = await logins.complete(state, code, query.string('iss'));
    const issued = issueCode(context, { claims, endsWithToken: false });
    return redirect(`${returnTo}#code=${issued.code}`);
  } catch (error) {
    if (!(error instanceof LoginError)) throw error;
    return redirect(withFault('/console/', error.message));
  }
}

const refusedText = 'The login was refused at the issuer';
const faultyText = 'The issuer could not log you in';

function withFault(returnTo: string, fault: string): string {
  return `${returnTo}#error=${encodeURIComponent(fault)}`;
}

/** The issuer's code is in the address of the callback: no other site may learn it. */
const safety = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };

function redirect(location: string): Reply {
  return empty(302, { location, ...safety });
}

/** An address below `/console/` of this service, whatever else a stranger has put there. */
function returnIn({ query }: Exchange): string {
  const given = query.string('return') ?? '/console/';
  const isPlain = given.length <= limits.loginReturnCharactersMax && /^[!-~]+$/.test(given);
  const base = 'http://console.invalid';
  const url = isPlain && URL.canParse(given, base) ? new URL(given, base) : undefined;
  const isOurs = url?.origin === base && url.pathname.startsWith('/console/');
  if (url === undefined || !isOurs || !given.startsWith('/console/')) {
    throw badQuery('`return` must be an address below `/console/`');
  }
  return `${url.pathname}${url.search}`;
}

/** The address of this service as the browser knows it, which the issuer has to know as well. */
function baseFor(exchange: Exchange, { publicUrl, places }: LoginContext): string {
  // On this machine it is a loopback name: nobody else can choose it.
  if (exchange.isOnMachine) return `${places.scheme}://${exchange.header('host') ?? ''}`;
  if (publicUrl !== undefined) return publicUrl;
  throw new HttpError(text(400, noAddressText, safety));
}

const noAddressText =
  'The service does not know its own address, which a login needs. Its operator can set ' +
  'http.public-url.';
