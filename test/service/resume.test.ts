import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { type Client, connect } from '../../src/client/index.ts';
import { type PersonRows, SocketGate } from '../support/gated-socket.ts';
import { type Person, Running } from './running.ts';
import { tavern } from './tavern-module.ts';

let running: Running;
let owner: Person;
const clients: Client<unknown>[] = [];

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  const { status, text } = await publish('tavern');
  if (status !== 200) throw new Error(text);
});
afterEach(() => {
  for (const client of clients.splice(0)) client.disconnect();
});
afterAll(() => running.stop());

async function publish(name: string, moreExports = '') {
  const body = await tavern('one', '', moreExports);
  return running.ask('PUT', `/v1/database/${name}?host_type=Js`, { as: owner, body });
}

async function call(reducer: string, ...args: unknown[]): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const where = `/v1/database/tavern/call/${reducer}`;
  const body = JSON.stringify(args);
  const { status, text } = await running.ask('POST', where, { as: owner, body, headers });
  if (status !== 200) throw new Error(text);
}

async function watching(...queries: string[]) {
  const gate = new SocketGate();
  const { webSocket } = gate;
  const uri = running.service.url;
  const client = connect({ uri, database: 'tavern', token: owner.token, webSocket });
  clients.push(client);
  await client.subscribe(queries).applied;
  const told: string[] = [];
  const { person, ring } = client.db as unknown as PersonRows;
  person.onInsert(({ event }, { id }) => told.push(`${event.tag} +${id}`));
  person.onDelete(({ event }, { id }) => told.push(`${event.tag} -${id}`));
  ring.onInsert(({ event }, { tune }) => told.push(`${event.tag} ${tune}`));
  return { client, gate, told };
}

it('[replication 11.5] on one machine, too, a client that comes back gets what it has missed', async () => {
  const { client, gate, told } = await watching('SELECT * FROM person', 'SELECT * FROM ring');
  const other = await watching('SELECT * FROM person ORDER BY id LIMIT 100');
  for (let round = 0; round < 3; round += 1) {
    const id = 10 * round;
    await call('add', id, 'a', 1);
    for (const each of [told, other.told]) {
      await expect.poll(() => each.at(-1)).toBe(`Transaction +${id}`);
      each.length = 0;
    }
    for (const { gate: each } of [{ gate }, other]) each.shut();
    await call('add', id + 1, 'b', 1);
    await call('ringIt', `ding ${round}`);
    await call('remove', id);
    await call('fill', id + 2, 3);
    for (const { gate: each } of [{ gate }, other]) each.letIn();
    await expect.poll(() => told.length).toBe(6);
    await expect.poll(() => other.told.length).toBe(5);
    expect(told).toEqual([
      ...[`Transaction +${id + 1}`, `Transaction ding ${round}`, `Transaction -${id}`],
      ...[2, 3, 4].map((more) => `Transaction +${id + more}`),
    ]);
    // Its rows do not follow from changes alone: they are read again.
    expect(other.told.every((line) => line.startsWith('Reconnected '))).toBe(true);
  }
  expect(client.state.get().kind).toBe('live');
  const { text } = await running.ask('GET', '/v1/metrics');
  const counts = [...text.matchAll(/^reducerdb_resumes_total\{.*kind="(\w+)"\} (\d+)$/gm)];
  expect(counts.map(([, kind, count]) => `${kind} ${count}`)).toEqual([
    ...['resumed 3', 'rows 3', 'rewound 0'],
  ]);
});

it('[replication 11.5] reads again after an update of the program, and goes on from there', async () => {
  const { gate, told } = await watching('SELECT * FROM person');
  await call('add', 900, 'a', 1);
  await expect.poll(() => told.at(-1)).toBe('Transaction +900');
  gate.shut();
  await call('add', 901, 'b', 1);
  const more = 'export const more = db.reducer(() => {});';
  // The program has changed in between: what was kept was for the schema before it.
  expect((await publish('tavern', more)).status).toBe(200);
  gate.letIn();
  await expect.poll(() => told.at(-1)).toBe('Reconnected +901');
  gate.shut();
  await call('add', 902, 'c', 1);
  gate.letIn();
  await expect.poll(() => told.at(-1)).toBe('Transaction +902');
});

it('[websocket 2] hostile bytes in the subprotocol end their own connection alone', async () => {
  const { told } = await watching('SELECT * FROM person');
  const url = running.service.url.replace('http', 'ws');
  const attacks: Buffer[] = [
    Buffer.alloc(0),
    Buffer.from([5]),
    Buffer.from([6, 0, 0, 0, 0]),
    Buffer.concat([Buffer.from([5]), Buffer.alloc(28), Buffer.from('ffffffff', 'hex')]),
    Buffer.concat([Buffer.from([5]), Buffer.alloc(28, 0xff), Buffer.alloc(4), Buffer.from([9])]),
  ];
  for (const bytes of attacks) {
    const socket = new WebSocket(`${url}/v1/database/tavern/subscribe`, 'v3.bsatn.reducerdb');
    const closed = new Promise<number>((resolve) => socket.on('close', resolve));
    await new Promise((resolve) => socket.once('open', resolve));
    expect(socket.protocol).toBe('v3.bsatn.reducerdb');
    socket.send(bytes);
    expect([bytes.toString('hex'), await closed]).toEqual([bytes.toString('hex'), 1011]);
  }
  await call('add', 950, 'z', 1);
  await expect.poll(() => told.at(-1)).toBe('Transaction +950');
});
