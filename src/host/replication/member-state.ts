import type { Lead } from '../../shared-log/entry-payloads.ts';
import type { DatabaseRole } from './database-role.ts';

/** What an operator sees of this host's part in a database. */
export interface MemberState {
  readonly role: DatabaseRole['kind'];
  /** The last term in its log; 0: nobody has led yet, or it is not known. */
  readonly term: number;
  /** Who leads by the last entry that says so; absent where this host does, or does not know. */
  readonly leader: Pick<Lead, 'host' | 'name' | 'address'> | undefined;
  /** The last commit that this host has, and the last that it knows to be acknowledged. */
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
  #term = 0;
  #leader: Lead | undefined;
  #seenAt: number | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  get role(): DatabaseRole {
    return this.#role;
  }

  note(role: DatabaseRole): void {
    this.#role = role;
    if (role.kind === 'follower') {
      this.#term = role.term;
      this.#leader = role.leader;
      if (role.isAtEnd) this.#seenAt = this.#now();
    } else if (role.kind === 'leader') {
      this.#term = role.term;
      this.#leader = undefined;
      this.#seenAt = undefined;
    }
  }

  /** `led`: of the database, where this host leads it. */
  state(led: LedOffsets | undefined): MemberState {
    const role = this.#role;
    const isLeader = role.kind === 'leader';
    const age = this.#seenAt === undefined ? undefined : this.#now() - this.#seenAt;
    const follower = role.kind === 'follower' ? role : undefined;
    return {
      role: role.kind,
      term: this.#term,
      leader: this.#leader,
      offset: isLeader ? led?.offset : follower?.end.offset,
      acknowledgedOffset: isLeader ? led?.durableOffset : follower?.settledOffset,
      ageMillis: isLeader ? 0 : age,
      reason: role.kind === 'broken' ? role.reason : undefined,
    };
  }
}
