import { limits } from '../../limits.ts';
import type { Io } from '../io.ts';
import { safeText } from '../safe-text.ts';

/**
 * What `dev` prints: its own lines, those of the module's log, and those of the front end. While a
 * question is open, they wait.
 */
export class DevScreen {
  readonly #io: Io;
  #held: string[] | undefined;
  #left = 0;

  constructor(io: Io) {
    this.#io = io;
  }

  /** A line of `dev` itself. */
  say(text: string): void {
    this.#show(safeText(text));
  }

  /** What the user has to look at. */
  warn(text: string): void {
    this.#show(this.#coloured('33', safeText(text)));
  }

  /** What keeps a program from being in force. */
  fault(text: string): void {
    this.#show(this.#coloured('31', safeText(text)));
  }

  /** Text that was made safe, or that its own colours make readable. */
  asIs(text: string): void {
    this.#show(text);
  }

  /** Keeps lines back until `release`. */
  hold(): void {
    this.#held ??= [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    if (this.#left > 0) this.#show(`(${this.#left} earlier lines are left out)`);
    this.#left = 0;
    for (const text of held) this.#show(text);
  }

  #show(text: string): void {
    if (this.#held === undefined) {
      this.#io.outAsIs(text);
      return;
    }
    this.#held.push(text);
    if (this.#held.length <= limits.devHeldLinesMax) return;
    this.#held.shift();
    this.#left += 1;
  }

  #coloured(code: string, text: string): string {
    return this.#io.hasColours ? `\u001b[${code}m${text}\u001b[0m` : text;
  }
}
