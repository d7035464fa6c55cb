import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { CommitOffset } from '../database/outcome.ts';
import type { ArrivingClient, DeskPlace, DeskSink } from '../host/replication/leader-desk.ts';
import type { AttachedRequest } from '../host/replication/leader-line.ts';
import { limits } from '../limits.ts';
import { connectionNumber } from '../values/connection-number.ts';
import { callerIdentity, databaseIdentity } from '../values/identity-roles.ts';
import type { AttachedLeader } from './attached.ts';
import { Attachments } from './attachments.ts';

const database = databaseIdentity(5n);

/** What all leaders have done: the history, and who is in the client table. */
class History {
  readonly done: number[] = [];
  came = 0;
  went = 0;
  isThere = false;
}

/** A leader that does some of what it is asked, answers some of that, and is lost. */
class SimulatedLeader implements AttachedLeader {
  hasEnded = false;
  readonly #history: History;
  #place: { readonly sink: DeskSink; readonly client: ArrivingClient } | undefined;
  #waiting: AttachedRequest[] = [];
  #answers: AttachedRequest[] = [];
  #isConnected = false;
  #isTold = false;
  #closes = false;

  constructor(history: History) {
    this.#history = history;
  }

  admit(client: ArrivingClient, sink: DeskSink): DeskPlace {
    const place = { sink, client };
    this.#place = place;
    const isHere = (): boolean => this.#place === place;
    return {
      isFull: false,
      isReached: true,
      send: (request) => {
        if (isHere()) this.#waiting.push(request);
      },
      close: async () => {
        if (isHere()) this.#closes = true;
      },
    };
  }

  /** Does so many of its requests. */
  work(count: number): void {
    const place = this.#place;
    if (place === undefined || this.hasEnded) return;
    const history = this.#history;
    if (!this.#isConnected) {
      const { stays } = place.client;
      if (stays === 'announced' && !history.isThere) {
        this.#leave();
        place.sink.ended({ kind: 'live', reason: 'database' });
        return;
      }
      if (!history.isThere) history.came += 1;
      history.isThere = true;
      this.#isConnected = true;
    }
    for (const request of this.#waiting.splice(0, count)) {
      history.done.push(request.requestId);
      this.#answers.push(request);
    }
    if (this.#closes && this.#waiting.length === 0) {
      history.isThere = false;
      history.went += 1;
      this.#leave();
    }
  }

  /** Says so much of what it has done. */
  say(count: number): void {
    const place = this.#place;
    if (place === undefined || !this.#isConnected) return;
    if (!this.#isTold) place.sink.connected(1 as CommitOffset);
    this.#isTold = true;
    for (const request of this.#answers.splice(0, count)) {
      const outcome = { kind: 'committed', offset: 1 as CommitOffset, micros: 0 } as const;
      place.sink.answered(request, { kind: 'called', outcome, timestampMicros: 0n });
    }
  }

  /** `isSaid`: it says what it has not done; otherwise its process ends. */
  lose(isSaid: boolean): void {
    const place = this.#place;
    const undone = isSaid ? [...this.#waiting] : [];
    this.#leave();
    this.hasEnded = !isSaid;
    place?.sink.lost(undone);
  }

  #leave(): void {
    this.#place = undefined;
    this.#waiting = [];
    this.#answers = [];
    this.#isConnected = false;
    this.#isTold = false;
    this.#closes = false;
  }
}

const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('send' as const), count: fc.integer({ min: 1, max: 5 }) }),
    fc.record({ kind: fc.constant('work' as const), count: fc.integer({ min: 0, max: 5 }) }),
    fc.record({ kind: fc.constant('say' as const), count: fc.integer({ min: 0, max: 5 }) }),
    fc.record({ kind: fc.constant('lose' as const), isSaid: fc.boolean() }),
    fc.record({ kind: fc.constant('next' as const) }),
    fc.record({ kind: fc.constant('wait' as const), millis: fc.integer({ min: 1, max: 700 }) }),
  ),
  { maxLength: 60 },
);

it('[replication 12.6, 12.8] does each call at most once, in order, and answers it', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (plan) => {
      const history = new History();
      let now = 0;
      let leader = new SimulatedLeader(history);
      const attachments = new Attachments({ now: () => now, me: 'b', leaderOf: () => leader });
      const told = new Map<number, string>();
      const order: number[] = [];
      let [connected, ends, last] = [0, 0, 0];
      const caller = {
        ...{ identity: callerIdentity(1n), token: '', payload: '', tokenId: '' },
        isAnonymous: false,
      };
      const attachment = attachments.attach(
        {
          ...{ database, connectionId: connectionNumber(9n), caller, confirmed: true },
          ...{ protocol: 'v2', sinceMillis: 0 },
        },
        {
          connected: () => void connected++,
          ended: () => void ends++,
          answered: ({ requestId }, { kind }) => {
            expect(told.has(requestId)).toBe(false);
            told.set(requestId, kind);
            order.push(requestId);
          },
        },
      );
      const look = async (): Promise<void> => {
        attachments.changed(database);
        await Promise.resolve();
      };
      const send = (): void => {
        const args = new Uint8Array(1);
        last += 1;
        attachment.send({
          ...{ kind: 'call', requestId: last, reducer: 'r', args },
          schemaVersion: undefined,
        });
      };
      await look();
      for (const step of plan) {
        if (step.kind === 'send') for (let at = 0; at < step.count; at++) send();
        if (step.kind === 'work') leader.work(step.count);
        if (step.kind === 'say') leader.say(step.count);
        if (step.kind === 'lose') leader.lose(step.isSaid);
        if (step.kind === 'next') leader = new SimulatedLeader(history);
        if (step.kind === 'wait') now += step.millis;
        if (leader.hasEnded) leader = new SimulatedLeader(history);
        await look();
      }
      // One that stays does everything that is left.
      leader = new SimulatedLeader(history);
      for (let at = 0; at < 4; at++) {
        await look();
        now += limits.waitLeaderMillis / 8;
        await look();
        leader.work(Number.POSITIVE_INFINITY);
        leader.say(Number.POSITIVE_INFINITY);
      }
      expect(history.done).toEqual([...new Set(history.done)].sort((one, other) => one - other));
      expect([connected, ends, told.size, attachment.unanswered]).toEqual([1, 0, last, 0]);
      expect(order).toEqual([...order].sort((one, other) => one - other));
      for (const [id, kind] of told) {
        if (kind === 'called') expect(history.done).toContain(id);
        if (kind === 'refused') expect(history.done).not.toContain(id);
      }
      attachment.close();
      leader.work(1);
      expect([history.came, history.went, history.isThere]).toEqual([1, 1, false]);
      expect(attachments.count).toBe(0);
    }),
    { numRuns: 300 },
  );
});
