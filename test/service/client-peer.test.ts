import * as peer from 'spacetimedb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as ours from '../../src/client/index.ts';
import {
  type PeerConnection,
  type PeerHandle,
  type PeerLibrary,
  tavernBindings,
} from '../fixtures/bindings/tavern.ts';
import { type Person, Running } from './running.ts';
import { tavern } from './tavern-module.ts';

/**
 * The published client of the peer and this one, with the same bindings, at the same service: what
 * their callbacks say, in which order, and what their caches hold, must be the same after any steps.
 */
let running: Running;
let owner: Person;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
});
afterAll(() => running.stop());

type Step =
  | { readonly kind: 'subscribe'; readonly queries: readonly string[] }
  /** Ends the set that was opened as the `set`-th, if it is still there. */
  | { readonly kind: 'unsubscribe'; readonly set: number }
  | { readonly kind: 'own' | 'foreign'; readonly reducer: string; readonly args: object };

/** Plays the steps on a database of its own and tells line by line what came of them. */
async function played(library: PeerLibrary, database: string, steps: readonly Step[]) {
  const { status, text } = await running.upload(database, await tavern(), owner);
  if (status !== 200) throw new Error(text);
  const lines: string[] = [];
  const conn = await connected(library, database);
  const { person, ring } = conn.db;
  const names = () => Array.from(person.iter(), ({ id, name }) => `${id} ${name}`).sort();
  const told = (mark: string, tag: string, what: string) => {
    lines.push(`${tag} ${mark} ${what} (${names().join(', ')})`);
  };
  person.onInsert(({ event }, row) => told('+', event.tag, `${row.id} ${row.name}`));
  person.onDelete(({ event }, row) => told('-', event.tag, `${row.id} ${row.name}`));
  person.onUpdate?.(({ event }, old, row) => {
    told('~', event.tag, `${old.id} ${old.name} > ${row.name}`);
  });
  ring.onInsert(({ event }, { tune }) => told('!', event.tag, tune));
  const handles: PeerHandle[] = [];
  for (const step of steps) {
    lines.push(JSON.stringify(step));
    await (step.kind === 'subscribe'
      ? new Promise<void>((done) => {
          const set = handles.length;
          const handle = conn
            .subscriptionBuilder()
            .onApplied(() => done(void lines.push(`applied ${set}: ${names().join(', ')}`)))
            .onError(({ event }) => done(void lines.push(`refused ${set}: ${event?.message}`)))
            .subscribe([...step.queries]);
          handles.push(handle);
        })
      : step.kind === 'unsubscribe'
        ? left(handles[step.set], lines)
        : called(conn, database, step, lines));
    // The answer to a call of its own is behind everything that was committed before.
    await own(conn, 'ringIt', { tune: 'barrier' });
    lines.push(`${person.count()}: ${handles.map((handle) => handle.isActive()).join()}`);
  }
  conn.disconnect();
  return lines;
}

function connected(library: PeerLibrary, database: string): Promise<PeerConnection> {
  return new Promise((resolve, reject) => {
    tavernBindings(library, 2)
      .withUri(running.service.url)
      .withDatabaseName?.(database)
      .onConnect((conn) => resolve(conn))
      .onConnectError((_, error) => reject(error))
      .build();
  });
}

async function left(handle: PeerHandle | undefined, lines: string[]): Promise<void> {
  if (handle?.isActive() !== true) return;
  await new Promise<void>((done) => {
    handle.unsubscribeThen(() => done(void lines.push('left')));
  });
}

async function called(
  conn: PeerConnection,
  database: string,
  { kind, reducer, args }: Extract<Step, { reducer: string }>,
  lines: string[],
): Promise<void> {
  if (kind === 'foreign') {
    await running.call(database, reducer, Object.values(args));
    return;
  }
  await own(conn, reducer, args).then(
    () => lines.push('done'),
    (error: Error) => lines.push(`${error.name}: ${error.message}`),
  );
}

async function own(conn: PeerConnection, reducer: string, args: object): Promise<void> {
  const call = conn.reducers[reducer];
  if (call === undefined) throw new Error(`no reducer ${reducer}`);
  await call(args as Readonly<Record<string, unknown>>);
}

const querySets = [
  ['SELECT * FROM person'],
  ['SELECT * FROM person WHERE id < 4', 'SELECT * FROM ring'],
  ['SELECT * FROM person WHERE id > 2', 'SELECT * FROM person WHERE seat = 1'],
  ["SELECT * FROM person WHERE name = 'ada'"],
  ['SELECT * FROM nothing'],
];

/** A number from 0 below `count`, the same ones for the same seed. */
function dice(seed: number): (count: number) => number {
  let state = seed;
  return (count) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
}

function randomSteps(seed: number, count: number): Step[] {
  const roll = dice(seed);
  return Array.from({ length: count }, (): Step => {
    const id = roll(6);
    const by = roll(2) === 0 ? 'own' : 'foreign';
    const name = ['ada', 'bob', 'eve'][roll(3)] ?? '';
    switch (roll(7)) {
      case 0:
      case 1:
        return { kind: 'subscribe', queries: querySets[roll(querySets.length)] ?? [] };
      case 2:
        return { kind: 'unsubscribe', set: roll(8) };
      case 3:
      case 4:
        return { kind: by, reducer: 'add', args: { id, name, seat: roll(2) } };
      case 5:
        return { kind: by, reducer: 'rename', args: { id, name } };
      default:
        return { kind: by, reducer: 'remove', args: { id } };
    }
  });
}

const libraries = [peer, ours].map((library) => library as unknown as PeerLibrary);

async function bothPlayed(name: string, steps: readonly Step[]): Promise<string[][]> {
  const told = libraries.map((library, at) => played(library, `${name}-${at}`, steps));
  return Promise.all(told);
}

describe('beside the published client, at a service', () => {
  it('[client-sdk 11.2] inserts, updates, overlapping sets and their ends tell the same', async () => {
    const add = (id: number, name: string) => ({ id, name, seat: 1 });
    const [theirs = [], mine] = await bothPlayed('script', [
      { kind: 'own', reducer: 'add', args: add(1, 'ada') },
      { kind: 'subscribe', queries: ['SELECT * FROM person'] },
      { kind: 'subscribe', queries: ['SELECT * FROM person WHERE id < 3', 'SELECT * FROM ring'] },
      { kind: 'foreign', reducer: 'add', args: add(2, 'bob') },
      { kind: 'own', reducer: 'rename', args: { id: 1, name: 'amy' } },
      { kind: 'own', reducer: 'rename', args: { id: 9, name: 'nobody' } },
      { kind: 'foreign', reducer: 'ring_it', args: { tune: 'ding' } },
      { kind: 'unsubscribe', set: 0 },
      { kind: 'foreign', reducer: 'add', args: add(5, 'out of sight') },
      { kind: 'foreign', reducer: 'remove', args: { id: 2 } },
      { kind: 'own', reducer: 'crash', args: {} },
      { kind: 'unsubscribe', set: 1 },
    ]);
    expect(mine).toEqual(theirs);
    expect(theirs.filter((line) => line.startsWith('Reducer ~'))).toHaveLength(1);
    expect(theirs.filter((line) => line.startsWith('Transaction ! ding'))).toHaveLength(1);
  });

  const seeds = [1, 2, 3, Date.now() % 2 ** 31];
  it.each(seeds)('[client-sdk 11.2] random steps tell the same: seed %i', async (seed) => {
    const [theirs, mine] = await bothPlayed(`random-${seed}`, randomSteps(seed, 40));
    expect(mine).toEqual(theirs);
  });
});
