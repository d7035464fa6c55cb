/** The bank of `bench/modules` behind the handle of its database, without the doors. */

import { fileURLToPath } from 'node:url';
import { buildModule } from '../../src/bundle/build-module.ts';
import type { HostedDatabase } from '../../src/host/hosted-database.ts';
import type { Service } from '../../src/service/start-service.ts';
import { connectionNumber } from '../../src/values/connection-number.ts';
import { callerIdentity } from '../../src/values/identity-roles.ts';
import { median } from '../transfer/one-sync.ts';

export const accounts = 10_000;
export const inFlight = 320;
const bank = fileURLToPath(new URL('../modules/bank', import.meta.url));

/** Publishes a bank under a name and opens its accounts. */
export async function openBank(service: Service, name = 'bank'): Promise<HostedDatabase> {
  const { program } = await buildModule(bank, {});
  const caller = { identity: callerIdentity(7n), payload: '', isAnonymous: false };
  await service.host.publish({
    caller,
    target: name,
    program: { kind: 'js', bytes: program },
    clear: false,
    policy: 'compatible',
    token: undefined,
    confirmMillis: 5_000,
  });
  const database = service.host.database(name);
  const seen = service.host.callerFor(caller, database);
  await database.handle.connect(seen, connectionNumber(1n));
  const args = new Uint8Array(12);
  new DataView(args.buffer).setUint32(0, accounts, true);
  new DataView(args.buffer).setBigInt64(4, 1_000_000n, true);
  await call(service, database, 'open', args);
  return database;
}

async function call(
  service: Service,
  database: HostedDatabase,
  reducer: string,
  args: Uint8Array,
): Promise<void> {
  const { schemaVersion } = await database.handle.describe();
  const caller = service.host.callerFor(
    { identity: callerIdentity(7n), payload: '', isAnonymous: false },
    database,
  );
  const connection = { kind: 'open', id: connectionNumber(1n) } as const;
  const confirmed = true;
  const outcome = await database.handle.call({
    caller,
    connection,
    reducer,
    args,
    schemaVersion,
    confirmed,
  });
  if (outcome.kind !== 'committed') throw new Error(JSON.stringify(outcome.error));
}

function transferArgs(turn: number): Uint8Array {
  const args = new Uint8Array(16);
  const view = new DataView(args.buffer);
  view.setUint32(0, (turn * 7919) % accounts, true);
  view.setUint32(4, (turn * 104_729 + 1) % accounts, true);
  view.setBigInt64(8, 1n, true);
  return args;
}

/** Transfers a second, of many callers, each waiting until its own is durable. */
export async function throughHandle(
  service: Service,
  database: HostedDatabase,
  transfers: number,
): Promise<number> {
  let turn = 0;
  const caller = async () => {
    while (turn < transfers) {
      turn += 1;
      await call(service, database, 'transfer', transferArgs(turn));
    }
  };
  const started = performance.now();
  await Promise.all(Array.from({ length: inFlight }, caller));
  return transfers / ((performance.now() - started) / 1000);
}

/** The median time that one caller waits for its durable reply, in milliseconds. */
export async function oneWaitingCaller(
  service: Service,
  database: HostedDatabase,
  transfers: number,
): Promise<number> {
  const times: number[] = [];
  for (let turn = 0; turn < transfers; turn += 1) {
    const started = performance.now();
    await call(service, database, 'transfer', transferArgs(turn));
    times.push(performance.now() - started);
  }
  return median(times);
}
