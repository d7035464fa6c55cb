/** The bounds of what people see of a database that runs. Part of `limits.ts`. */
export const insideLimits = {
  /** Metrics that the service keeps itself: the time of a step, and an hour of them. */
  metricStepMillis: 5_000,
  metricStepsMax: 720,
  /** Databases whose hour is kept, of about 70 KiB each. */
  metricDatabasesMax: 1_024,
  /** How often it is looked how late the event loop is. */
  metricDelayMillis: 20,
  /** Time over which it is counted how many bytes a client was sent. */
  sendRateMillis: 5_000,
  /** Watched queries that are listed: those that took the most time. */
  watchesShownMax: 1_000,
  /** The text of one, and why it is run again, in that list. */
  watchTextCharactersMax: 1_000,
  /** What earlier programs declare that is kept in memory, once somebody asked. */
  deployDefinitionsMax: 8,
} as const;
