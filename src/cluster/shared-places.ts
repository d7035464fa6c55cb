import type { Payers } from '../auth/payers.ts';

/** Who may take no more than a share of places. */
export type SharerKind = 'database' | 'caller' | 'network';

/** The names of those that a request counts for; a kind that is absent counts for nobody. */
export type Sharers = Readonly<Partial<Record<SharerKind, string | undefined>>>;

/** As many places as there are, or as one sharer may take, are taken. */
export interface NoPlace {
  readonly of: SharerKind | 'host';
  readonly max: number;
}

/** Places at a host that several share, so that none takes those of all others. */
export class SharedPlaces {
  readonly #max: number;
  readonly #shares: Readonly<Partial<Record<SharerKind, number>>>;
  #taken = 0;
  readonly #counts = new Map<string, number>();

  /** `shares`: the part of `max` that one of a kind may take, above 0 and up to 1. */
  constructor(max: number, shares: Readonly<Partial<Record<SharerKind, number>>>) {
    this.#max = max;
    this.#shares = shares;
  }

  get taken(): number {
    return this.#taken;
  }

  fullFor(sharers: Sharers): NoPlace | undefined {
    for (const [of, name] of named(sharers)) {
      const max = Math.floor(this.#max * (this.#shares[of] ?? 1));
      if ((this.#counts.get(keyOf(of, name)) ?? 0) >= max) return { of, max };
    }
    return this.#taken >= this.#max ? { of: 'host', max: this.#max } : undefined;
  }

  /** Takes a place, or gives it back. */
  count(sharers: Sharers, more: 1 | -1): void {
    this.#taken += more;
    for (const [of, name] of named(sharers)) {
      const key = keyOf(of, name);
      const count = (this.#counts.get(key) ?? 0) + more;
      if (count === 0) this.#counts.delete(key);
      else this.#counts.set(key, count);
    }
  }
}

/** The caller of a request without a token is its network. */
export function sharersOf({ identity, network }: Payers): Sharers {
  return { caller: identity ?? network, network };
}

/** In the order in which a refusal names them. */
function named(sharers: Sharers): (readonly [SharerKind, string])[] {
  return kinds.flatMap((of) => {
    const name = sharers[of];
    return name === undefined ? [] : [[of, name] as const];
  });
}

const kinds: readonly SharerKind[] = ['caller', 'network', 'database'];

function keyOf(of: SharerKind, name: string): string {
  return `${of} ${name}`;
}
