import type { Lead } from '../../shared-log/entry-payloads.ts';
import type { DatabaseRole, FollowerRole } from './database-role.ts';

/** What an operator sees of this host's part in a database. */
export interface MemberState {
  readonly role: DatabaseRole['kind'];
  /** Whose log it is; `undefined`: it is not known yet. */
  readonly generation: number | undefined;
  /** The last term in its log; 0: nobody has led yet, or it is not known. */
  readonly term: number;
  /** Who leads by the last entry that says so; absent where this host does, or does not know. */
  readonly leader: Pick<Lead, 'host' | 'name' | 'address'> | undefined;
  /**
   * The last commit that this host has, and the last that it knows to be acknowledged; where it
   * neither leads nor follows now, those that it knew when it did, absent if it has not since it
   * started.
   */
  readonly offset: number | undefined;
  readonly acknowledgedOffset: number | undefined;
  /**
   * How long ago this host has last read to the end of the log, by what the engine showed; 0 where
   * it leads, absent where it never has.
   */
  readonly ageMillis: number | undefined;
  /** Why it is broken. */
  readonly reason: string | undefined;
}

/** What a leader's database says of itself. */
export interface LedOffsets {
  readonly offset: number;
  readonly durableOffset: number;
}

/** This host's part in one database, with the time at which it was last at the end of its log. */
export class SeenRole {
  readonly #now: () => number;
  #role: DatabaseRole = { kind: 'opening' };
  #generation: number | undefined;
  #term = 0;
  #leader: Lead | undefined;
  #seenAt: number | undefined;
  /** What it knew when it followed last; `led`: it has led since. */
  #last: 'led' | Pick<FollowerRole, 'end' | 'settledOffset'> | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  get role(): DatabaseRole {
    return this.#role;
  }

  /** `generation`: of its log; offsets of an earlier one say nothing of it. */
  note(role: DatabaseRole, generation = 0): void {
    this.#role = role;
    if (generation !== this.#generation) {
      this.#generation = generation;
      this.#term = 0;
      this.#last = undefined;
    }
    if (role.kind === 'follower') {
      this.#term = role.term;
      this.#leader = role.leader;
      this.#last = { end: role.end, settledOffset: role.settledOffset };
      if (role.isAtEnd) this.#seenAt = this.#now();
    } else if (role.kind === 'leader') {
      this.#term = role.term;
      this.#leader = undefined;
      this.#seenAt = undefined;
      this.#last = 'led';
    }
  }

  /** `led`: of the database, where this host leads it, or has not followed since it did. */
  state(led: LedOffsets | undefined): MemberState {
    const role = this.#role;
    const isLeader = role.kind === 'leader';
    const age = this.#seenAt === undefined ? undefined : this.#now() - this.#seenAt;
    const last = this.#last;
    return {
      role: role.kind,
      generation: this.#generation,
      term: this.#term,
      leader: this.#leader,
      offset: last === 'led' ? led?.offset : last?.end.offset,
      acknowledgedOffset: last === 'led' ? led?.durableOffset : last?.settledOffset,
      ageMillis: isLeader ? 0 : age,
      reason: role.kind === 'broken' ? role.reason : undefined,
    };
  }
}
