import { limits } from '../limits.ts';
import { descriptorsAdvice, descriptorsMax, openDescriptors } from '../node/open-descriptors.ts';
import { ConfigurationError } from './configuration.ts';
import { tooFewDescriptors } from './descriptor-limit.ts';

export interface DescriptorSource {
  /** The descriptor limit of the process; `undefined`: no known limit. */
  readonly max: number | undefined;
  /** Open descriptors; `undefined`: none is free for counting, or the system cannot tell. */
  count(): number | undefined;
}

/** Milliseconds between counts: with plenty of room, and with little. */
const calmMillis = 10_000;
const tightMillis = 100;

/**
 * Keeps a reserve of descriptors. Files and sockets share one limit that the system sets for a
 * process; a part of it is reserved for logs, threads and processes of databases, and clients get
 * the rest.
 */
export class DescriptorReserve {
  readonly #source: DescriptorSource;
  readonly #now: () => number;
  #counted = 0;
  #countedAt = Number.NEGATIVE_INFINITY;
  /** Connections since the last count. */
  #come = 0;

  /** Throws `ConfigurationError` if the descriptor limit is too low for any service. */
  constructor(
    source: DescriptorSource = { max: descriptorsMax(), count: openDescriptors },
    now: () => number = () => performance.now(),
  ) {
    this.#source = source;
    this.#now = now;
    const { max } = source;
    if (max === undefined || max >= limits.descriptorsMin) return;
    throw new ConfigurationError(tooFewDescriptors(max));
  }

  /** Returns a warning for the start; `undefined` if there is room for `connectionsMax`. */
  warning(connectionsMax: number): string | undefined {
    const { max } = this.#source;
    if (max === undefined) return undefined;
    const forClients = max - limits.descriptorsKept;
    if (forClients >= connectionsMax) return undefined;
    return (
      `The system lets this process have ${max} files open, which is enough for ${forClients} ` +
      `connections beside the files of databases, and ${connectionsMax} are allowed ` +
      `(--connections); ${descriptorsAdvice}.`
    );
  }

  /** Counts a new client connection with its descriptor. Returns false if it uses the reserve. */
  take(): boolean {
    const { max } = this.#source;
    if (max === undefined) return true;
    this.#come += 1;
    const bound = max - limits.descriptorsKept;
    const isTight = this.#counted + this.#come > bound / 2;
    const age = this.#now() - this.#countedAt;
    if (age >= (isTight ? tightMillis : calmMillis)) {
      // If no descriptor is left for counting, all are in use.
      this.#counted = this.#source.count() ?? max;
      this.#countedAt = this.#now();
      this.#come = 0;
    }
    if (this.#counted + this.#come <= bound) return true;
    // The rejected connection's own descriptor will be freed.
    this.#come -= 1;
    return false;
  }

  /** Explains why clients are rejected. */
  get refusal(): string {
    return (
      `refuses connections: of the ${this.#source.max} files that this process can have open, ` +
      `fewer than ${limits.descriptorsKept} are left, which are reserved for databases; ` +
      descriptorsAdvice
    );
  }
}
