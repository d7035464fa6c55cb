import { existsSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Sandbox } from './harness.ts';

/** What a terminal would do something at. */
const control = '\u001b[2J\u001b]0;owned\u0007\u009b31m';

const piece = Buffer.alloc(65_536, '1');

/** Sends without end, as long as the client takes it. */
function flood(response: ServerResponse): void {
  const fill = (): void => {
    while (!response.destroyed && response.write(piece)) sent += piece.length;
  };
  response.on('drain', fill);
  fill();
}

const job = (more: object): string =>
  JSON.stringify({
    state: 'done',
    phase: '',
    done: 0,
    total: 0,
    result: null,
    error: null,
    ...more,
  });

/** What is answered for each database, and then for its job. */
const answers: Readonly<Record<string, (response: ServerResponse, isJob: boolean) => unknown>> = {
  files: (response, isJob) =>
    response.end(isJob ? job({ result: { files: 5 } }) : '{"job":"files"}'),
  taken: (response, isJob) =>
    response.end(isJob ? job({ result: { taken: 1 } }) : '{"job":"taken"}'),
  failed: (response, isJob) =>
    response.end(isJob ? job({ state: 'failed', error: control }) : '{"job":"failed"}'),
  empty: (response) => response.end('{}'),
  text: (response) => response.end(`no JSON ${control}`),
  flood,
  refused: (response) => {
    const headers = { 'reducerdb-error-place': '1:99999999999', 'reducerdb-error-hint': '%zz' };
    response.writeHead(400, headers).end(control);
  },
  cut: (response) => {
    response.writeHead(200, { 'content-length': 100 });
    response.write('{"env":', () => response.destroy());
  },
  lines: (response) => {
    const record = { level: control, ts: 1e300, message: control, filename: control };
    response.end(`${JSON.stringify(record)}\n`);
  },
  late: (response) => {
    const none = { bytes: { [control]: 1 }, holds: [], settings: {}, chosen: {} };
    const floor = { offset: 1, time: 1e300 };
    const counts = { offset: 1, durable_offset: 1, segments: 1, snapshots: 1 };
    response.end(JSON.stringify({ ...counts, floor, ...none }));
  },
};

let server: Server;
let sandbox: Sandbox;
let sent = 0;
beforeAll(async () => {
  server = createServer((request, response) => {
    const url = request.url ?? '';
    if (url === '/v1/identity') {
      const payload = Buffer.from('{"iss":"i","sub":"s"}').toString('base64url');
      response.end(JSON.stringify({ identity: '00', token: `a.${payload}.b` }));
      return;
    }
    const found = /^\/v1\/(?:database|(jobs))\/(\w+)/.exec(url);
    answers[found?.[2] ?? '']?.(response, found?.[1] !== undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  sandbox = await Sandbox.make((server.address() as AddressInfo).port);
  await sandbox.run(['retention', 'status', 'empty']);
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  sandbox.remove();
});

it.each([
  ['a result of another form', ['verify', 'files'], 'another form than expected: `result.files`'],
  ['another result', ['snapshot', 'taken'], 'another form than expected: `result.taken`'],
  ['the error of a job', ['snapshot', 'failed'], '\\u001b[2J'],
  ['too little', ['retention', 'status', 'empty'], 'another form than expected: `offset`'],
  ['no description', ['backup', 'create', 'empty', '--to', './copy'], 'another form than expected'],
  ['no JSON', ['sql', 'text', 'SELECT 1'], 'another form than expected'],
  ['no schema', ['describe', 'text', '--json'], 'another form than expected'],
  ['an error with a strange place', ['sql', 'refused', 'SELECT 1'], '%zz'],
  ['half of an answer', ['env', 'list', 'cut'], 'was lost'],
  ['an answer without an end', ['env', 'list', 'flood'], 'is longer than 64 MiB'],
  ['a log without an end', ['logs', 'flood'], 'a line of the log has no end'],
])('[cli 1] %s is an error in one line', async (_what, args, words) => {
  sent = 0;
  const { code, stdout, stderr } = await sandbox.run(args);
  expect(stderr).toContain(words);
  expect(code).toBe(1);
  expect(stderr).not.toMatch(/\n {4}at /);
  expect(`${stdout}${stderr}`).not.toMatch(/(?!\n)\p{Cc}/u);
  expect(sent).toBeLessThan(2 ** 28);
  expect(existsSync(path.join(sandbox.folder, 'copy/backups'))).toBe(false);
});

it('[cli 1] what is shown does nothing to a terminal', async () => {
  const shown = [
    ['logs', 'lines'],
    ['retention', 'status', 'late'],
  ];
  for (const args of shown) {
    const out = await sandbox.ok(args);
    expect(out).toContain('\\u001b[2J');
    expect(out).not.toMatch(/(?!\n)\p{Cc}/u);
  }
});
