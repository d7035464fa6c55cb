import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { DatabaseCopy } from '../../src/database/database-copy.ts';
import { limits } from '../../src/limits.ts';
import { BinaryWriter } from '../../src/values/binary-writer.ts';
import { identityToHex } from '../../src/values/identity.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { restartOf } from '../../src/websocket/partings.ts';
import { tavern } from '../service/tavern-module.ts';
import { type Answered, ask, type Caller } from '../support/asking.ts';
import { startPair } from '../support/cluster-pair.ts';
import {
  type ClusterService,
  type ClusterServices,
  kill,
  readsCopy,
  roleAt,
  until,
} from '../support/cluster-services.ts';
import { RecordingSocket } from '../support/recording-socket.ts';

/** Publishes, as those see them whose host follows. */

const bounds = limits as unknown as { copyUpdateMillisMax: number; copyUpdateBytesMax: number };
const { copyUpdateMillisMax, copyUpdateBytesMax } = limits;

let services: ClusterServices;
let a: ClusterService;
let b: ClusterService;
let identity: DatabaseIdentity;
let database: string;
let owner: Caller;
let far: RecordingSocket;

/** A view with the seats at windows, or as `filter` has it. */
const withView = (filter = 'one.window') => `
  export const windows = db.view({ name: 'windows', public: true }, t.array(seat.rowType), (ctx) =>
    [...ctx.db.seat.iter()].filter((one) => ${filter}));
`;

beforeEach(async () => {
  ({ services, a, b, owner, identity } = await startPair(
    'tavern',
    await tavern('one', '', withView()),
  ));
  database = identityToHex(identity);
  await readsCopy(b, identity);
  far = await RecordingSocket.open({ url: b.url, database, as: owner });
  await far.subscribe(['SELECT * FROM seat', 'SELECT * FROM person']);
  await far.subscribe(['SELECT * FROM windows']);
  await furnish(a, 1, true);
  await furnish(a, 2, false);
  await until(() => far.updates.length === 2);
});

afterEach(async () => {
  vi.restoreAllMocks();
  Object.assign(bounds, { copyUpdateMillisMax, copyUpdateBytesMax });
  await services.close();
});

async function call(at: ClusterService, reducer: string, args: unknown): Promise<number> {
  const headers = { 'content-type': 'application/json' };
  const where = `/v1/database/${database}/call/${reducer}`;
  const { status } = await ask(at, 'POST', where, {
    ...{ as: owner, body: JSON.stringify(args), headers },
  });
  return status;
}

async function furnish(at: ClusterService, id: number, window: boolean): Promise<void> {
  expect(await call(at, 'furnish', [id, window])).toBe(200);
}

async function publish(body: Uint8Array<ArrayBuffer>, query = ''): Promise<void> {
  const where = `/v1/database/${database}?host_type=Js${query}`;
  expect((await ask(a, 'PUT', where, { as: owner, body })).text).toContain('"Success"');
}

function sql(at: ClusterService, statement: string, query = ''): Promise<Answered> {
  const where = `/v1/database/${database}/sql${query}`;
  return ask(at, 'POST', where, { as: owner, body: statement });
}

function named(name: string): Uint8Array {
  const writer = new BinaryWriter();
  writer.u32(7);
  writer.string(name);
  writer.u32(1);
  return writer.finish();
}

/** Holds the program of the next publish at the follower before it is loaded. */
function holdProgram(fault?: Error) {
  let goOn: () => void = () => undefined;
  const gone = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let isReached = false;
  const { warm } = DatabaseCopy.prototype;
  vi.spyOn(DatabaseCopy.prototype, 'warm').mockImplementation(async function (
    this: DatabaseCopy,
    ...given
  ) {
    if (!this.waitsForProgram) return warm.apply(this, given);
    isReached = true;
    await gone;
    if (fault !== undefined) throw fault;
    await warm.apply(this, given);
  });
  return { goOn, reached: () => until(() => isReached) };
}

const hexOf = (text: string) => Buffer.from(text).toString('hex');

it('[replication 9.9, 11.2] a publish is shown when its program is loaded, and clients stay', async () => {
  const program = holdProgram();
  await publish(await tavern('two', '', withView('!one.window')));
  await program.reached();
  await furnish(a, 3, false);
  const own = far.call('add', named('its own'));
  // The leader has done it all; the copy is as it was, and says so.
  await until(async () => (await sql(a, 'SELECT * FROM person')).text.includes('its own'));
  const before = await sql(b, 'SELECT id FROM windows', '?consistency=any');
  expect(before.headers.get('reducerdb-role')).toBe('follower');
  expect(JSON.parse(before.text)[0].rows).toEqual([[1]]);
  expect(far.updates.length).toBe(2);
  expect(far.messages.some((one) => 'requestId' in one && one.requestId === own)).toBe(false);
  // What wants more than it shows, and who comes, is for the leader.
  const { headers } = await sql(a, 'SELECT id FROM seat');
  const wish = `?version=9&consistency=offset:${headers.get('reducerdb-offset')}`;
  const schema = await ask(b, 'GET', `/v1/database/${database}/schema${wish}`, { as: owner });
  expect(schema.headers.get('reducerdb-role')).toBe('leader');
  const late = await RecordingSocket.open({ url: b.url, database, as: owner });
  expect(late.isRelayed).toBe(true);
  late.close();
  program.goOn();
  // What the publish has changed, what came after, and the outcome of the call, in this order.
  expect(await far.outcomeOf(own)).toMatchObject({
    kind: 'reducerResult',
    outcome: { kind: 'ok' },
  });
  expect(far.updates.length).toBe(4);
  expect(far.updates[2]).toContain(hexOf('windows'));
  expect(far.updates[3]).toContain(hexOf('seat'));
  const after = await sql(b, 'SELECT id FROM windows', '?consistency=any');
  expect(after.headers.get('reducerdb-role')).toBe('follower');
  expect(JSON.parse(after.text)[0].rows.flat().sort()).toEqual([2, 3]);
  expect(far.isClosed).toBe(false);
});

it('[replication 9.9] a read that is under way ends, as it does at the leader', async () => {
  await call(a, 'fill', [100, 40_000]);
  await until(() => far.updates.length === 3);
  const program = holdProgram();
  await publish(await tavern('two', '', withView()));
  await program.reached();
  const pairs = 'SELECT COUNT(*) AS n FROM person p JOIN person q ON p.seat = q.seat';
  const reading = sql(b, pairs, '?consistency=any');
  // It has begun: what is asked after it was answered.
  await sql(b, 'SELECT id FROM seat', '?consistency=any');
  program.goOn();
  const { status, text, headers } = await reading;
  expect([status, headers.get('reducerdb-role')]).toEqual([400, 'follower']);
  expect(text).toContain('because the program was updated while it ran');
  expect(far.isClosed).toBe(false);
});

it('[replication 9.9] two publishes follow each other, with commits between them', async () => {
  await publish(await tavern('two', '', withView('!one.window')));
  await furnish(a, 3, true);
  await publish(await tavern('three', '', withView('true')));
  await furnish(a, 4, false);
  await until(() => far.updates.length === 6);
  expect(far.updates.map((one) => one.includes(hexOf('windows')))).toEqual([
    true,
    false,
    true,
    false,
    true,
    true,
  ]);
  const shown = await sql(b, 'SELECT id FROM windows', '?consistency=any');
  expect(JSON.parse(shown.text)[0].rows.flat().sort()).toEqual([1, 2, 3, 4]);
  expect(far.isClosed).toBe(false);
});

it('[replication 9.9] clients come again where what they use is another thing', async () => {
  const without = (await tavern('two')) as Uint8Array<ArrayBuffer>;
  const where = `/v1/database/${database}/pre_publish?host_type=Js`;
  const plan = await ask(a, 'POST', where, { as: owner, body: without });
  await publish(without, `&policy=BreakClients&token=${JSON.parse(plan.text).AutoMigrate.token}`);
  expect(await far.closed).toEqual([1012, restartOf('database').reason]);
  await readsCopy(b, identity);
  const read = await sql(b, 'SELECT * FROM seat', '?consistency=any');
  expect([read.status, read.headers.get('reducerdb-role')]).toEqual([200, 'follower']);
});

it('[replication 9.9] clients come again where one of their views fails with the next program', async () => {
  // No client of the leader reads the view, so that it does not notice.
  await publish(await tavern('two', '', withView(`(() => { throw new Error('no') })()`)));
  expect((await far.closed)[0]).toBe(1012);
  await readsCopy(b, identity);
  expect((await sql(b, 'SELECT * FROM seat', '?consistency=any')).status).toBe(200);
});

it('[replication 9.9] clients come again where the program cannot be loaded here', async () => {
  const program = holdProgram(new Error('not on this host'));
  await publish(await tavern('two', '', withView()));
  await program.reached();
  program.goOn();
  expect((await far.closed)[0]).toBe(1012);
  const read = await sql(b, 'SELECT * FROM seat');
  expect([read.status, read.headers.get('reducerdb-role')]).toEqual([200, 'leader']);
});

it.each([
  ['long', { copyUpdateMillisMax: 50 }],
  ['much', { copyUpdateBytesMax: 2_000 }],
])('[replication 9.9] a publish does not hold back too %s', async (_, most) => {
  const program = holdProgram();
  Object.assign(bounds, most);
  await publish(await tavern('two', '', withView()));
  await program.reached();
  for (let from = 100; !far.isClosed; from += 20) await call(a, 'fill', [from, 20]);
  expect((await far.closed)[0]).toBe(1012);
  program.goOn();
  await readsCopy(b, identity);
  const read = await sql(b, 'SELECT name FROM person', '?consistency=any');
  expect(read.text).toContain('guest 100');
});

it('[replication 9.9] publishes that wait one after another hold back so many bytes together', async () => {
  const positionAtB = (): number => {
    const role = b.service.host.replication.roleOf(identity);
    return role.kind === 'follower' ? role.end.position : 0;
  };
  const first = holdProgram();
  await publish(await tavern('two', '', withView()));
  await first.reached();
  const begun = positionAtB();
  await publish(await tavern('three', '', withView()));
  await until(() => positionAtB() > begun);
  const carried = positionAtB() - begun;
  Object.assign(bounds, { copyUpdateBytesMax: carried + 2_000 });
  vi.restoreAllMocks();
  const second = holdProgram();
  first.goOn();
  await second.reached();
  expect(far.isClosed).toBe(false);
  for (let from = 100; !far.isClosed; from += 20) await call(a, 'fill', [from, 20]);
  expect((await far.closed)[0]).toBe(1012);
  expect(positionAtB() - begun).toBeLessThan(2 * carried);
  second.goOn();
});

it('[replication 9.9, 7.5] a host that has to lead has the publish, loaded or not', async () => {
  const program = holdProgram();
  await publish(await tavern('two', '', withView('!one.window')));
  await program.reached();
  await kill(a, identity);
  program.goOn();
  await until(() => roleAt(b, identity) === 'leader');
  await furnish(b, 3, false);
  const read = await sql(b, 'SELECT id FROM windows');
  expect(JSON.parse(read.text)[0].rows.flat().sort()).toEqual([2, 3]);
});
