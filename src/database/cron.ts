/** Reads the expressions of crons: the library that knows calendars is part of the machine. */
export interface CronReader {
  /** `timeZone`: the name of an IANA time zone; `undefined`: UTC. */
  read(expression: string, timeZone: string | undefined): CronSteps | CronFault;
}

/** The times of an expression, in microseconds since the Unix epoch. */
export interface CronSteps {
  /** The first time after this one; `undefined`: there is none. */
  nextAfter(micros: bigint): bigint | undefined;
  /** The last time that is not after this one. */
  lastUntil(micros: bigint): bigint | undefined;
}

/** Why an expression cannot be used. */
export interface CronFault {
  readonly message: string;
  /** Where in the expression, counted from 1; `undefined`: not there, but in the time zone. */
  readonly character: number | undefined;
}
