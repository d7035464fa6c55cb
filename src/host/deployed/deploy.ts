/**
 * How a program began to run. `found`: it runs, and nobody knows how it came: an earlier version
 * published it. `restored`: so does the history that it runs in.
 */
export type DeployKind = 'created' | 'updated' | 'reset' | 'rolled-back' | 'restored' | 'found';

/** What became of the time for which a deploy was watched. */
export interface Canary {
  readonly seconds: number;
  /**
   * `ended`: another deploy came first. `stuck`: the program was to be taken back, and that failed.
   */
  readonly state: 'watched' | 'passed' | 'rolled-back' | 'ended' | 'stuck';
  /** Why; empty while it is watched. */
  readonly reason: string;
  /** What calls were like in the minute before. */
  readonly before: CanaryBefore;
}

/** The calls before a deploy. */
export interface CanaryBefore {
  readonly calls: number;
  /** Those that failed within the service. */
  readonly failed: number;
  /** Milliseconds that 99 of 100 calls of reducers took at most; 0: there were none. */
  readonly p99Millis: number;
}

/** One change of the program that a database runs. */
export interface Deploy {
  /** Counts the deploys of a database, from 1. */
  readonly number: number;
  readonly kind: DeployKind;
  /** Microseconds since the Unix epoch; `undefined`: nobody knows. */
  readonly micros: number | undefined;
  /** Hex digits of the identity that did it; `undefined`: the service itself, or nobody knows. */
  readonly by: string | undefined;
  /** Hash of the program, in hex. */
  readonly program: string;
  /** Counts the resets and restores of the database. */
  readonly generation: number;
  /** Offset of the commit that began to serve the program. */
  readonly commit: number;
  /** What it changed, as people read it; empty: nothing that has rows. */
  readonly plan: string;
  /** Ids of the migrations that it applied. */
  readonly migrations: readonly string[];
  readonly message: string;
  /** The static files that were served with it last; `undefined`: none. */
  readonly staticSet: string | undefined;
  /** The deploy whose program it has put back, or which ran at the moment that was restored. */
  readonly of: number | undefined;
  readonly canary: Canary | undefined;
}

/** A deploy that is being made: its commit is not known yet. */
export type NextDeploy = Omit<Deploy, 'number' | 'commit'>;

/** What a database runs, which decides what of its deploys has happened. */
export interface RunningProgram {
  readonly program: string;
  readonly commit: number;
}

/** Appends a deploy; a canary that is still watched ends with that. */
export function followedBy(deploys: readonly Deploy[], next: Deploy): readonly Deploy[] {
  const last = deploys.at(-1);
  if (last?.canary?.state !== 'watched') return [...deploys, next];
  const isOfCanary = next.kind === 'rolled-back' && next.by === undefined;
  const state = isOfCanary ? 'rolled-back' : 'ended';
  const reason = isOfCanary ? next.message : `deploy ${next.number} came first`;
  return [...deploys.slice(0, -1), { ...last, canary: { ...last.canary, state, reason } }, next];
}

/**
 * Corrects a list by what runs, so that its last deploy is that: what a crash has undone is left
 * out, and what was not written down is added.
 */
export function reconciled(
  deploys: readonly Deploy[],
  running: RunningProgram,
  generation: number,
): readonly Deploy[] {
  const isRunning = (deploy: Deploy): boolean =>
    deploy.generation === generation &&
    deploy.program === running.program &&
    deploy.commit === running.commit;
  const at = deploys.findLastIndex(isRunning);
  if (at >= 0) return at === deploys.length - 1 ? deploys : deploys.slice(0, at + 1);
  const last = deploys.at(-1);
  const isOther = last !== undefined && last.generation !== generation;
  const same = ({ program, commit }: Deploy): boolean =>
    program === running.program && commit === running.commit;
  return followedBy(deploys, {
    ...running,
    number: (last?.number ?? 0) + 1,
    kind: isOther ? 'restored' : 'found',
    micros: undefined,
    by: undefined,
    generation,
    plan: '',
    migrations: [],
    message: '',
    staticSet: undefined,
    of: isOther ? deploys.findLast(same)?.number : undefined,
    canary: undefined,
  });
}

/** Programs that are kept: those of the newest deploys, the running one among them. */
export function programsToKeep(deploys: readonly Deploy[], most: number): ReadonlySet<string> {
  const kept = new Set<string>();
  for (const { program } of deploys.toReversed()) {
    if (kept.size >= most) break;
    kept.add(program);
  }
  return kept;
}

/**
 * The deploy that a roll back without a number means: the one before that whose program runs, with
 * another program; `undefined`: there is none.
 */
export function deployBefore(deploys: readonly Deploy[]): Deploy | undefined {
  let running = deploys.at(-1);
  // What was put back, or restored, runs as the deploy that it came from.
  while (running?.of !== undefined) {
    const { of } = running;
    running = deploys.find(({ number }) => number === of);
  }
  if (running === undefined) return undefined;
  const { number: before, program } = running;
  return deploys.findLast((one) => one.number < before && one.program !== program);
}
