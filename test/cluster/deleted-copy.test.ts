import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SeatMember } from '../../src/host/workers/seat-member.ts';
import { StartGate } from '../../src/host/workers/start-gate.ts';
import { WorkerSeat } from '../../src/host/workers/worker-seat.ts';
import { limits } from '../../src/limits.ts';
import { identityToHex } from '../../src/values/identity.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { program } from '../service/built-program.ts';
import { ask, type Caller, newCaller } from '../support/asking.ts';
import { startPair } from '../support/cluster-pair.ts';
import {
  type ClusterService,
  ClusterServices,
  identityOf,
  until,
} from '../support/cluster-services.ts';

/** Databases that are deleted while a copy of them opens, or loads its program. */

const bounds = limits as unknown as { shutdownMillisMax: number };
const { shutdownMillisMax } = limits;

let services: ClusterServices;
beforeEach(() => {
  services = new ClusterServices();
});
afterEach(async () => {
  vi.restoreAllMocks();
  Object.assign(bounds, { shutdownMillisMax });
  await services.close();
});

async function remove(at: ClusterService, database: DatabaseIdentity, as: Caller): Promise<void> {
  const where = `/v1/database/${identityToHex(database)}`;
  expect((await ask(at, 'DELETE', where, { as })).status).toBe(200);
}

/** Folders of a database, and what is left of them, in the data folder of a host. */
function foldersOf(at: ClusterService, database: DatabaseIdentity): string[] {
  const databases = path.join(services.folderOf(at.name), 'databases');
  const names = existsSync(databases) ? readdirSync(databases) : [];
  return names.filter((name) => name.startsWith(identityToHex(database)));
}

/** Resolves when nothing of it is known, runs or lies there, and it stays so. */
async function gone(at: ClusterService, database: DatabaseIdentity): Promise<void> {
  const { host } = at.service;
  const isKnown = () =>
    at.part.roles.has(database) ||
    [...host.replication.placed()].some((one) => one.database === database);
  await until(() => !isKnown() && foldersOf(at, database).length === 0);
  // What comes too late comes in the next moments.
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect([isKnown(), foldersOf(at, database)]).toEqual([false, []]);
  const copies = [...((await at.part.operations?.copies())?.values() ?? [])].flat();
  expect(copies.filter((one) => one.database === database)).toEqual([]);
}

it('[replication 9.10] what a copy says while it is closed does not bring a deleted database back', async () => {
  const given = { placement: 'worker' } as const;
  const pair = await startPair('porter', await program('porter'), given, services);
  const { a, b, owner, identity } = pair;
  // What its worker has sent and nobody has read yet, when it is told to close.
  const underWay: (() => void)[] = [];
  let isHeld = true;
  let ended = 0;
  const { receive } = SeatMember.prototype;
  vi.spyOn(SeatMember.prototype, 'receive').mockImplementation(function (
    this: SeatMember,
    message,
  ) {
    if (isHeld && message.kind === 'role') underWay.push(() => receive.call(this, message));
    else receive.call(this, message);
  });
  const { close } = WorkerSeat.prototype;
  vi.spyOn(WorkerSeat.prototype, 'close').mockImplementation(function (this: WorkerSeat, ...asked) {
    isHeld = false;
    ended += 1;
    for (const one of underWay.splice(0)) one();
    return close.apply(this, asked);
  });
  await until(() => underWay.length > 0);
  await remove(a, identity, owner);
  await until(() => ended > 1);
  for (const host of [a, b]) await gone(host, identity);
});

it('[replication 9.10] a copy that is deleted before its worker is started is ended at once', async () => {
  const given = { placement: 'worker' } as const;
  const a = await services.start('a', given);
  const b = await services.start('b', given);
  await until(() => [a, b].every(({ part }) => part.membership.living.length > 1));
  const owner = await newCaller(a);
  let goOn: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  // The first to enter is the one that makes it.
  let entered = 0;
  const { enter } = StartGate.prototype;
  vi.spyOn(StartGate.prototype, 'enter').mockImplementation(async function (
    this: StartGate,
    ...asked
  ) {
    entered += 1;
    if (entered > 1) await held;
    return enter.apply(this, asked);
  });
  try {
    const body = await program('porter');
    const made = await ask(a, 'PUT', '/v1/database/porter?host_type=Js', { as: owner, body });
    expect(made.text).toContain('"Success"');
    const identity = identityOf(a, 'porter');
    await until(() => entered > 1);
    // It must not wait until a worker would be ended, either.
    Object.assign(bounds, { shutdownMillisMax: 600_000 });
    await remove(a, identity, owner);
    for (const host of [a, b]) await gone(host, identity);
    expect(entered).toBe(2);
  } finally {
    goOn();
  }
});
