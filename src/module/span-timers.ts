import { limits } from '../limits.ts';
import { cutName } from './log-line.ts';

/** The console timers of one call. Their clock is for the log alone: the program never reads it. */
export class SpanTimers {
  readonly #nowMillis: () => number;
  readonly #open = new Map<number, { readonly label: string; readonly startMillis: number }>();
  #lastId = 0;

  constructor(nowMillis: () => number) {
    this.#nowMillis = nowMillis;
  }

  /** Handle of a new timer; 0, which ends nothing, when the call has too many. */
  start(label: string): number {
    if (this.#open.size >= limits.openTimersMax) return 0;
    this.#lastId += 1;
    this.#open.set(this.#lastId, { label: cutName(label), startMillis: this.#nowMillis() });
    return this.#lastId;
  }

  /** The line to log; `undefined` when no such timer exists. */
  end(id: number): string | undefined {
    const timer = this.#open.get(id);
    if (timer === undefined) return undefined;
    this.#open.delete(id);
    const span = durationText(this.#nowMillis() - timer.startMillis);
    return `Timing span "${timer.label}": ${span}`;
  }

  clear(): void {
    // Clearing an empty map would allocate a new table, which is long-lived garbage.
    if (this.#open.size > 0) this.#open.clear();
    this.#lastId = 0;
  }
}

/** `12.3µs`, `4.56ms`, `7.89s`: three digits of the unit that fits. */
function durationText(millis: number): string {
  if (millis >= 1000) return `${trim(millis / 1000)}s`;
  if (millis >= 1) return `${trim(millis)}ms`;
  return `${trim(millis * 1000)}µs`;
}

function trim(value: number): string {
  return String(Number(value.toPrecision(3)));
}
