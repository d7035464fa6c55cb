import { requestJson, send } from './http.ts';
import { objectOf, textOf } from './json.ts';

/** A token of 12 h, and whose it is. */
export interface NewSession {
  readonly token: string;
  readonly identity: string;
}

/** `POST /v1/console/sessions`: a one-time code for a session. */
export async function redeemCode(code: string): Promise<NewSession> {
  const answer = await requestJson('/v1/console/sessions', {
    method: 'POST',
    body: { code },
    isAnonymous: true,
  });
  const { token, identity } = objectOf(answer);
  return { token: textOf(token), identity: textOf(identity) };
}

/** Ends a session that nobody wanted; where that fails, it ends by itself. */
export async function endSessionOf(token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  await fetch('/v1/console/sessions/current', { method: 'DELETE', headers }).catch(() => undefined);
}

/** `DELETE /v1/console/sessions/current`: the token of this session is worth nothing afterwards. */
export async function endSession(): Promise<void> {
  await send('/v1/console/sessions/current', { method: 'DELETE' });
}

const loginKey = 'reducerdb.login';
/** As long as the service waits for an answer of the issuer. */
const loginMillisMax = 600_000;

/** Notes that this window goes to an issuer: the next code that it brings was asked for here. */
export function beginLogin(): void {
  sessionStorage.setItem(loginKey, String(Date.now()));
}

/** Whether this window has begun a login that may still come back; it counts once. */
export function takeLogin(): boolean {
  const began = Number(sessionStorage.getItem(loginKey) ?? Number.NaN);
  sessionStorage.removeItem(loginKey);
  return Date.now() - began <= loginMillisMax;
}

/** Where a browser goes to sign in at an issuer, and comes back from. */
export function loginAddress(issuer: string, back: string): string {
  const query = new URLSearchParams({ issuer, return: back });
  return `/v1/console/login?${query}`;
}
