import type { TokenClaims } from '../auth/claims.ts';
import { OneTimeCodes } from '../auth/one-time-codes.ts';
import { RateLimiter } from '../auth/rate-limiter.ts';
import { limits } from '../limits.ts';

/** What a session begins with: a verified token. */
export interface SessionSeed {
  readonly claims: TokenClaims;
  /** Whether the session ends when this token expires, which for a login is soon. */
  readonly endsWithToken: boolean;
}

/** Codes of people who are signing in to the console, and how often one can try. */
export class SignIns {
  readonly codes = new OneTimeCodes<SessionSeed>({
    lifeMillis: limits.consoleCodeMillis,
    countMax: limits.consoleCodesMax,
    ofOneMax: limits.consoleCodesOfOneMax,
  });
  /** Codes asked for and presented. */
  readonly codeRate = newRate();
  /** Logins apart: any page can send a browser to these, and must not use up those of codes. */
  readonly loginRate = newRate();
}

function newRate(): RateLimiter {
  const atOnce = limits.consoleSignInsAtOnce;
  return new RateLimiter(limits.consoleSignInsPerSecond, { atOnce });
}
