import { requestJson, send } from './http.ts';
import { objectOf, textOf } from './json.ts';

/** `POST /v1/console/sessions`: a one-time code for a token of 12 h. */
export async function redeemCode(code: string): Promise<string> {
  const answer = await requestJson('/v1/console/sessions', { method: 'POST', body: { code } });
  return textOf(objectOf(answer).token);
}

/** `DELETE /v1/console/sessions/current`: the token of this session is worth nothing afterwards. */
export async function endSession(): Promise<void> {
  await send('/v1/console/sessions/current', { method: 'DELETE' });
}

/** Where a browser goes to sign in at an issuer, and comes back from. */
export function loginAddress(issuer: string, back: string): string {
  const query = new URLSearchParams({ issuer, return: back });
  return `/v1/console/login?${query}`;
}
