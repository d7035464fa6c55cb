/** A moment as tables show it, in UTC, to the second. `millis` since the Unix epoch. */
export function timeText(millis: number): string {
  return `${new Date(millis).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** The same; `micros` since the Unix epoch. */
export function microsText(micros: number): string {
  return timeText(Math.floor(micros / 1_000));
}
