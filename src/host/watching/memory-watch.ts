import { limits } from '../../limits.ts';
import { threadFaultBytes } from '../../node/thread-faults.ts';
import type { Board, Phase } from '../seats/board.ts';
import { judgeMemory, type Suspect } from './memory-judge.ts';
import type { Watched } from './watched.ts';

/** Measures memory of this process that neither a database nor the watching thread reports. */
export type MeasureProcess = (boards: Iterable<Board>) => number;

/** The latest observation of an actor, since its board last changed. */
interface Sighting {
  /** Memory of its own at the last look; `undefined` where it shares that of the process. */
  own: number | undefined;
  changes: number;
  sinceMillis: number;
  /** Memory of the process, or its own, when this began; `undefined` = to be measured next. */
  level: number | undefined;
  suspicion: Suspicion | undefined;
}

/** The state from when the process has grown so much that its actors are asked. */
interface Suspicion {
  readonly faultBytes: number | undefined;
  /** Memory that it held when its call began. */
  readonly keptBytes: number;
  /** When it began to owe an answer, however often it was asked since. */
  askedMillis: number | undefined;
  lastAskedMillis: number;
  heldBytes: number | undefined;
}

/**
 * Finds the actor whose call takes more memory than a call may.
 *
 * The memory of an actor in a process of its own is known exactly. Threads share one process: its
 * memory is checked every time, because that costs microseconds, and once it grew by a part of what
 * a call may take, each thread that runs user code is asked what it holds itself. The size of the
 * process decides nothing: the judge (`memory-judge.ts`) decides, by what the threads report.
 */
export class MemoryWatch {
  readonly #bytesMax: number;
  readonly #end: (watched: Watched) => void;
  readonly #measure: MeasureProcess;
  readonly #sightings = new Map<Watched, Sighting>();
  /** Actors ended for memory that are not gone yet. */
  readonly #dying = new Set<Watched>();
  #level = 0;

  constructor(bytesMax: number, end: (watched: Watched) => void, measure = measureProcess) {
    this.#bytesMax = bytesMax;
    this.#end = end;
    this.#measure = measure;
  }

  add(watched: Watched): void {
    this.#sightings.set(watched, begin(watched, undefined, undefined));
  }

  remove(watched: Watched): void {
    this.#sightings.delete(watched);
    if (!this.#dying.delete(watched)) return;
    for (const sighting of this.#sightings.values()) {
      sighting.level = undefined;
      sighting.suspicion = undefined;
    }
  }

  /** Must be called before the first check after an idle time. */
  wake(): void {
    this.#level = this.#measureShared();
  }

  look(busy: readonly Watched[]): void {
    const before = this.#level;
    this.#level = this.#measureShared();
    for (const watched of busy) {
      let sighting = this.#sightings.get(watched);
      if (sighting === undefined) continue;
      const own = isShared(watched) ? undefined : watched.memoryBytes?.();
      if (sighting.changes !== watched.board.changes) {
        sighting = begin(watched, own, isShared(watched) ? before : (sighting.own ?? own));
        this.#sightings.set(watched, sighting);
      }
      sighting.own = own;
      this.#inspect(watched, sighting);
    }
    this.#judge();
  }

  #inspect(watched: Watched, sighting: Sighting): void {
    if (!runsUserCode(watched) || this.#dying.has(watched)) {
      sighting.suspicion = undefined;
      return;
    }
    const level = isShared(watched) ? this.#level : sighting.own;
    if (level === undefined) return;
    sighting.level ??= level;
    if (level - sighting.level < this.#bytesMax * suspiciousShare) {
      sighting.suspicion = undefined;
      return;
    }
    const { board } = watched;
    sighting.suspicion ??= {
      faultBytes: threadFaultBytes(board.systemThreadId),
      keptBytes: board.keptBytes,
      askedMillis: undefined,
      lastAskedMillis: Number.NEGATIVE_INFINITY,
      heldBytes: undefined,
    };
    if (isShared(watched)) this.#ask(watched, sighting, sighting.suspicion);
  }

  #ask(watched: Watched, sighting: Sighting, suspicion: Suspicion): void {
    const isWaiting = suspicion.askedMillis !== undefined;
    if (isWaiting && now() - suspicion.lastAskedMillis < askAgainMillis) return;
    suspicion.askedMillis ??= now();
    suspicion.lastAskedMillis = now();
    watched.askMemory?.((bytes) => {
      suspicion.askedMillis = undefined;
      suspicion.heldBytes = bytes;
      // An actor over its limit need not wait for the next check.
      if (bytes - suspicion.keptBytes > this.#bytesMax && isCurrent(watched, sighting))
        this.#judge();
    });
  }

  #judge(): void {
    const suspects: Named[] = [];
    for (const [watched, sighting] of this.#sightings) {
      const suspect = this.#suspect(watched, sighting);
      if (suspect !== undefined) suspects.push(suspect);
    }
    if (suspects.length === 0) return;
    const bounds = { bytesMax: this.#bytesMax, silentMillisMax: limits.memorySilenceMillisMax };
    const guilty = judgeMemory(suspects, bounds, this.#dying.size === 0);
    if (guilty === undefined) return;
    this.#dying.add(guilty.watched);
    this.#end(guilty.watched);
  }

  #suspect(watched: Watched, sighting: Sighting): Named | undefined {
    const { suspicion, level, sinceMillis } = sighting;
    if (suspicion === undefined || level === undefined) return undefined;
    if (this.#dying.has(watched) || !isCurrent(watched, sighting)) return undefined;
    if (!isShared(watched)) {
      const { own } = sighting;
      // Each procedure that runs in its process may take as much as the call, and is judged there.
      const parts = 1 + watched.board.procedures;
      const grownBytes = own === undefined ? undefined : (own - level) / parts;
      return { ...nothingElse, watched, grownBytes, sinceMillis };
    }
    const { askedMillis, heldBytes, keptBytes } = suspicion;
    const faults = threadFaultBytes(watched.board.systemThreadId);
    return {
      watched,
      grownBytes: heldBytes === undefined ? undefined : heldBytes - keptBytes,
      silentMillis: askedMillis === undefined ? 0 : now() - askedMillis,
      processBytes: this.#level - level,
      faultBytes:
        faults === undefined || suspicion.faultBytes === undefined
          ? undefined
          : faults - suspicion.faultBytes,
      sinceMillis,
    };
  }

  #measureShared(): number {
    const shared: Board[] = [];
    for (const watched of this.#sightings.keys()) if (isShared(watched)) shared.push(watched.board);
    try {
      return this.#measure(shared);
    } catch {
      // With no descriptor left, the platform cannot report it. It may at the next check.
      return this.#level;
    }
  }
}

interface Named extends Suspect {
  readonly watched: Watched;
}

const nothingElse = { silentMillis: 0, processBytes: 0, faultBytes: undefined };

/** Share of what a call may take that leaves time for a few checks before it took all. */
const suspiciousShare = 1 / 4;

/** A question can be lost where a thread has just started, but answers must not pile up. */
const askAgainMillis = 500;

/** Phases in which user code may run. */
const userPhases: ReadonlySet<Phase> = new Set(['calling', 'viewing', 'loading']);

export function runsUserCode({ board }: Watched): boolean {
  return userPhases.has(board.phase);
}

function isCurrent(watched: Watched, { changes }: Sighting): boolean {
  return watched.board.changes === changes && runsUserCode(watched);
}

/** True for a thread of this process, which can be asked; others have memory of their own. */
function isShared({ askMemory }: Watched): boolean {
  return askMemory !== undefined;
}

function begin({ board }: Watched, own: number | undefined, level: number | undefined): Sighting {
  return { own, changes: board.changes, sinceMillis: now(), level, suspicion: undefined };
}

/**
 * Leaves out uploads, answers and whatever else the gateway keeps: a call has nothing to do with
 * them.
 */
function measureProcess(boards: Iterable<Board>): number {
  const { rss, heapTotal, external } = process.memoryUsage();
  let held = heapTotal + external;
  for (const board of boards) held += board.heldBytes;
  return rss - held;
}

function now(): number {
  return performance.now();
}
