import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Client } from '../../src/client/client.ts';
import type { ReducerOutcome } from '../../src/protocol/v2/server-message.ts';
import {
  type Hero,
  hero,
  liveRig,
  querySets,
  type Rig,
  settled,
  tableRows,
  update,
} from './rig.ts';
import type * as tavern from './tavern.ts';

/** Heroes by id: what the server has, or what is shown. */
type Heroes = Map<number, string>;

/** A call without an answer: what it is expected to do, and what it does. */
interface Pending {
  readonly predict: (heroes: Heroes) => void;
  readonly effect: (heroes: Heroes) => void;
  readonly isSafe: boolean;
}

const small = fc.nat({ max: 3 });
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'insert' as const,
        'rename' as const,
        'remove' as const,
        'temp' as const,
      ),
      id: small,
      other: small,
      isRight: fc.boolean(),
      isSafe: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('change' as const, 'drop' as const, 'fail' as const),
      id: small,
      other: small,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('succeed' as const), id: small, other: small }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** A prediction as the slow model makes it: all of it, or nothing when it throws. */
function replay(server: Heroes, pending: readonly Pending[]): Heroes {
  let shown = new Map(server);
  for (const { predict } of pending) {
    const next = new Map(shown);
    try {
      predict(next);
      shown = next;
    } catch {
      // As if it had not been made.
    }
  }
  return shown;
}

class Run {
  readonly rig: Rig;
  readonly server: Heroes = new Map([1, 3].map((id) => [id, `n${id}`]));
  pending: Pending[] = [];
  /** What the callbacks add up to: of those who hear of predictions, and of the others. */
  readonly shown: Heroes;
  readonly told: Heroes;
  readonly watched: Heroes = new Map();
  #answered = 0;
  #temps = 0;

  constructor(rig: Rig) {
    this.rig = rig;
    this.shown = follow(rig.client, true);
    this.told = follow(rig.client, false);
    const watch = rig.client.watch('SELECT * FROM hero WHERE id < 2 OR id > 1000');
    watch.subscribe(() => {});
    watch.onChange((changes) => {
      for (const change of changes) {
        if (change.kind === 'update') this.watched.delete(Number(change.old.id));
        if (change.kind === 'delete') this.watched.delete(Number(change.row.id));
        else this.watched.set(Number(change.row.id), String(change.row.nick));
      }
    });
  }

  async take(given: Step): Promise<void> {
    const { kind, id, other } = given;
    if (kind === 'change') await this.#serve(changeOf(id, other));
    else if (kind === 'drop') await this.#drop(changeOf(id, other));
    else if (kind === 'fail' || kind === 'succeed') await this.#answer(kind === 'fail', other);
    else await this.#call(given);
  }

  async #call({ kind, id, other, isRight, isSafe }: Extract<Step, { isSafe: boolean }>) {
    const nick = `c${id}${other}`;
    if (kind === 'temp') this.#temps += 1;
    const [temp, real] = kind === 'temp' ? [2 ** 32 - this.#temps, 100 + this.#temps] : [id, id];
    const insertAt = (at: number) => (heroes: Heroes) => {
      if (heroes.has(at)) throw new Error('there already');
      heroes.set(at, nick);
    };
    const rename = (heroes: Heroes) => {
      const old = heroes.get(id);
      if (old !== undefined) heroes.set(id, `${old.slice(0, 8)}+${other}`);
    };
    const remove = (heroes: Heroes) => void heroes.delete(id);
    const [predict, effect] =
      kind === 'rename'
        ? [rename, rename]
        : kind === 'remove'
          ? [remove, remove]
          : [insertAt(temp), insertAt(real)];
    this.pending.push({ predict, effect: isRight ? effect : changeOf(other, id), isSafe });
    const call = this.rig.client.reducers.ping.result(
      {},
      {
        retry: isSafe,
        optimistic: (draft) => {
          const row = hero(id, { nick });
          const found = draft.hero.find(id);
          if (kind === 'insert') draft.hero.insert(row);
          else if (kind === 'temp') draft.hero.insert({ ...row, id: draft.tempId() });
          else if (kind === 'remove') draft.hero.delete(row);
          else if (found !== null) {
            draft.hero.update({ ...found, nick: `${found.nick.slice(0, 8)}+${other}` });
          }
        },
      },
    );
    call.catch(() => {});
    await settled();
  }

  /** Others change something. */
  async #serve(change: (heroes: Heroes) => void): Promise<void> {
    const updates = this.#updates(change);
    if (updates.length > 0) await this.rig.socket.send(update(...updates));
  }

  /** The oldest call is answered. */
  async #answer(isFailure: boolean, other: number): Promise<void> {
    const [call, ...rest] = this.pending;
    if (call === undefined) return;
    const { requestId = -1 } = this.rig.socket.of('callReducer')[this.#answered] ?? {};
    this.#answered += 1;
    this.pending = rest;
    let outcome: ReducerOutcome = { kind: 'internalError', message: 'no' };
    if (!isFailure) {
      const sets = querySets(...this.#updates(call.effect));
      outcome =
        sets.length === 0 && other % 2 === 0
          ? { kind: 'okEmpty' }
          : { kind: 'ok', returned: new Uint8Array(0), querySets: sets };
    }
    await this.rig.socket.send({ kind: 'reducerResult', requestId, timestamp: 1n, outcome });
  }

  async #drop(change: (heroes: Heroes) => void): Promise<void> {
    const { rig } = this;
    await rig.socket.drop();
    this.pending = this.pending.filter(({ isSafe }) => isSafe);
    this.check();
    change(this.server);
    await rig.platform.advance(20_000);
    await rig.socket.open();
    await rig.socket.welcome();
    this.#answered = 0;
    for (const set of [0, 1]) await rig.socket.apply(set, tableRows('hero', ...this.#rows(set)));
  }

  #rows(set: number): Hero[] {
    return rowsOf(this.server).filter(({ id }) => set === 0 || isWatched(id));
  }

  #updates(change: (heroes: Heroes) => void) {
    const before = [0, 1].map((set) => this.#rows(set));
    try {
      change(this.server);
    } catch {
      return [];
    }
    return [0, 1].flatMap((querySetId) => {
      const [old = [], now] = [before[querySetId], this.#rows(querySetId)];
      const isIn = (rows: readonly Hero[], { id, nick }: Hero) =>
        rows.some((row) => row.id === id && row.nick === nick);
      const inserts = now.filter((row) => !isIn(old, row));
      const deletes = old.filter((row) => !isIn(now, row));
      if (inserts.length + deletes.length === 0) return [];
      return [{ querySetId, table: 'hero', inserts, deletes }];
    });
  }

  check(): void {
    const expected = replay(this.server, this.pending);
    const { client, platform } = this.rig;
    const rows = new Map([...client.db.hero].map(({ id, nick }) => [id, nick]));
    expect(sorted(rows)).toEqual(sorted(expected));
    expect(sorted(this.shown)).toEqual(sorted(expected));
    for (const [id, nick] of expected) {
      expect(client.db.hero.id.find(id)?.nick).toBe(nick);
      expect([...client.db.hero.mood.filter({ tag: 'Calm' })].length).toBe(expected.size);
    }
    const watched = new Map([...expected].filter(([id]) => isWatched(id)));
    const watch = client.watch<Hero>('SELECT * FROM hero WHERE id < 2 OR id > 1000').get();
    expect(sorted(new Map(watch.rows.map(({ id, nick }) => [id, nick])))).toEqual(sorted(watched));
    expect(sorted(this.watched)).toEqual(sorted(watched));
    const threw = platform.reported.filter((error) => !/has a row/.test(String(error)));
    expect(threw).toEqual([]);
  }
}

function isWatched(id: number): boolean {
  return id < 2 || id > 1000;
}

function changeOf(id: number, other: number) {
  return (heroes: Heroes) => {
    if (other % 3 === 0) heroes.delete(id);
    else heroes.set(id, `s${other}`);
  };
}

function rowsOf(heroes: Heroes): Hero[] {
  return [...heroes].map(([id, nick]) => hero(id, { nick }));
}

function sorted(heroes: Heroes): [number, string][] {
  return [...heroes].sort(([a], [b]) => a - b);
}

/** Told changes must fit what was told before. */
function follow(client: Client<typeof tavern>, includeOptimistic: boolean): Heroes {
  const heroes: Heroes = new Map();
  const options = { includeOptimistic };
  client.db.hero.onInsert((_ctx, { id, nick }) => {
    expect(heroes.has(id)).toBe(false);
    heroes.set(id, nick);
  }, options);
  client.db.hero.onUpdate((_ctx, old, { id, nick }) => {
    expect(heroes.get(old.id)).toBe(old.nick);
    heroes.delete(old.id);
    heroes.set(id, nick);
  }, options);
  client.db.hero.onDelete((_ctx, { id, nick }) => {
    expect(heroes.get(id)).toBe(nick);
    heroes.delete(id);
  }, options);
  return heroes;
}

describe('optimistic calls against a model', () => {
  it('[client-sdk 15] show the replay of what is pending, and tell what changes of it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const rig = await liveRig();
        await import('../../src/client/optimistic.ts');
        await import('../../src/client/one-table-query.ts');
        await settled();
        rig.client.subscribe('SELECT * FROM hero');
        const run = new Run(rig);
        await settled();
        const all = rowsOf(run.server);
        await rig.socket.apply(0, tableRows('hero', ...all));
        await rig.socket.apply(1, tableRows('hero', ...all.filter(({ id }) => isWatched(id))));
        run.check();
        for (const each of steps) {
          await run.take(each);
          run.check();
          expect(sorted(run.told)).toEqual(sorted(run.server));
        }
        rig.client.disconnect();
      }),
      { numRuns: 200 },
    );
  });
});
