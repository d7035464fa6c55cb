import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hero, liveRig, type Rig, settled, tableRows, update } from './rig.ts';

/**
 * Whatever happens in whatever order, each set is told of as `QuerySetListener` says, and each call
 * is settled once. What the server says may be late, early or about what is long over.
 */
const happenings = [
  ...['subscribe', 'subscribeBadly', 'unsubscribe', 'call', 'callRepeatable', 'callPredicted'],
  ...['flush', 'apply', 'apply', 'end', 'fail', 'change', 'answer', 'refuse'],
  ...['drop', 'return', 'return', 'open', 'welcome', 'wait'],
] as const;
const steps = fc.array(
  fc.record({ what: fc.constantFrom(...happenings), which: fc.nat({ max: 9 }) }),
  { maxLength: 60 },
);

/** What one set or one call was told. */
interface Story {
  readonly what: string;
  readonly told: string[];
}

class World {
  readonly stories: Story[] = [];
  readonly #rig: Rig;
  readonly #sets: { unsubscribe(): void }[] = [];
  readonly #isDisconnecting: boolean;
  readonly #opened: Set<unknown>;
  readonly #welcomed: Set<unknown>;

  /** `rig` is live; `isDisconnecting`: in the callback of a set that fails. */
  constructor(rig: Rig, isDisconnecting: boolean) {
    this.#rig = rig;
    this.#opened = new Set([rig.socket]);
    this.#welcomed = new Set([rig.socket]);
    this.#isDisconnecting = isDisconnecting;
  }

  async step(what: (typeof happenings)[number], which: number): Promise<void> {
    const { socket, platform } = this.#rig;
    const [first = -1] = socket
      .of('callReducer')
      .slice(which % 3)
      .map((call) => call.requestId);
    switch (what) {
      case 'subscribe':
      case 'subscribeBadly':
        this.#subscribe(what === 'subscribe');
        break;
      case 'unsubscribe':
        this.#sets[which % Math.max(1, this.#sets.length)]?.unsubscribe();
        break;
      case 'call':
      case 'callRepeatable':
      case 'callPredicted':
        this.#call(what);
        break;
      case 'flush':
        await settled();
        break;
      case 'apply':
        await socket.apply(which, tableRows('hero', hero(which), hero(which + 1)));
        break;
      case 'end':
        await socket.send({
          kind: 'unsubscribeApplied',
          requestId: 0,
          querySetId: which,
          tables: undefined,
        });
        break;
      case 'fail':
        await socket.send({
          kind: 'subscriptionError',
          requestId: undefined,
          querySetId: which,
          error: 'no',
        });
        break;
      case 'change':
        await socket.send(update({ querySetId: which, table: 'hero', inserts: [hero(which + 2)] }));
        break;
      case 'answer':
      case 'refuse': {
        const outcome =
          what === 'answer'
            ? ({ kind: 'okEmpty' } as const)
            : ({ kind: 'internalError', message: 'no' } as const);
        await socket.send({ kind: 'reducerResult', requestId: first, timestamp: 1n, outcome });
        break;
      }
      case 'drop':
        await socket.drop();
        break;
      case 'open':
        await this.#open();
        break;
      case 'welcome':
        await this.#open();
        await this.#welcome();
        break;
      case 'return':
        await socket.drop();
        await platform.advance(20_000);
        await this.#open();
        await this.#welcome();
        break;
      case 'wait':
        await platform.advance(6_000);
    }
  }

  async #open(): Promise<void> {
    const { socket } = this.#rig;
    if (!this.#opened.has(socket)) await socket.open();
    this.#opened.add(socket);
  }

  async #welcome(): Promise<void> {
    const { socket } = this.#rig;
    if (!this.#welcomed.has(socket)) await socket.welcome();
    this.#welcomed.add(socket);
  }

  #subscribe(isGood: boolean): void {
    const told: string[] = [];
    const { client } = this.#rig;
    const query = () => {
      throw new Error('bad');
    };
    const set = client.subscribe(isGood ? 'SELECT * FROM hero' : query, {
      onApplied: () => told.push('applied'),
      onError: () => {
        told.push('failed');
        if (this.#isDisconnecting) client.disconnect();
      },
    });
    set.applied.then(
      () => told.push('resolved'),
      () => told.push('rejected'),
    );
    this.stories.push({ what: 'set', told });
    this.#sets.push(set);
  }

  #call(what: string): void {
    const told: string[] = [];
    const options = {
      retry: what === 'callRepeatable',
      ...(what === 'callPredicted' && {
        optimistic: (draft: { hero: { insert(row: object): unknown } }) => {
          draft.hero.insert(hero(1_000 + told.length));
        },
      }),
    };
    this.#rig.client.reducers.ping(undefined, options as object).then(
      () => told.push('resolved'),
      () => told.push('rejected'),
    );
    this.stories.push({ what: 'call', told });
  }
}

describe('whatever happens', () => {
  it('[client-sdk 4, 13] each set and each call has one end, and nothing is left', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.boolean(), async (given, isDisconnecting) => {
        const rig = await liveRig();
        const { client, platform } = rig;
        const world = new World(rig, isDisconnecting);
        for (const { what, which } of given) await world.step(what, which);
        client.disconnect();
        await settled();
        for (const { what, told } of world.stories) {
          const times = (word: string) => told.filter((each) => each === word).length;
          expect([what, told, times('resolved') + times('rejected')]).toEqual([what, told, 1]);
          expect(times('applied')).toBeLessThanOrEqual(1);
          expect(times('failed')).toBeLessThanOrEqual(1);
          if (what === 'set') expect(times('applied')).toBe(times('resolved'));
        }
        expect(client.pendingCalls.get()).toEqual([]);
        expect([platform.reported, platform.timerCount, platform.wakeCount]).toEqual([[], 0, 0]);
      }),
      { numRuns: 300 },
    );
  });
});
