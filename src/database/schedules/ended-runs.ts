/** Runs of one function for schedules that ended alike. */
export interface EndedRuns {
  readonly functionName: string;
  readonly hasFailed: boolean;
  /** When the first of them began, in microseconds since the Unix epoch. */
  readonly startMicros: number;
  readonly count: number;
  /** Rows that their own commits added and removed; `undefined`: unknown. */
  readonly rows: number | undefined;
  /** The last of those commits. */
  readonly offset: number | undefined;
}

/** Adds up two of the same function that ended alike. */
export function sumOfRuns(one: EndedRuns, more: EndedRuns): EndedRuns {
  const { rows = 0, offset } = more;
  return {
    ...one,
    count: one.count + more.count,
    rows: one.rows === undefined && more.rows === undefined ? undefined : (one.rows ?? 0) + rows,
    offset: offset ?? one.offset,
  };
}

export function keyOfRuns({ functionName, hasFailed }: EndedRuns): string {
  return `${hasFailed} ${functionName}`;
}

/** Counts the runs that have ended since the last turn, for those who are not in this process. */
export class EndedRunCounts {
  readonly #all = new Map<string, EndedRuns>();

  add(runs: EndedRuns): void {
    const key = keyOfRuns(runs);
    const known = this.#all.get(key);
    this.#all.set(key, known === undefined ? runs : sumOfRuns(known, runs));
  }

  get isEmpty(): boolean {
    return this.#all.size === 0;
  }

  /** Takes them; nothing if there are none, as in nearly every turn. */
  take(): { readonly runs?: readonly EndedRuns[] } {
    if (this.isEmpty) return nothing;
    const runs = [...this.#all.values()];
    this.#all.clear();
    return { runs };
  }
}

const nothing = {};
