import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import { someOf } from '../support/share.ts';
import { type Person, program, Running } from './running.ts';
import { SocketClient } from './socket-client.ts';
import { encoded, Guest } from './socket-guest.ts';

let running: Running;
let owner: Person;

beforeAll(async () => {
  running = await Running.start({ budget: { callMillisMax: 3_000 } });
  owner = await running.person();
  const { status, text } = await running.upload('errands', await program('errands'), owner);
  expect([status, text]).toEqual([200, expect.any(String)]);
  await running.call('errands', 'put', [1, 'Ada', 1]);
});
afterAll(() => running.stop());

const call = async (name: string, args: unknown, as?: Person) => {
  const { status, text, headers } = await running.call('errands', name, args, as);
  return { status, text, headers };
};

describe('procedures over HTTP', () => {
  it('[http 9.2, living 2.9] answer with their value as JSON', async () => {
    const { status, text, headers } = await call('add', [7, 'Bo']);
    expect([status, text]).toEqual([200, '"added"']);
    expect(headers.get('content-type')).toContain('application/json');
    expect(headers.get('spacetime-execution-duration-micros')).toMatch(/^\d+$/);
    expect((await call('train', { id: 7, times: 2 })).text).toBe('3');
    expect((await call('nothing', [])).text).toBe('[]');
    expect(await running.rows('errands', 'SELECT level FROM hero WHERE id = 7')).toEqual([[3]]);
  });

  it('[http 9.2] fail with these answers', async () => {
    const fatal = 'The module instance encountered a fatal error: ';
    expect(await call('fails', ['sender'])).toMatchObject({
      status: 500,
      text: `${fatal}no, thank you`,
    });
    expect(await call('fails', ['bug'])).toMatchObject({
      status: 500,
      text: `${fatal}Uncaught TypeError: a bug`,
    });
    expect(await call('fails', [1, 2])).toMatchObject({
      status: 400,
      text: expect.stringMatching(/^invalid arguments for procedure fails: /),
    });
    expect(await call('no_such', [])).toMatchObject({
      status: 404,
      text: expect.stringMatching(/^No such procedure\nhint: /),
    });
    const messages = await running.messages('errands', owner);
    expect(messages).toContain('Panic: Uncaught TypeError: a bug');
  });

  it('[living 2.9] are for those who may call reducers', async () => {
    const agent = await running.agent('errands', { reducers: ['train'] }, owner);
    expect(await call('train', [1, 0], agent)).toMatchObject({ status: 200 });
    expect(await call('nothing', [], agent)).toMatchObject({ status: 404 });
    const reader = await running.agent('errands', { read_only: true }, owner);
    expect(await call('train', [1, 0], reader)).toMatchObject({ status: 404 });
  });
});

describe.each(someOf(['v2', 'v3'], 2))('procedures over WebSocket %s', (version) => {
  it('[websocket 7] answer after the updates of what they have committed', async () => {
    const guest = await Guest.arrive(running.service.url, 'errands', {
      protocols: [`${version}.bsatn.spacetimedb`],
    });
    guest.subscribe(1, 5, 'SELECT * FROM hero WHERE id = 1');
    await guest.expect('subscribeApplied');
    guest.send({ kind: 'callProcedure', requestId: 9, procedure: 'train', args: encoded([1, 3]) });
    for (let left = 3; left > 0; left--) await guest.expect('transactionUpdate');
    const result = await guest.expect('procedureResult');
    expect(result).toMatchObject({ requestId: 9, status: { kind: 'returned' } });
    expect(Number(result.timestamp / 1000n)).toBeGreaterThan(Date.now() - 60_000);
    const { status } = result;
    const level = status.kind === 'returned' ? new BinaryReader(status.value).u32() : 0;
    expect(await running.rows('errands', 'SELECT level FROM hero WHERE id = 1')).toEqual([[level]]);
    guest.send({ kind: 'callProcedure', requestId: 10, procedure: 'x', args: encoded([]) });
    expect(await guest.expect('procedureResult')).toMatchObject({
      requestId: 10,
      status: { kind: 'internalError', message: 'No such procedure' },
      timestamp: 0n,
      durationMicros: 0n,
    });
    await guest.client.close();
  });
});

describe('procedures over WebSocket v1 as text', () => {
  it('[websocket 8] take and give JSON', async () => {
    const client = await SocketClient.open(running.service.url, 'errands', {
      protocols: ['v1.json.spacetimedb'],
    });
    await client.frame();
    const asked = { procedure: 'train', args: '[1, 1]', request_id: 4, flags: 0 };
    client.send(JSON.stringify({ CallProcedure: asked }));
    const { ProcedureResult } = JSON.parse((await client.frame()).bytes.toString());
    const [[level]] = (await running.rows('errands', 'SELECT level FROM hero WHERE id = 1')) as [
      [number],
    ];
    expect(ProcedureResult).toMatchObject({ request_id: 4, status: { Returned: String(level) } });
    await client.close();
  });
});

describe('procedures over MCP', () => {
  it('[mcp A5, living 2.9] are called by the tool for calls', async () => {
    const args = { reducer: 'calls_by_name', args: ['refuse'] };
    expect(await running.tool('errands', 'call', args)).toContain('SenderError: not today');
    const failing = { reducer: 'fails', args: ['sender'] };
    expect(await running.tool('errands', 'call', failing)).toContain('no, thank you');
  });
});
