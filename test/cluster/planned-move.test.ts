import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BinaryWriter } from '../../src/values/binary-writer.ts';
import { identityToHex } from '../../src/values/identity.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { program } from '../service/built-program.ts';
import { tavern } from '../service/tavern-module.ts';
import { ask, type Caller } from '../support/asking.ts';
import { startPair } from '../support/cluster-pair.ts';
import {
  type ClusterService,
  type ClusterServices,
  readsCopy,
  roleAt,
  until,
} from '../support/cluster-services.ts';
import { RecordingSocket } from '../support/recording-socket.ts';
import { takeTurns } from '../support/share.ts';
import { connect, own } from '../support/tavern-client.ts';

describe.each(['local', 'worker'] as const)('a planned move (%s)', (placement) => {
  let services: ClusterServices;
  /** Leads the database at first. */
  let a: ClusterService;
  /** Follows it. */
  let b: ClusterService;
  let porter: DatabaseIdentity;
  let path: string;
  let ada: Caller;

  beforeEach(async () => {
    ({
      services,
      a,
      b,
      owner: ada,
      identity: porter,
    } = await startPair('porter', await program('porter'), { placement }));
    path = `/v1/database/${identityToHex(porter)}`;
  });
  afterEach(() => services.close());

  const ofJson = { 'content-type': 'application/json' };

  function checkIn(at: ClusterService, name: string) {
    const body = JSON.stringify([name]);
    return ask(at, 'POST', `${path}/call/check_in`, { as: ada, body, headers: ofJson });
  }

  async function guests(at: ClusterService): Promise<string[]> {
    const asked = { as: ada, body: 'SELECT name FROM guest' };
    const { status, text } = await ask(at, 'POST', `${path}/sql`, asked);
    if (status !== 200) throw new Error(`${status} ${text}`);
    return JSON.parse(text)[0].rows.map(([one]: [string]) => one);
  }

  /** Moves it as soon as the other host could lead. */
  async function move(from: ClusterService, to: ClusterService): Promise<void> {
    await until(async () => {
      try {
        await from.part.operations?.move(porter, to.name);
        return true;
      } catch {
        return false;
      }
    });
    await until(() => roleAt(to, porter) === 'leader');
  }

  it('[replication 9.4] is no error to any caller at any host, and loses and repeats nothing', async () => {
    const acknowledged: string[] = [];
    const errors: string[] = [];
    let longestMillis = 0;
    let isOver = false;
    const caller = async (at: ClusterService, number: number): Promise<void> => {
      for (let count = 0; !isOver; count++) {
        const name = `${at.name}${number} ${count}`;
        const begun = performance.now();
        const { status, text } = await checkIn(at, name);
        longestMillis = Math.max(longestMillis, performance.now() - begun);
        if (status === 200) acknowledged.push(name);
        else errors.push(`${name}: ${status} ${text}`);
      }
    };
    const reader = async (at: ClusterService): Promise<void> => {
      while (!isOver) await guests(at).catch((error) => errors.push(String(error)));
    };
    const load = [a, b].flatMap((at) => [
      ...Array.from({ length: 8 }, (_, number) => caller(at, number)),
      reader(at),
    ]);
    for (let round = 0; round < 3; round++) {
      for (const [from, to] of [
        [a, b],
        [b, a],
      ] as const) {
        await move(from, to);
        const { length } = acknowledged;
        await until(() => acknowledged.length > length + 20);
      }
    }
    isOver = true;
    await Promise.all(load);
    expect(errors).toEqual([]);
    expect((await guests(b)).sort()).toEqual(acknowledged.sort());
    // Not judged here, where a busy machine is no fault.
    process.stderr.write(
      `planned moves, ${placement}: longest call ${longestMillis.toFixed(0)} ms\n`,
    );
  });

  takeTurns(placement, ['local', 'worker']);
});

it('[replication 9.4, 11.8] WebSockets are told what became of the calls that ran; they go on, or end', async () => {
  const { services, a, b, owner, identity } = await startPair('tavern', await tavern());
  try {
    const database = identityToHex(identity);
    const answered: number[] = [];
    let next = 1;
    let isOver = false;
    const writer = async (at: ClusterService): Promise<void> => {
      const { conn, gone } = await connect(own, { uri: at.url, database });
      while (!isOver) {
        const id = next++;
        try {
          await conn.reducers.add?.({ id, name: 'guest', seat: 1 });
          answered.push(id);
        } catch {
          // The connection has ended: nothing was done.
        }
      }
      conn.disconnect();
      await gone;
    };
    const load = [a, a, b].map(writer);
    await until(() => answered.length > 50);
    await until(async () => {
      const moved = a.part.operations?.move(identity, 'b').then(
        () => true,
        () => false,
      );
      return (await moved) === true;
    });
    const { length } = answered;
    await until(() => answered.length > length + 20);
    isOver = true;
    await Promise.all(load);
    const { text } = await ask(b, 'POST', `/v1/database/${database}/sql`, {
      ...{ as: owner, body: 'SELECT id FROM person' },
    });
    const rows = JSON.parse(text)[0].rows.map(([id]: [number]) => id);
    expect(rows.sort()).toEqual(answered.sort());
  } finally {
    await services.close();
  }
});

it('[replication 9.4, 11.2] calls of clients at followers know nothing of a move', async () => {
  const { services, a, b, owner, identity } = await startPair('tavern', await tavern());
  try {
    const database = identityToHex(identity);
    await readsCopy(b, identity);
    const far = await RecordingSocket.open({ url: b.url, database, as: owner });
    expect(far.isRelayed).toBe(false);
    const sent: number[] = [];
    let isOver = false;
    const load = (async () => {
      for (let id = 1; !isOver; id++) {
        const writer = new BinaryWriter();
        writer.u32(id);
        writer.string('guest');
        writer.u32(1);
        sent.push(far.call('add', writer.finish()));
        await sleep(2);
      }
    })();
    for (const [from, to] of [
      [a, 'b'],
      [b, 'a'],
      [a, 'b'],
      [b, 'a'],
    ] as const) {
      await until(() => roleAt(from, identity) === 'leader');
      await until(async () => {
        const moving = from.part.operations?.move(identity, to);
        return moving?.then(
          () => true,
          () => false,
        ) as Promise<boolean>;
      });
      const { length } = sent;
      await until(() => sent.length > length + 100);
    }
    isOver = true;
    await load;
    const outcomes = await Promise.all(sent.map((id) => far.outcomeOf(id)));
    const others = outcomes.filter(
      (one) => one.kind !== 'reducerResult' || one.outcome.kind !== 'ok',
    );
    expect(others).toEqual([]);
    expect(far.isClosed).toBe(false);
  } finally {
    await services.close();
  }
});
