/** A moment as tables show it, in UTC, to the second; `?`: none. `millis` since the Unix epoch. */
export function timeText(millis: number): string {
  if (!(Math.abs(millis) <= millisMax)) return '?';
  return `${new Date(millis).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** The same; `micros` since the Unix epoch. */
export function microsText(micros: number): string {
  return timeText(Math.floor(micros / 1_000));
}

/** Where a log, or what is held of one, begins; 0: with its first commit. */
export function beginText(micros: number): string {
  return micros === 0 ? 'the first commit' : microsText(micros);
}
/** The farthest moment of a `Date`. */
const millisMax = 8.64e15;
