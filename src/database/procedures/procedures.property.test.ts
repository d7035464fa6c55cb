import { describe, expect, it } from 'vitest';
import { InlineDesk, type LaneBody } from '../../../test/support/inline-desk.ts';
import {
  accountArgs,
  accountType,
  LaneAccounts,
  ProcedureDatabase,
  reducerIds,
} from '../../../test/support/procedure-database.ts';
import { someSeeds } from '../../../test/support/share.ts';
import { present } from '../../assert.ts';
import type { ReducerEnd } from '../../module/lane.ts';
import type { ReducerCall } from '../../module/runner.ts';
import { nextTurn } from '../../node/next-turn.ts';
import { Random } from '../../testing/random.ts';
import { decodeValue } from '../../values/decode.ts';
import { encodeValue } from '../../values/encode.ts';

type Accounts = Map<number, number>;

/** Something that happened at one moment. */
interface Event {
  /** The offset of the rows that it saw. */
  readonly at: number;
  /** Checks what it saw against the rows of the model, and applies what it committed. */
  readonly apply: (model: Accounts) => void;
}

/** What a run of `add` has returned; `undefined`: it has refused. */
interface Added {
  amount: number | undefined;
}

const u32 = { kind: 'u32' } as const;
const idMax = 12;

function sorted(accounts: Accounts): [number, number][] {
  return [...accounts].sort(([one], [other]) => one - other);
}

/** Runs random procedures, reducers and statements at once, and notes what each saw and did. */
class Market {
  readonly events: Event[] = [];
  readonly #random: Random;
  /** Runs of `add` of which their lanes were not told yet. */
  readonly #adding: Added[] = [];
  #lastAmount = 1_000_000;
  #database: ProcedureDatabase | undefined;
  /** How the requests of a round ended. */
  readonly endings = { committed: 0, aborted: 0, spanned: 0 };

  constructor(random: Random) {
    this.#random = random;
  }

  get database(): ProcedureDatabase {
    return present(this.#database, 'the database');
  }

  async open(): Promise<void> {
    const desk = new InlineDesk({ run: () => this.#body() }, { lanesMax: 3 });
    const ran = (run: ReducerCall): void => this.#ran(run);
    this.#database = await ProcedureDatabase.open(['run'], desk, { ran });
  }

  async round(): Promise<void> {
    const random = this.#random;
    const running: Promise<unknown>[] = [];
    for (let left = random.between(1, 12); left > 0; left--) {
      running.push(this.#request());
      if (random.chance(0.3)) await nextTurn();
    }
    await Promise.all(running);
  }

  async #request(): Promise<void> {
    const random = this.#random;
    const kind = random.below(5);
    const id = random.below(idMax);
    const amount = random.below(1_000);
    if (kind <= 2) {
      const outcome = await this.database.procedure('run', random.u32());
      expect(outcome.kind).toBe('returned');
    } else if (kind === 3) {
      const outcome = await this.database.put(id, amount);
      expect(outcome.kind).toBe('committed');
    } else {
      // Each statement writes another amount, so that each changes the rows that it finds.
      this.#lastAmount += 1;
      const to = this.#lastAmount;
      const text = `UPDATE account SET amount = ${to} WHERE id > ${id}`;
      const { offset, updated } = await this.database.sql(text);
      this.#note(updated === 0 ? offset : offset - 1, (model) => {
        const ids = [...model.keys()].filter((one) => one > id);
        expect(updated).toBe(ids.length);
        for (const one of ids) model.set(one, to);
      });
    }
  }

  #note(at: number, apply: Event['apply']): void {
    this.events.push({ at, apply });
  }

  /** Notes a run of a reducer, whoever called it. */
  #ran({ reducerName, args }: ReducerCall): void {
    if (reducerName !== 'put' && reducerName !== 'add') return;
    const [id, amount] = decodeValue(accountType, args) as [number, number];
    const at = this.database.offset;
    if (reducerName === 'put') {
      this.#note(at, (model) => void model.set(id, amount));
      return;
    }
    const added: Added = { amount: undefined };
    this.#adding.push(added);
    this.#note(at, (model) => {
      const before = model.get(id);
      expect(added.amount).toBe(before === undefined ? undefined : before + amount);
      if (before !== undefined) model.set(id, before + amount);
    });
  }

  *#body(): ReturnType<LaneBody> {
    for (let left = this.#random.between(0, 4); left > 0; left--) {
      const kind = this.#random.below(4);
      if (kind === 0) yield { kind: 'wait', until: nextTurn() };
      else if (kind === 1) yield* this.#add();
      else if (kind === 2) yield* this.#look();
      else yield* this.#change();
    }
    return encodeValue({ kind: 'u32' }, 0);
  }

  /** Calls a reducer. */
  *#add(): ReturnType<LaneBody> {
    const id = this.#random.below(idMax);
    const by = this.#random.below(100);
    const answer = yield { kind: 'reducer', id: reducerIds.add, args: accountArgs(id, by) };
    if (answer.kind !== 'reducer') throw new Error('a reducer was not answered as one');
    const { end } = answer;
    // Lanes are told in the order in which their reducers ran.
    const added = present(this.#adding.shift(), 'a reducer that ran');
    if (end.kind === 'returned') added.amount = Number(decodeValue(u32, value(end)));
    else expect(end).toEqual({ kind: 'refused', message: 'no such account' });
    return noValue;
  }

  /** A read that ends at once, or goes on while others write. */
  *#look(): ReturnType<LaneBody> {
    const random = this.#random;
    let left = random.below(4);
    let at = -1;
    const seen: [number, number][][] = [];
    if (left > 0) this.endings.spanned += 1;
    yield {
      kind: 'read',
      run: (data) => {
        if (at < 0) at = this.database.offset;
        const accounts = new LaneAccounts(data);
        const [first, last] = [random.below(idMax), random.below(idMax)];
        const all = accounts.all();
        seen.push(sorted(all));
        expect(accounts.count).toBe(all.size);
        expect(accounts.get(first)).toBe(all.get(first));
        const within = sorted(all).filter(([id]) => id >= first && id <= last);
        expect([...accounts.rest(accounts.range(first, last))]).toEqual(within);
        left -= 1;
        return left < 0 ? 'commit' : 'late';
      },
    };
    this.#note(at, (model) => {
      for (const rows of seen) expect(rows).toEqual(sorted(model));
    });
    return noValue;
  }

  /** A transaction that reads and writes, and commits or aborts. */
  *#change(): ReturnType<LaneBody> {
    const random = this.#random;
    const steps: ((model: Accounts) => void)[] = [];
    const isKept = random.chance(0.8);
    let at = -1;
    yield {
      kind: 'write',
      run: (data) => {
        at = this.database.offset;
        const accounts = new LaneAccounts(data);
        for (let left = random.below(5); left > 0; left--) steps.push(this.#step(accounts));
        return isKept ? 'commit' : 'abort';
      },
    };
    this.endings[isKept ? 'committed' : 'aborted'] += 1;
    this.#note(at, (model) => {
      const copy = new Map(model);
      for (const step of steps) step(copy);
      if (!isKept) return;
      model.clear();
      for (const [id, amount] of copy) model.set(id, amount);
    });
    return noValue;
  }

  #step(accounts: LaneAccounts): (model: Accounts) => void {
    const random = this.#random;
    const id = random.below(idMax);
    switch (random.below(4)) {
      case 0: {
        const amount = accounts.get(id);
        return (model) => expect(model.get(id)).toBe(amount);
      }
      case 1: {
        const amount = random.below(1_000);
        accounts.put(id, amount);
        return (model) => void model.set(id, amount);
      }
      case 2: {
        const count = accounts.delete(id);
        return (model) => expect(Number(model.delete(id))).toBe(count);
      }
      default: {
        const all = sorted(accounts.all());
        return (model) => expect(sorted(model)).toEqual(all);
      }
    }
  }
}

const noValue = new Uint8Array(0);

function value({ value: bytes }: Extract<ReducerEnd, { kind: 'returned' }>): Uint8Array {
  return present(bytes, 'a value');
}

describe('procedures beside reducers and statements', () => {
  it.each(someSeeds(7_000, 20))(
    '[living 2.3, 2.4] are strictly serial: a slow model sees what they saw (seed %i)',
    async (seed) => {
      const market = new Market(new Random(seed));
      await market.open();
      for (let round = 0; round < 25; round++) await market.round();
      const model = replayed(market.events);
      expect(sorted(model)).toEqual(sorted(market.database.accounts()));
      expect(market.database.stopped).toBeUndefined();
      expect(market.database.clientCount).toBe(0);
      const { committed, aborted, spanned } = market.endings;
      expect(Math.min(committed, aborted, spanned)).toBeGreaterThan(0);
      await market.database.database.close();
    },
  );
});

/** Applies the events in the order of their offsets, and checks what each saw. */
function replayed(events: readonly Event[]): Accounts {
  const byOffset = new Map<number, Event[]>();
  for (const event of events) byOffset.set(event.at, [...(byOffset.get(event.at) ?? []), event]);
  let model: Accounts = new Map();
  for (const at of [...byOffset.keys()].sort((one, other) => one - other)) {
    // All of them saw the same rows, and at most one of them has changed those.
    const before = JSON.stringify(sorted(model));
    const changed: Accounts[] = [];
    for (const event of byOffset.get(at) ?? []) {
      const copy = new Map(model);
      event.apply(copy);
      if (JSON.stringify(sorted(copy)) !== before) changed.push(copy);
    }
    expect(changed.length).toBeLessThanOrEqual(1);
    model = changed[0] ?? model;
  }
  return model;
}
