/** Bounds of the web console and of signing in there. They are part of `limits.ts`. */
export const consoleLimits = {
  /** Files of the built console. */
  consoleFilesMax: 5_000,
  /** Tokens in the user's file beside the current one; the oldest go first. */
  keptTokensMax: 64,
  /** An answer that a command can do without: how long it may take, and its size. */
  askedAsideMillisMax: 2_000,
  askedAsideBytesMax: 65_536,
  /** One-time codes that wait to be used: in all, and of one identity; and how long each counts. */
  consoleCodesMax: 10_000,
  consoleCodesOfOneMax: 8,
  consoleCodeMillis: 60_000,
  /** The longest that a session lasts. */
  consoleSessionSeconds: 12 * 3_600,
  /** Codes asked for and presented, of one network: a second, and at once; as many for logins. */
  consoleSignInsPerSecond: 2,
  consoleSignInsAtOnce: 120,
  /** Logins at issuers that were begun: in all, and of one network; and how long each counts. */
  loginsBegunMax: 1_000,
  loginsOfOneMax: 20,
  loginMillis: 600_000,
  /** Logins that are being completed at once: each waits for an issuer. */
  loginsCompletedAtOnceMax: 16,
  /** Time for which it is remembered where an issuer's login is. */
  loginEndpointsKeptMillis: 300_000,
  /** The address in the console to which a login returns. */
  loginReturnCharactersMax: 2_048,
  /** Databases in one answer of `GET /v1/databases?detail=true`. */
  databasesDetailedMax: 1_000,
  /** Databases whose number of calls is kept, to say how many there are a second. */
  callRatesMax: 20_000,
  /** The shortest and the longest time over which calls are counted for that. */
  callRateMillisMin: 1_000,
  callRateMillisMax: 60_000,
} as const;
