import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { Sandbox } from './harness.ts';

/** `cluster verify` at a host of whose databases some are gone, or cannot be read. */

interface Answer {
  readonly status: number;
  readonly text: string;
}

const whole = (database: string): Answer => {
  const counts = { first: 0, entries: 3, bytes: 300, term: 1, offset: 2, snapshots: 0 };
  const log = { database, names: [`${database}-db`], ...counts, faults: [], copies: [] };
  return { status: 200, text: JSON.stringify(log) };
};
const deleted: Answer = { status: 404, text: 'No such database.' };
const away: Answer = { status: 503, text: 'The engine does not answer: it is away.' };

let answers: Record<string, Answer | 'cut'>;
let asked: string[];
let server: Server;
let sandbox: Sandbox;
beforeAll(async () => {
  server = createServer((request, response) => {
    const url = request.url ?? '';
    if (url === '/v1/identity') {
      const payload = Buffer.from('{"iss":"i","sub":"s"}').toString('base64url');
      response.end(JSON.stringify({ identity: '00', token: `a.${payload}.b` }));
      return;
    }
    if (url === '/v1/cluster/databases') {
      const listed = Object.keys(answers).map((one) => ({ database: one, names: [`${one}-db`] }));
      response.end(JSON.stringify({ databases: listed }));
      return;
    }
    const [, database = ''] = /^\/v1\/cluster\/databases\/(\w+)\/verify$/.exec(url) ?? [];
    if (database !== '') asked.push(database);
    const answer = answers[database] ?? deleted;
    if (answer === 'cut') request.socket.destroy();
    else response.writeHead(answer.status).end(answer.text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  sandbox = await Sandbox.make((server.address() as AddressInfo).port);
});
beforeEach(() => {
  asked = [];
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  sandbox.remove();
});

const verify = (...more: string[]) => sandbox.run(['cluster', 'verify', ...more]);

it('[replication 16.4] skips a database that was deleted meanwhile, and goes on', async () => {
  answers = { one: whole('one'), two: deleted, three: whole('three') };
  const { code, stdout, stderr } = await verify();
  expect(stdout).toMatch(/one-db +\| ok[\s\S]*three-db +\| ok/);
  expect(stderr).toContain('two-db is skipped: it was deleted meanwhile.');
  expect([code, asked]).toEqual([0, ['one', 'two', 'three']]);
});

it('[replication 16.4] names a database that cannot be read, and goes on', async () => {
  answers = { one: away, two: whole('two') };
  const { code, stdout, stderr } = await verify('--json');
  expect(JSON.parse(stdout).logs).toMatchObject([{ database: 'two' }]);
  expect(stderr).toContain('one-db was not verified: The engine does not answer: it is away.');
  expect([code, asked]).toEqual([1, ['one', 'two']]);
});

it('[replication 16.4] shows what it has when the host is gone, and names what is left', async () => {
  answers = { one: whole('one'), two: 'cut', three: whole('three') };
  const { code, stdout, stderr } = await verify();
  expect(stdout).toMatch(/one-db +\| ok/);
  expect(stderr).toMatch(/two-db was not verified: the connection .* was lost/);
  expect(stderr).toContain('Nor were those behind it in the list, 1 more.');
  expect([code, asked]).toEqual([1, ['one', 'two']]);
});

it('[replication 16.4] says of one that was named that there is none', async () => {
  answers = {};
  const { code, stderr } = await verify('other');
  expect([code, stderr]).toEqual([1, expect.stringContaining('No such database.')]);
});
