import { limits } from '../limits.ts';
import { threadFaultBytes } from '../node/thread-faults.ts';
import type { Board, Phase } from './board.ts';
import { judgeMemory, type Suspect } from './memory-judge.ts';
import type { Watched } from './watched.ts';

/** Memory of this process that no database says it holds, nor the thread that watches. */
export type MeasureProcess = (boards: Iterable<Board>) => number;

/** What is known of what an actor does since its board last changed. */
interface Sighting {
  /** Memory of its own at the last look; `undefined` where it shares that of the process. */
  own: number | undefined;
  changes: number;
  sinceMillis: number;
  /** Memory of the process, or its own, when this began; `undefined` = to be taken next. */
  level: number | undefined;
  suspicion: Suspicion | undefined;
}

/** From when on the process has grown so much that its actors are asked. */
interface Suspicion {
  readonly faultBytes: number | undefined;
  /** What it held when its call began. */
  readonly keptBytes: number;
  /** Since when it owes an answer, however often it was asked. */
  askedMillis: number | undefined;
  lastAskedMillis: number;
  heldBytes: number | undefined;
}

/**
 * Finds the actor whose call takes more memory than a call may.
 *
 * One with memory of its own, a process, says exactly what it holds. Threads share one process: its
 * memory is looked at every time, because that costs microseconds, and once it grew by a part of
 * what a call may take, each thread that runs user code is asked what it holds itself. What the
 * process holds decides nothing: it is the judge's (`memory-judge.ts`), by what the threads say.
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

  /** Before the first look after nobody was busy. */
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
      // Somebody who is over need not wait for the next look.
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
      const grownBytes = sighting.own === undefined ? undefined : sighting.own - level;
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
      // Where no descriptor is left, the platform cannot say it. It may at the next look.
      return this.#level;
    }
  }
}

interface Named extends Suspect {
  readonly watched: Watched;
}

const nothingElse = { silentMillis: 0, processBytes: 0, faultBytes: undefined };

/** Of what a call may take. From there on there is time for a few looks before it took all. */
const suspiciousShare = 1 / 4;

/** A question may be lost where a thread has just begun; answers must not pile up, though. */
const askAgainMillis = 500;

/** Phases in which user code may run. */
const userPhases: ReadonlySet<Phase> = new Set(['calling', 'viewing', 'loading']);

export function runsUserCode({ board }: Watched): boolean {
  return userPhases.has(board.phase);
}

function isCurrent(watched: Watched, { changes }: Sighting): boolean {
  return watched.board.changes === changes && runsUserCode(watched);
}

/** One that can be asked is a thread of this process; of others only their own memory counts. */
function isShared({ askMemory }: Watched): boolean {
  return askMemory !== undefined;
}

function begin({ board }: Watched, own: number | undefined, level: number | undefined): Sighting {
  return { own, changes: board.changes, sinceMillis: now(), level, suspicion: undefined };
}

/**
 * Uploads, answers and whatever else the gateway keeps are its own: a call has nothing to do with
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
