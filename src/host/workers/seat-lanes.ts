import { limits } from '../../limits.ts';
import type { LaneDeath, LaneStart, LaneThread, StartLane } from '../lanes/lane-messages.ts';
import type { LaneNews, LaneRequestMessage } from '../messages/worker-messages.ts';

/** Those who have lanes, or wait for one. */
export interface LaneOwner {
  /** `isWanted`: somebody waits, so lanes shall end soon, and idle ones at once. */
  wanted(isWanted: boolean): void;
}

/** Places for lanes; see `LaneService`. */
export interface LanePlaces {
  join(owner: LaneOwner): void;
  leave(owner: LaneOwner): void;
  /** Calls `begin` when there is room for a lane; the result withdraws that. */
  enter(begin: () => void): () => void;
  /** A lane has ended. */
  release(): void;
}

/**
 * Places for the lanes of all databases, those in processes as well: there are at most
 * `limits.hostLanesMax`, first come first served. While somebody waits, nobody keeps lanes that are
 * idle, and nobody keeps the others for long.
 */
export class LaneService implements LanePlaces {
  readonly #owners = new Set<LaneOwner>();
  #count = 0;
  #waiting: (() => void)[] = [];

  join(owner: LaneOwner): void {
    this.#owners.add(owner);
    if (this.#waiting.length > 0) owner.wanted(true);
  }

  leave(owner: LaneOwner): void {
    this.#owners.delete(owner);
  }

  enter(begin: () => void): () => void {
    if (this.#count < limits.hostLanesMax) {
      this.#count += 1;
      begin();
      return () => undefined;
    }
    this.#waiting.push(begin);
    if (this.#waiting.length === 1) this.#tellAll(true);
    return () => {
      if (this.#waiting.length === 0) return;
      this.#waiting = this.#waiting.filter((other) => other !== begin);
      if (this.#waiting.length === 0) this.#tellAll(false);
    };
  }

  release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) {
      this.#count -= 1;
      return;
    }
    if (this.#waiting.length === 0) this.#tellAll(false);
    next();
  }

  #tellAll(isWanted: boolean): void {
    for (const owner of this.#owners) owner.wanted(isWanted);
  }
}

/** Where the lanes of an actor run. */
export interface SeatLanesOptions {
  readonly places: LanePlaces;
  readonly startLane: StartLane;
}

/** Whose lanes they are. */
export type LaneDatabase = Pick<LaneStart, 'identity' | 'generation'>;

/** The lanes of one actor, whose threads this thread starts. */
export class SeatLanes implements LaneOwner {
  readonly #options: SeatLanesOptions | undefined;
  readonly #database: LaneDatabase;
  readonly #send: (message: LaneNews) => void;
  readonly #lanes = new Map<number, LaneThread>();

  constructor(
    options: SeatLanesOptions | undefined,
    { identity, generation }: LaneDatabase,
    send: (message: LaneNews) => void,
  ) {
    this.#options = options;
    this.#database = { identity, generation };
    this.#send = send;
  }

  /** Lanes that there are, and those that wait for a place. */
  get count(): number {
    return this.#lanes.size;
  }

  start({ lane, start: asked, port }: LaneRequestMessage): void {
    const options = this.#options;
    // In whose name the lane sends requests, and reads values, is not for its actor to say.
    const start = { ...asked, ...this.#database };
    if (options === undefined) throw new Error('it was given no lanes');
    const { places, startLane } = options;
    if (this.#lanes.size === 0) places.join(this);
    let thread: LaneThread | undefined;
    const ended = (death: LaneDeath): void => {
      if (!this.#lanes.delete(lane)) return;
      if (this.#lanes.size === 0) places.leave(this);
      if (thread !== undefined) places.release();
      this.#send({ kind: 'laneEnded', lane, death });
    };
    let withdraw: () => void = () => undefined;
    let isReplaced = false;
    this.#lanes.set(lane, {
      replaced: () => {
        isReplaced = true;
        thread?.replaced();
      },
      end: (death) => {
        if (thread !== undefined) {
          thread.end(death);
          return;
        }
        withdraw();
        port.close();
        ended(death);
      },
    });
    withdraw = places.enter(() => {
      thread = startLane(start, port, ended);
      if (isReplaced) thread.replaced();
    });
  }

  replaced(lane: number): void {
    this.#lanes.get(lane)?.replaced();
  }

  end(lane: number, death: LaneDeath): void {
    this.#lanes.get(lane)?.end(death);
  }

  get isEmpty(): boolean {
    return this.#lanes.size === 0;
  }

  /** Their database is gone. */
  endAll(): void {
    for (const lane of this.#lanes.values()) lane.end(gone);
  }

  wanted(isWanted: boolean): void {
    this.#send({ kind: 'lanesWanted', isWanted });
  }
}

const gone: LaneDeath = { cause: 'closed', message: 'The database of the procedure ended.' };
