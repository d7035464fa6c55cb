import { beforeEach, expect, it } from 'vitest';
import type { OwnCommit } from '../../database/live/own-commit.ts';
import { type CommitOffset, commitOffset } from '../../store/commit-offset.ts';
import { connectionNumber } from '../../values/connection-number.ts';
import type { AttachedAnswer, AttachedRequest, AttachedSink } from '../replication/leader-line.ts';
import { EventQueue } from './event-queue.ts';
import { FarCalls } from './far-calls.ts';
import type { LiveCall, LiveEvent, SetUpdate } from './live-connection.ts';

let shown: CommitOffset;
let shownTerm: number;
let sink: AttachedSink;
let sent: AttachedRequest[];
let unsent: AttachedRequest[];
let leaderLives: boolean;
let queue: EventQueue;
let calls: FarCalls;

beforeEach(() => {
  [shown, shownTerm] = [commitOffset(0), 1];
  [sent, unsent, queue] = [[], [], new EventQueue()];
  leaderLives = false;
  calls = new FarCalls(
    {
      line: {
        attach: (_, given) => {
          sink = given;
          const unanswered = 0;
          const release = () => unsent;
          return {
            send: (one) => void sent.push(one),
            unanswered,
            release,
            close: () => undefined,
            get leaderLives() {
              return leaderLives;
            },
          };
        },
      },
      client: undefined as never,
      shownOffset: () => shown,
      reach: () => undefined,
      shownTerm: () => shownTerm,
      returnsValue: (reducer) => reducer === 'price',
    },
    {
      letIn: () => undefined,
      add: (event) => queue.push(event),
      addBefore: (place, event) => queue.putBefore(place, event),
      keepPlace: (place) => queue.promise(place),
      fillPlace: (place, event) => queue.keep(place, event),
      ended: () => undefined,
      goOn: () => undefined,
    },
  );
});

let lastId = 0;
function call(reducer: string, arg = 1): LiveCall {
  lastId += 1;
  const request: LiveCall = {
    ...{ kind: 'call', reducer, args: Uint8Array.of(arg), requestId: lastId },
    ...{ schemaVersion: undefined, isCaller: true },
  };
  calls.send(request);
  return request;
}

const committed = (offset: number): AttachedAnswer => ({
  ...{ kind: 'called', timestampMicros: 7n },
  outcome: { kind: 'committed', offset: commitOffset(offset), micros: 5 },
});
const aborted = (offset: number): AttachedAnswer => ({
  ...{ kind: 'called', timestampMicros: 7n, offset: commitOffset(offset) },
  outcome: { kind: 'aborted', error: { code: 'reducer.crashed' }, micros: 5 },
});
const lost: AttachedAnswer = { kind: 'unknown', body: { code: 'database.lost', message: 'gone' } };

const changes = [{ setId: 1, updates: [] }] as unknown as readonly SetUpdate[];

/** The copy shows a commit of this connection, or of another one. */
function shows(offset: number, reducer?: string, arg = 1): void {
  shown = commitOffset(offset);
  if (reducer === undefined) {
    queue.push({ kind: 'updated', requestId: 0, offset: shown, sets: changes });
  } else {
    const connectionId = connectionNumber(1n);
    const own: OwnCommit = {
      ...{ offset: shown, connectionId, reducer, args: Uint8Array.of(arg), timestampMicros: 9n },
    };
    calls.committed(own, changes);
  }
  calls.reached();
}

/** What the client has got since: updates by offset, outcomes by request. */
function got(): string[] {
  return queue.take().map((event: LiveEvent) => {
    if (event.kind === 'updated') return `update ${event.offset}`;
    if (event.kind === 'refused') return `${event.body.code} ${idOf(event.request)}`;
    if (event.kind !== 'called') return event.kind;
    const { outcome, request, sets } = event;
    const what = outcome.kind === 'committed' ? `${outcome.offset}` : 'aborted';
    return `outcome ${request.requestId - base}: ${what}${sets.length > 0 ? ' with changes' : ''}`;
  });
}

let base = 0;
const idOf = (request: { readonly requestId: number }): number => request.requestId - base;
beforeEach(() => {
  base = lastId;
});

it('[replication 11.2] an outcome waits for its commit, and has its changes', () => {
  const one = call('add');
  sink.answered(one, committed(3));
  shows(2);
  expect(got()).toEqual(['update 2']);
  shows(3, 'add');
  shows(4);
  expect(got()).toEqual(['outcome 1: 3 with changes', 'update 4']);
  expect(calls.openCalls).toBe(0);
});

it('[replication 11.2] a commit that is shown first keeps its place for the outcome', () => {
  const one = call('add');
  shows(2);
  shows(3, 'add');
  shows(4);
  expect(got()).toEqual(['update 2']);
  sink.answered(one, committed(3));
  expect(got()).toEqual(['outcome 1: 3 with changes', 'update 4']);
});

it('[replication 11.2] outcomes come in the order of the calls, without changes, too', () => {
  const [one, two, three] = [call('add'), call('add'), call('add')];
  shows(3, 'add');
  shows(4, 'add');
  // The commits are of the second call and the third: the first one changed nothing.
  sink.answered(one, aborted(2));
  sink.answered(two, committed(3));
  expect(got()).toEqual(['outcome 1: aborted', 'outcome 2: 3 with changes']);
  sink.answered(three, committed(4));
  expect(got()).toEqual(['outcome 3: 4 with changes']);
});

it('[replication 11.2] an outcome without a commit comes when its offset is shown', () => {
  const [one, two] = [call('add'), call('look')];
  sink.answered(one, committed(3));
  sink.answered(two, committed(3));
  expect(got()).toEqual([]);
  shows(3, 'add');
  expect(got()).toEqual(['outcome 1: 3 with changes', 'outcome 2: 3']);
  const late = call('add');
  sink.answered(late, aborted(5));
  shows(4);
  expect(got()).toEqual(['update 4']);
  shows(5);
  expect(got()).toEqual(['update 5', 'outcome 3: aborted']);
});

it('[replication 11.2] a commit of the connection that no call has made is an update', () => {
  call('add', 1);
  shows(3, 'tick');
  shows(4, 'add', 2);
  expect(got()).toEqual(['update 3', 'update 4']);
});

it('[replication 11.3] a lost call is committed if its commit comes, and returns nothing', () => {
  const [one, two] = [call('add'), call('price')];
  sink.answered(one, lost);
  sink.answered(two, lost);
  expect(got()).toEqual([]);
  shows(3, 'add');
  expect(got()).toEqual(['outcome 1: 3 with changes']);
  shows(4, 'price');
  // Its value is not in the history.
  expect(got()).toEqual(['update 4', 'database.lost 2']);
});

it('[replication 11.3] a lost call is unknown once the copy has all of its leader', () => {
  const [one, two] = [call('add'), call('add')];
  sink.answered(one, lost);
  sink.answered(two, lost);
  shows(3, 'add');
  expect(got()).toEqual(['outcome 1: 3 with changes']);
  shows(4);
  expect(got()).toEqual(['update 4']);
  shownTerm = 2;
  shows(5);
  expect(got()).toEqual(['update 5', 'database.lost 2']);
});

/** By a leader that lives: it has moved its database, or was deposed. */
const left: AttachedAnswer = { ...lost, leaderLives: true };

it('[replication 9.4, 11.3] what a leader left undone is unknown if another host leads', () => {
  const [one, two] = [call('add'), call('rename')];
  for (const each of [one, two]) sink.answered(each, left);
  shows(3, 'add');
  // More of what it wrote may come: its term is not known here.
  expect(got()).toEqual(['outcome 1: 3 with changes']);
  shownTerm = 2;
  shows(4);
  expect(got()).toEqual(['update 4', 'database.lost 2']);
});

it('[replication 9.4, 11.3] what a later call has overtaken is not run again', () => {
  const [one, two] = [call('add'), call('rename')];
  leaderLives = true;
  for (const each of [one, two]) sink.answered(each, left);
  shows(3, 'rename');
  expect(calls.release()).toEqual([]);
  expect(got()).toEqual(['database.lost 1', 'outcome 2: 3 with changes']);
});

it('[replication 9.4, 11.3] what a leader left undone is run by this host when it leads', () => {
  const [one, two, three, four] = [call('add'), call('rename'), call('add', 2), call('add', 3)];
  leaderLives = true;
  unsent = [four];
  sink.answered(three, left);
  shows(3, 'add');
  expect(calls.release()).toEqual([two, three, four]);
  expect(got()).toEqual(['outcome 1: 3 with changes']);
  expect(sent).toEqual([one, two, three, four]);
});

it('[replication 11.3] a commit that an answered call has made is not that of a lost one', () => {
  const [one, two] = [call('add'), call('add')];
  sink.answered(one, lost);
  shows(3, 'add');
  // Two leaders: the first lost the first call, the next one answered the second.
  expect(got()).toEqual(['outcome 1: 3 with changes']);
  sink.answered(two, committed(4));
  shows(4, 'add');
  expect(got()).toEqual(['outcome 2: 4 with changes']);
});

it('[replication 11.3] what no leader has had is run by this host when it leads', () => {
  const [one, two] = [call('add'), call('rename')];
  shows(3, 'add');
  unsent = [two];
  expect(calls.release()).toEqual([two]);
  expect(got()).toEqual(['outcome 1: 3 with changes']);
  sink.answered(one, committed(3));
  sink.answered(two, committed(4));
  expect(got()).toEqual([]);
});

it.each(['other', 'same'])(
  '[replication 11.2] 1,024 calls with %s arguments cost no more each than a few would',
  (which) => {
    const count = 1_024;
    let reads = 0;
    const read = (value: unknown): unknown => {
      reads += 1;
      return value;
    };
    /** Counts how often it is looked what something is. */
    const counted = <Of extends object>(of: Of, names: readonly (keyof Of)[]): Of => {
      for (const name of names) {
        const value = of[name];
        Object.defineProperty(of, name, { get: () => read(value) });
      }
      return of;
    };
    const argsOf = (at: number): Uint8Array => {
      const args = new Uint8Array(16);
      if (which === 'other') new DataView(args.buffer).setUint32(12, at);
      return args;
    };
    const requests = Array.from({ length: count }, (_, at) => {
      const rest = { schemaVersion: undefined, isCaller: true, requestId: at + 1 };
      const request: LiveCall = { kind: 'call', reducer: 'add', args: argsOf(at), ...rest };
      calls.send(counted(request, ['reducer', 'args']));
      return request;
    });
    for (let at = 0; at < count; at++) {
      const offset = commitOffset(at + 1);
      shown = offset;
      const rest = { connectionId: connectionNumber(1n), timestampMicros: 9n };
      const own: OwnCommit = { offset, reducer: 'add', args: argsOf(at), ...rest };
      calls.committed(counted(own, ['reducer', 'args', 'offset']), changes);
      calls.reached();
    }
    for (const [at, request] of requests.entries()) sink.answered(request, committed(at + 1));
    base = 0;
    const outcomes = requests.map((_, at) => `outcome ${at + 1}: ${at + 1} with changes`);
    expect(got()).toEqual(outcomes);
    expect(calls.openCalls).toBe(0);
    // A search by halves looks at ten places.
    expect(reads).toBeLessThan(100 * count);
  },
);

it('[replication 11.3] a commit that only refused calls may have made is an update', () => {
  const [one, two, three] = [call('add', 1), call('add', 2), call('add', 1)];
  shows(3, 'add', 1);
  shows(4, 'add', 2);
  const refusal = { code: 'caller.notAuthorized', message: 'no' } as const;
  const refused: AttachedAnswer = { kind: 'refused', body: refusal };
  sink.answered(one, refused);
  expect(got()).toEqual(['caller.notAuthorized 1']);
  sink.answered(two, aborted(2));
  // The first commit may be of the third call still.
  expect(got()).toEqual(['outcome 2: aborted']);
  sink.answered(three, refused);
  expect(got()).toEqual(['caller.notAuthorized 3', 'update 3', 'update 4']);
  const again = call('add', 1);
  shows(5, 'add', 1);
  sink.answered(again, committed(5));
  expect(got()).toEqual(['outcome 4: 5 with changes']);
});
