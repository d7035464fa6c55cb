import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { fetchJson } from './guarded-fetch.ts';

let server: Server;
let answer: RequestListener;
let url: string;
let asked = 0;

beforeEach(async () => {
  asked = 0;
  server = createServer((request, response) => {
    asked += 1;
    answer(request, response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
});

const onlyPublic = { allowsLoopback: false, allowsPrivate: false };
const loopbackToo = { allowsLoopback: true, allowsPrivate: false };

const redirectTo = (location: string) => {
  answer = (_request, response) => response.writeHead(307, { location }).end();
};

it('[auth 6] follows redirects within the scheme', async () => {
  answer = ({ url: path }, response) =>
    path === '/last'
      ? response.end('{"a":1}')
      : response.writeHead(302, { location: path === '/next' ? '/last' : '/next' }).end();
  expect(await fetchJson(`${url}/first`, loopbackToo)).toMatchObject({ document: { a: 1 } });
  expect(asked).toBe(3);
});

it.each([
  ['https://10.0.0.1/', '10.0.0.1 is at 10.0.0.1, which is not allowed'],
  ['https://[::ffff:192.168.0.1]/', /^\[::ffff:c0a8:1\] is at ::ffff:c0a8:1, which is not allowed/],
  ['https://2130706433/', '127.0.0.1 is at 127.0.0.1, which is not allowed'],
  ['https://0x7f.1/', '127.0.0.1 is at 127.0.0.1, which is not allowed'],
  ['https://0/', '0.0.0.0 is at 0.0.0.0, which is not allowed'],
  ['https://localhost/', /^localhost is at (127\.0\.0\.1|::1), which is not allowed$/],
  ['http://93.184.215.14/', '93.184.215.14 is at 93.184.215.14, which is not allowed'],
  ['ftp://93.184.215.14/', 'ftp://93.184.215.14/ is neither an https nor an http address'],
  ['file:///etc/passwd', 'file:///etc/passwd is neither an https nor an http address'],
])('[auth 6] does not ask %s', async (address, text) => {
  await expect(fetchJson(address, onlyPublic)).rejects.toThrow(text);
});

it.each([
  ['http://169.254.169.254/', '169.254.169.254 is at 169.254.169.254, which is not allowed'],
  ['https://127.0.0.1/', 'redirects to another scheme'],
  ['/again', 'redirects more than 3 times'],
])('[auth 6] does not follow to %s', async (location, text) => {
  redirectTo(location);
  await expect(fetchJson(url, loopbackToo)).rejects.toThrow(text);
});

it('[auth 6] reads so many bytes and no more, however they come', async () => {
  let isOver = false;
  answer = (_request, response) => {
    response.on('close', () => {
      isOver = true;
    });
    const write = () => void (response.write('x'.repeat(65_536)) && setImmediate(write));
    response.on('drain', write);
    write();
  };
  await expect(fetchJson(url, loopbackToo)).rejects.toThrow(
    'answered with more than 1048576 bytes',
  );
  await expect.poll(() => isOver).toBe(true);
});

it('[auth 6] waits for all of an answer no longer than 5 s', async () => {
  answer = (_request, response) => {
    const timer = setInterval(() => response.write(' '), 100);
    response.on('close', () => clearInterval(timer));
  };
  const start = Date.now();
  await expect(fetchJson(url, loopbackToo)).rejects.toThrow();
  expect(Date.now() - start).toBeGreaterThan(4_900);
  expect(Date.now() - start).toBeLessThan(10_000);
}, 90_000);
