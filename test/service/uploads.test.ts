import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type Person, program, Running } from './running.ts';

/** What clients send that nobody wants, or that they never finish. */

const mebibyte = 1024 * 1024;

let running: Running;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await running.stop();
});

/** A connection that is written to by hand, and all that comes back. */
class Line {
  readonly socket: Socket;
  received = '';
  readonly closed: Promise<unknown>;

  constructor() {
    this.socket = connect(running.service.address.port, '127.0.0.1');
    sockets.push(this.socket);
    this.socket.on('data', (data) => {
      this.received += data.toString('latin1');
    });
    this.socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => this.socket.once('close', resolve));
  }

  /** Sends the head of a request whose body is yet to come. */
  begin(method: string, target: string, length: number, as?: Person): this {
    const token = as === undefined ? '' : `Authorization: Bearer ${as.token}\r\n`;
    this.socket.write(
      `${method} ${target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
        `${token}Content-Length: ${length}\r\n\r\n`,
    );
    return this;
  }

  get status(): number {
    return Number(/^HTTP\/1\.1 (\d+)/.exec(this.received)?.[1] ?? 0);
  }

  answered(): Promise<void> {
    return expect.poll(() => this.status, { timeout: 20_000 }).not.toBe(0);
  }
}

async function open(): Promise<Person> {
  running = await Running.start();
  const owner = await running.person();
  const { status } = await running.upload('shop', await program('examples/chat'), owner);
  expect(status).toBe(200);
  return owner;
}

const someone = 'ab'.repeat(32);

describe('a body that its sender may not send', () => {
  it.each([
    ['PUT', '/v1/database/shop?host_type=Js', 403],
    ['PUT', '/v1/database/shop?host_type=Js&clear=true', 403],
    ['PUT', '/v1/database/shop/reset?host_type=Js', 403],
    ['POST', '/v1/database/shop/pre_publish?host_type=Js', 403],
    ['POST', '/v1/database/nowhere/pre_publish?host_type=Js', 404],
    ['POST', '/v1/database/nowhere/call/any', 404],
    ['POST', '/v1/database/nowhere/sql', 404],
    ['POST', '/v1/database/shop/tokens', 403],
    ['PUT', `/v1/database/shop/grants/${someone}`, 403],
  ])('[http 2] %s %s is answered before it comes', async (method, target, status) => {
    await open();
    const stranger = await running.person();
    const line = new Line().begin(method, target, 2 * mebibyte, stranger);
    await line.answered();
    expect(line.status).toBe(status);
    expect(line.received).toContain('connection: close');
    await line.closed;
  });

  it('[http 2] a name of somebody else, and a policy that does not let them', async () => {
    const owner = await open();
    await running.ask('DELETE', '/v1/database/shop', { as: owner });
    const stranger = await running.person();
    const line = new Line().begin('PUT', '/v1/database/shop?host_type=Js', mebibyte, stranger);
    await line.answered();
    expect(line.status).toBe(401);
    expect(line.received).toContain('PermissionDenied');
    await running.stop();
    running = await Running.start({ publishPolicy: { identities: [1n] } });
    const other = new Line().begin('POST', '/v1/database?host_type=Js', mebibyte);
    await other.answered();
    expect(other.status).toBe(401);
  });

  it('[http 16] is not read: a client that goes on is cut off', async () => {
    await open();
    const line = new Line().begin('GET', '/v1/database/nowhere', 64 * mebibyte);
    await line.answered();
    expect(line.status).toBe(404);
    const piece = Buffer.alloc(mebibyte);
    let sentMebibytes = 0;
    line.socket.on('drain', () => {
      sentMebibytes += 1;
      line.socket.write(piece);
    });
    line.socket.write(piece);
    await line.closed;
    // What the system holds for a connection counts as sent.
    expect(sentMebibytes).toBeLessThan(16);
  });

  it('[http 16] a little of one is read, and the connection goes on', async () => {
    await open();
    const line = new Line().begin('GET', '/v1/database/nowhere', 100_000);
    await line.answered();
    line.socket.write(`${' '.repeat(100_000)}GET /v1/ping HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await expect.poll(() => line.received, { timeout: 20_000 }).toContain('HTTP/1.1 200');
  });

  it('[http 16] a client that uploads much reads why', async () => {
    await open();
    const body = new Uint8Array(60 * mebibyte);
    const stranger = await running.person();
    for (let round = 0; round < 5; round += 1) {
      const { status, text } = await running.upload('shop', body, stranger);
      expect(status).toBe(403);
      expect(text).toContain('is not authorized to perform action');
    }
  });
});

describe('bodies that do not end', () => {
  const bounds = { bodiesBytesMax: 64 * mebibyte };
  const piece = Buffer.alloc(7.75 * mebibyte);

  it('[http 16] of one client leave as much as they take', async () => {
    running = await Running.start({ bounds });
    const owner = await running.person();
    const chat = await program('examples/chat');
    expect((await running.upload('shop', chat, owner)).status).toBe(200);
    const lines = Array.from({ length: 9 }, (_, number) => {
      const target = `/v1/database/trap-${number}?host_type=Js`;
      return new Line().begin('PUT', target, 8 * mebibyte);
    });
    for (const line of lines) line.socket.write(piece);
    const refused = () => lines.filter(({ status }) => status === 429).length;
    await expect.poll(refused, { timeout: 20_000 }).toBeGreaterThanOrEqual(5);
    const ofOne = lines.find(({ status }) => status === 429);
    expect(ofOne?.received).toContain('retry-after: 1');
    expect(ofOne?.received).toContain('This client has too many bytes of requests under way');
    // Others publish and call meanwhile.
    expect((await running.upload('other', chat, owner)).status).toBe(200);
    const args = ['x'.repeat(1_900_000)];
    expect((await running.call('shop', 'send_message', args, owner)).status).not.toBe(503);
    const { status } = await running.upload('shop', new Uint8Array(7 * mebibyte), owner);
    expect([400, 500]).toContain(status);
    expect(lines.some(({ status }) => status === 0)).toBe(true);
  });

  it('[http 16] count no more once they have ended', async () => {
    running = await Running.start({ bounds: { bodiesBytesMax: 4 * mebibyte } });
    for (let round = 0; round < 6; round += 1) {
      const line = new Line().begin('POST', '/v1/database?host_type=Js', 1.9 * mebibyte);
      line.socket.write(Buffer.alloc(1.8 * mebibyte), () => line.socket.destroy());
      await line.closed;
    }
    const ask = () => running.upload('last', new Uint8Array(1.9 * mebibyte), undefined);
    await expect.poll(async () => (await ask()).status, { timeout: 20_000 }).not.toBe(429);
  });

  it('[http 16] are given up when nothing more comes', async () => {
    running = await Running.start({ bounds: { bodyIdleMillisMax: 100 } });
    const line = new Line().begin('POST', '/v1/database?host_type=Js', mebibyte);
    line.socket.write(' ');
    await line.answered();
    expect(line.status).toBe(408);
    expect(line.received).toContain('Nothing more of the request body came for 0.1 s');
    await line.closed;
  });
});
