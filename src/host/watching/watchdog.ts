import { limits } from '../../limits.ts';
import type { Phase } from '../seats/board.ts';
import type { Budget } from '../seats/budget.ts';
import { type Kill, killAtStop } from '../seats/seat.ts';
import { MemoryWatch, runsUserCode } from './memory-watch.ts';
import { ProcessorUse, type Standing } from './standing.ts';
import type { Watched } from './watched.ts';

/** The last state seen of a worker: since when it is busy with the same thing. */
interface Sighting {
  changes: number;
  messagesTaken: number;
  sinceMillis: number;
  /** `ProcessorUse.waitedMillis` of that moment. */
  waitedMillis: number;
  readonly processors: ProcessorUse;
  standing: Standing;
  isKilled: boolean;
}

/** Phases in which no code of a module runs. */
const silentPhases: ReadonlySet<Phase> = new Set(['resting', 'writing', 'lending']);

/** Interval between two checks, in milliseconds. One takes a few microseconds per busy worker. */
const lookMillis = 50;

/**
 * Reads the boards of busy workers and ends those that are over budget: in time, or in memory
 * (`memory-watch.ts`), which the heap limit of a worker does not bound. Calls that run for a long
 * time, but are not over budget yet, are scheduled behind the others for the processors.
 */
export class Watchdog {
  readonly #budget: Budget;
  readonly #watched = new Map<Watched, Sighting>();
  readonly #memory: MemoryWatch;
  #timer: NodeJS.Timeout | undefined;

  constructor(budget: Budget) {
    this.#budget = budget;
    const end = (watched: Watched) => this.#endForMemory(watched);
    this.#memory = new MemoryWatch(budget.callBufferBytesMax, end);
  }

  /** Starts to watch a worker; `wake` reports that it became busy. */
  add(watched: Watched): void {
    const { changes, messagesTaken } = watched.board;
    const processors = new ProcessorUse();
    const fresh = { processors, standing: 'later' as const, isKilled: false };
    const seen = { changes, messagesTaken, sinceMillis: now(), waitedMillis: 0 };
    this.#watched.set(watched, { ...seen, ...fresh });
    this.#memory.add(watched);
    this.wake();
  }

  remove(watched: Watched): void {
    this.#watched.delete(watched);
    this.#memory.remove(watched);
  }

  /** Ends every remaining worker. */
  close(): void {
    for (const [watched, sighting] of this.#watched) {
      sighting.isKilled = true;
      watched.kill(killAtStop);
    }
  }

  wake(): void {
    if (this.#timer !== undefined) return;
    this.#memory.wake();
    for (const sighting of this.#watched.values()) beginAnew(sighting);
    this.#timer = setInterval(() => this.#look(), lookMillis);
    this.#timer.unref();
  }

  #look(): void {
    const isHeld = ([watched, { standing }]: [Watched, Sighting]) =>
      standing !== 'usual' || watched.isBusy();
    const held = [...this.#watched].filter(isHeld);
    for (const [watched, sighting] of held) stand(watched, sighting);
    const busy = held.filter(([watched]) => watched.isBusy());
    // Work given to an idle worker waits from now on, however long the worker was idle.
    for (const [watched, sighting] of this.#watched) {
      if (!watched.isBusy()) beginAnew(sighting);
    }
    if (held.length === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    for (const [watched, sighting] of busy) this.#sight(watched, sighting);
    const alive = busy.filter(([, { isKilled }]) => !isKilled);
    this.#memory.look(alive.map(([watched]) => watched));
  }

  #sight(watched: Watched, sighting: Sighting): void {
    const { changes, messagesTaken } = watched.board;
    if (changes !== sighting.changes || keepsUp(watched, sighting)) {
      sighting.changes = changes;
      sighting.messagesTaken = messagesTaken;
      beginAnew(sighting);
      return;
    }
    const millis = now() - sighting.sinceMillis;
    const { phase } = watched.board;
    const waited = waitedMillis(watched, sighting, millis);
    const message = this.#overTime(watched, phase, { millis, waited });
    if (message === undefined) return;
    const cause = silentPhases.has(phase) ? 'silent' : 'budget';
    this.#kill(watched, sighting, { cause, message });
  }

  #overTime(
    { askMemory }: Watched,
    phase: Phase,
    { millis, waited }: { readonly millis: number; readonly waited: number },
  ): string | undefined {
    const { callMillisMax, publishMillisMax } = this.#budget;
    switch (phase) {
      case 'calling':
        if (millis <= callMillisMax) return undefined;
        return `The call ran longer than ${callMillisMax} ms and was stopped.`;
      case 'viewing':
        if (millis <= callMillisMax) return undefined;
        return (
          `The call ran longer than ${callMillisMax} ms and was stopped, ` +
          'while it evaluated a view.'
        );
      case 'loading':
        if (millis <= publishMillisMax) return undefined;
        return `The program ran longer than ${publishMillisMax} ms before it served.`;
      case 'lending':
        // A procedure has its transaction open, which the actor itself bounds.
        if (millis - waited <= limits.silenceMillisMax) return undefined;
        return `The worker served a transaction for ${limits.silenceMillisMax} ms.`;
      case 'resting':
        if (millis - waited <= limits.silenceMillisMax) return undefined;
        return `The worker took no message for ${limits.silenceMillisMax} ms outside of any call.`;
      case 'writing':
        // Ending a thread does not interrupt a write. A process may be stopped, or pretend to
        // write.
        if (askMemory !== undefined || millis <= limits.writeMillisMax) return undefined;
        return `The process made no progress with a write for ${limits.writeMillisMax} ms.`;
    }
  }

  #endForMemory(watched: Watched): void {
    const sighting = this.#watched.get(watched);
    if (sighting === undefined) return;
    const mebibytes = Math.round(this.#budget.callBufferBytesMax / (1024 * 1024));
    const message = `The call held more than ${mebibytes} MiB of memory and was stopped.`;
    this.#kill(watched, sighting, { cause: 'budget', message });
  }

  #kill(watched: Watched, sighting: Sighting, end: Kill): void {
    if (sighting.isKilled) return;
    sighting.isKilled = true;
    watched.kill(end);
  }
}

function stand(watched: Watched, sighting: Sighting): void {
  const { processors, changes, sinceMillis } = sighting;
  processors.look(now(), () => watched.processorTime?.());
  const isLong =
    watched.board.changes === changes &&
    now() - sinceMillis > limits.longCallMillis &&
    runsUserCode(watched);
  const isStarting = watched.board.changes === 0 || watched.board.phase === 'loading';
  const standing = isLong ? 'last' : processors.isHigh || isStarting ? 'later' : 'usual';
  if (standing === sighting.standing) return;
  sighting.standing = standing;
  watched.setStanding?.(standing);
}

/**
 * True for a worker that runs no call, and took a message or has none to take. It may be busy all
 * the same, with lanes that rest, for any time.
 */
function keepsUp({ board, messagesSent }: Watched, sighting: Sighting): boolean {
  if (board.phase !== 'resting') return false;
  const { messagesTaken } = board;
  // Both count modulo 2^32.
  const unread = (messagesSent() - messagesTaken) | 0;
  return messagesTaken !== sighting.messagesTaken || unread <= 0;
}

function beginAnew(sighting: Sighting): void {
  sighting.sinceMillis = now();
  sighting.waitedMillis = sighting.processors.waitedMillis;
}

/**
 * How much of that time is not held against a worker that is silent, because the machine was busy
 * with other things. Before its first sign it is not known: the thread may not exist yet.
 */
function waitedMillis({ board }: Watched, sighting: Sighting, millis: number): number {
  const most = millis * (1 - 1 / limits.silenceWaitFactor);
  if (board.changes === 0) return most;
  return Math.min(most, Math.max(0, sighting.processors.waitedMillis - sighting.waitedMillis));
}

function now(): number {
  return performance.now();
}
