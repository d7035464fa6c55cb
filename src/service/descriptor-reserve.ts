import { limits } from '../limits.ts';
import { descriptorsMax, openDescriptors } from '../node/open-descriptors.ts';
import { ConfigurationError } from './configuration.ts';

export interface DescriptorSource {
  /** How many the process may have; `undefined`: there is no bound that is known. */
  readonly max: number | undefined;
  /** How many it has; `undefined`: none is left to find out, or the system does not say. */
  count(): number | undefined;
}

/** Between two counts while there is much room, and while there is little, in milliseconds. */
const calmMillis = 10_000;
const tightMillis = 100;

const advice = 'raise the limit on open files of the service (`ulimit -n`, `LimitNOFILE=`)';

/**
 * Files and sockets come out of one number that the system sets for a process. A part of it is kept
 * for logs, threads and processes of databases: clients get what is beyond that.
 */
export class DescriptorReserve {
  readonly #source: DescriptorSource;
  readonly #now: () => number;
  #counted = 0;
  #countedAt = Number.NEGATIVE_INFINITY;
  /** Connections that have come since. */
  #come = 0;

  /** Throws `ConfigurationError` where a service could do nothing with what it may have open. */
  constructor(
    source: DescriptorSource = { max: descriptorsMax(), count: openDescriptors },
    now: () => number = () => performance.now(),
  ) {
    this.#source = source;
    this.#now = now;
    const { max } = source;
    if (max === undefined || max >= limits.descriptorsMin) return;
    throw new ConfigurationError(
      `The system lets this process have ${max} files open, and a service needs at least ` +
        `${limits.descriptorsMin}: ${advice}.`,
    );
  }

  /** What to tell the operator at the start; `undefined`: so many connections find room. */
  warning(connectionsMax: number): string | undefined {
    const { max } = this.#source;
    if (max === undefined) return undefined;
    const forClients = max - limits.descriptorsKept;
    if (forClients >= connectionsMax) return undefined;
    return (
      `The system lets this process have ${max} files open: not more than ${forClients} ` +
      `connections find room, databases take some of it, too, and ${connectionsMax} are allowed ` +
      `(--connections); ${advice}.`
    );
  }

  /** A client connects, with a descriptor of its own. False: it took from what is kept. */
  take(): boolean {
    const { max } = this.#source;
    if (max === undefined) return true;
    this.#come += 1;
    const bound = max - limits.descriptorsKept;
    const isTight = this.#counted + this.#come > bound / 2;
    const age = this.#now() - this.#countedAt;
    if (age >= (isTight ? tightMillis : calmMillis)) {
      // Where there is none to count them with, all are in use.
      this.#counted = this.#source.count() ?? max;
      this.#countedAt = this.#now();
      this.#come = 0;
    }
    if (this.#counted + this.#come <= bound) return true;
    // Its own will be free again.
    this.#come -= 1;
    return false;
  }

  /** Why clients are refused. */
  get refusal(): string {
    return (
      `refuses connections: of ${this.#source.max} files that this process may have open, fewer ` +
      `than ${limits.descriptorsKept} are left, which are for databases; ${advice}`
    );
  }
}
