import { afterEach, beforeEach, expect, it } from 'vitest';
import WebSocket from 'ws';
import type { SharedLog } from '../../src/shared-log/shared-log.ts';
import { identityToHex } from '../../src/values/identity.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { program } from '../service/built-program.ts';
import { ask, newCaller } from '../support/asking.ts';
import {
  type ClusterService,
  ClusterServices,
  identityOf,
  roleAt,
  until,
} from '../support/cluster-services.ts';

let services: ClusterServices;
beforeEach(() => {
  services = new ClusterServices();
});
afterEach(() => services.close());

/** Shared logs in which a host reads nothing of one database until that is let go. */
class HeldReads {
  #held: string | undefined;
  #letGo: () => void = () => undefined;
  readonly #over = new Promise<void>((resolve) => {
    this.#letGo = resolve;
  });

  constructor(database: DatabaseIdentity) {
    this.#held = identityToHex(database);
  }

  readonly around = (log: SharedLog): SharedLog => ({
    append: (items) => log.append(items),
    read: async (name, ...asked) => {
      if (this.#held !== undefined && name.includes(this.#held)) await this.#over;
      return log.read(name, ...asked);
    },
    wait: (...asked) => log.wait(...asked),
    confirm: (items) => log.confirm(items),
    truncate: (...asked) => log.truncate(...asked),
    create: (...asked) => log.create(...asked),
    remove: (name) => log.remove(name),
    capabilities: () => log.capabilities(),
  });

  letGo(): void {
    this.#held = undefined;
    this.#letGo();
  }
}

it('[replication 8.9] requests at a host that opens its copy go to the host that leads', async () => {
  const a = await services.start('a');
  const ada = await newCaller(a);
  const body = await program('porter');
  const made = await ask(a, 'PUT', '/v1/database/porter?host_type=Js', { as: ada, body });
  expect(made.text).toContain('"Success"');
  const porter = identityOf(a, 'porter');
  const where = `/v1/database/${identityToHex(porter)}`;
  const checkIn = (at: ClusterService, name: string) => {
    const headers = { 'content-type': 'application/json' };
    const asked = { as: ada, body: JSON.stringify([name]), headers };
    return ask(at, 'POST', `${where}/call/check_in`, asked);
  };
  const held = new HeldReads(porter);
  const b = await services.start('b', {}, held.around);
  try {
    await until(() => b.part.membership.living.length > 1);
    const through = await checkIn(b, 'through');
    const leader = through.headers.get('reducerdb-leader');
    expect([through.status, leader]).toEqual([200, 'http://a.test']);
    const read = await ask(b, 'POST', `${where}/sql`, { as: ada, body: 'SELECT name FROM guest' });
    expect(JSON.parse(read.text)[0].rows.flat()).toEqual(['through']);
    await openSocket(b, where);
    expect(roleAt(b, porter)).toBe('opening');
    expect(b.part.placeOf(porter)).toEqual({ kind: 'unknown' });
  } finally {
    held.letGo();
  }
  await until(() => roleAt(b, porter) === 'follower');
  expect((await checkIn(b, 'after')).status).toBe(200);
});

/** Resolves when a client has subscribed there, as far as opening a socket goes. */
async function openSocket(at: ClusterService, where: string): Promise<void> {
  const url = `${at.url.replace('http', 'ws')}${where}/subscribe`;
  const socket = new WebSocket(url, 'v2.bsatn.spacetimedb');
  await new Promise<void>((resolve, reject) => {
    socket.once('message', () => resolve());
    socket.once('error', reject);
  });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.close();
  await closed;
}

it('[replication 8.9, 8.5] a request at a host that opens its copy, and hears of nobody, waits for a leader', async () => {
  const a = await services.start('a');
  const ada = await newCaller(a);
  const body = await program('porter');
  await ask(a, 'PUT', '/v1/database/porter?host_type=Js', { as: ada, body });
  const porter = identityOf(a, 'porter');
  const where = `/v1/database/${identityToHex(porter)}`;
  const headers = { 'content-type': 'application/json' };
  const checkIn = (at: ClusterService, name: string) =>
    ask(at, 'POST', `${where}/call/check_in`, { as: ada, body: JSON.stringify([name]), headers });
  const held = new HeldReads(porter);
  const b = await services.start('b', {}, held.around);
  try {
    await until(() => b.part.membership.living.length > 1);
    services.engine.cut('b');
    await until(() => b.part.membership.living.length === 0);
    expect(roleAt(b, porter)).toBe('opening');
    // Nothing was done, whether it is the engine that is missed or the leader.
    const refused = await checkIn(b, 'alone');
    expect([refused.status, refused.text]).toEqual([503, expect.not.stringContaining('opening')]);
    services.engine.heal('b');
    // What this host has asked the engine before may be unanswered for longer than a request waits.
    await until(async () => {
      const { status, text, headers } = await checkIn(b, 'waiting');
      expect(text).not.toContain('opening');
      return status === 200 && headers.get('reducerdb-leader') === 'http://a.test';
    });
    expect(roleAt(b, porter)).toBe('opening');
  } finally {
    services.engine.heal('b');
    held.letGo();
  }
  const read = await ask(a, 'POST', `${where}/sql`, { as: ada, body: 'SELECT name FROM guest' });
  expect(JSON.parse(read.text)[0].rows.flat()).toEqual(['waiting']);
});

it('[replication 8.9, 8.5] a host that opens alone keeps requests until its copy is open', async () => {
  const a = await services.start('a');
  const ada = await newCaller(a);
  const body = await program('porter');
  await ask(a, 'PUT', '/v1/database/porter?host_type=Js', { as: ada, body });
  const porter = identityOf(a, 'porter');
  await services.stop('a');
  const held = new HeldReads(porter);
  const again = await services.start('a', {}, held.around);
  const where = `/v1/database/${identityToHex(porter)}`;
  const asked = ask(again, 'POST', `${where}/sql`, { as: ada, body: 'SELECT name FROM guest' });
  expect(roleAt(again, porter)).toBe('opening');
  held.letGo();
  expect((await asked).status).toBe(200);
  expect(roleAt(again, porter)).toBe('leader');
});
