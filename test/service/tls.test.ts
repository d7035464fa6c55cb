import { readFileSync, writeFileSync } from 'node:fs';
import http, { type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import path from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { makeCertificate } from '../support/certificate.ts';
import { fixture } from './cli-support.ts';
import { freePort, Sandbox } from './harness.ts';

/** A service with a certificate of its own, in a process of its own. */

const first = makeCertificate('first');
const second = makeCertificate('second');
const certFile = () => path.join(sandbox.folder, 'cert.pem');
const keyFile = () => path.join(sandbox.folder, 'key.pem');

let sandbox: Sandbox;
let port: number;
let url: string;
let child: ReturnType<Sandbox['spawn']>;
let output = '';

beforeAll(async () => {
  sandbox = await Sandbox.make();
  port = await freePort();
  url = `https://127.0.0.1:${port}`;
  writeFileSync(certFile(), first.cert);
  writeFileSync(keyFile(), first.key);
  const tls = ['--tls-cert', certFile(), '--tls-key', keyFile()];
  const issuer = ['--accept-issuer', 'https://auth.example.com'];
  child = sandbox.spawn(['start', '-l', `127.0.0.1:${port}`, ...tls, ...issuer]);
  child.stderr?.on('data', (chunk) => {
    output += chunk;
  });
  child.stdout?.on('data', (chunk) => {
    output += chunk;
  });
  await vi.waitFor(() => expect(output).toContain(`listening on ${url}`), { timeout: 20_000 });
});
afterAll(async () => {
  child.kill('SIGTERM');
  await new Promise((resolve) => child.on('close', resolve));
  sandbox.remove();
});

/** Status and body of a GET, with whatever certificates are trusted. */
function get(where: string, options: RequestOptions & { ca?: string } = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const { get: send } = where.startsWith('https:') ? https : http;
    const request = send(where, { agent: false, ...options }, async (answer: IncomingMessage) => {
      let text = '';
      for await (const chunk of answer) text += chunk;
      resolve(`${answer.statusCode} ${text}`);
    });
    request.on('error', reject);
  });
}

/** The name in the certificate that a new connection is shown. */
function shownName(): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const socket: TLSSocket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
  });
}

const trusting = () => ({ NODE_EXTRA_CA_CERTS: certFile() });

describe('[cli 8] a service with a certificate', () => {
  it('answers over HTTPS a client that trusts it', async () => {
    expect(await get(`${url}/v1/ping`, { ca: first.cert })).toBe('200 ');
    await expect(get(`${url}/v1/ping`)).rejects.toThrow(/self-signed certificate/);
    await expect(get(`${url}/v1/ping`, { ca: second.cert })).rejects.toThrow();
  });

  it('answers a client that would rather speak another protocol', async () => {
    const headers = { connection: 'Upgrade', upgrade: 'h2c' };
    expect(await get(`${url}/v1/ping`, { ca: first.cert, headers })).toBe('200 ');
  });

  it('[mcp B10] says so where it tells of its MCP endpoints', async () => {
    const where = `${url}/.well-known/oauth-protected-resource/v1/mcp`;
    const metadata = await get(where, { ca: first.cert });
    expect(metadata).toContain(`"resource":"${url}/v1/mcp"`);
  });

  it('tells whoever speaks plain HTTP that it speaks TLS', async () => {
    const plain = `http://127.0.0.1:${port}/v1/ping`;
    expect(await get(plain)).toBe('400 This port speaks TLS: ask with https:// or wss://');
    const { code, stderr } = await sandbox.run(['list', '-s', `http://127.0.0.1:${port}`, '-y']);
    expect(code).toBe(1);
    expect(stderr).toContain('This port speaks TLS');
    const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/database/x/subscribe`);
    const message = await new Promise((resolve) => socket.on('error', (e) => resolve(e.message)));
    expect(message).toBe('Unexpected server response: 400');
  });

  it('serves the command line and WebSockets', async () => {
    const env = trusting();
    const server = ['-s', url];
    await sandbox.ok(['publish', 'ledger', '-y', '-p', fixture('ledger'), ...server], { env });
    await sandbox.ok(['call', 'ledger', 'append', '1', '7', ...server], { env });
    const rows = ['sql', 'ledger', 'SELECT number FROM entry', '--format', 'json'];
    expect(JSON.parse(await sandbox.ok([...rows, ...server], { env }))[0].rows).toEqual([[7]]);
    const untrusting = await sandbox.run([...rows, ...server]);
    expect(untrusting.code).toBe(1);
    expect(untrusting.stderr).toMatch(/could not reach .* \(self-signed certificate/);

    const address = `wss://127.0.0.1:${port}/v1/database/ledger/subscribe?compression=None`;
    const socket = new WebSocket(address, ['v1.json.spacetimedb'], { ca: first.cert });
    const hello = await new Promise<string>((resolve, reject) => {
      socket.on('message', (data) => resolve(String(data)));
      socket.on('error', reject);
    });
    expect(JSON.parse(hello)).toHaveProperty('IdentityToken');
    socket.terminate();
  });

  it('shows a renewed certificate to new connections, once both files are there', async () => {
    expect(await shownName()).toBe('first');
    // A connection that is open goes on.
    const agent = new https.Agent({ keepAlive: true, ca: first.cert });
    expect(await get(`${url}/v1/ping`, { agent })).toBe('200 ');
    writeFileSync(certFile(), second.cert);
    await expect
      .poll(() => output, { timeout: 15_000 })
      .toContain('The old certificate stays in use');
    expect(await shownName()).toBe('first');
    writeFileSync(keyFile(), second.key);
    await expect.poll(shownName, { timeout: 15_000 }).toBe('second');
    expect(await get(`${url}/v1/ping`, { ca: second.cert })).toBe('200 ');
    expect(await get(`${url}/v1/ping`, { agent })).toBe('200 ');
    agent.destroy();
    // What is no certificate at all changes nothing, either.
    output = '';
    writeFileSync(certFile(), 'garbage');
    await expect
      .poll(() => output, { timeout: 15_000 })
      .toContain('The old certificate stays in use');
    expect(await shownName()).toBe('second');
    // The log says which file, and nothing of what is in it.
    expect(output).not.toContain('garbage');
    expect(output).not.toContain(readFileSync(keyFile(), 'utf8').split('\n')[1]);
  }, 90_000);
});

describe('start', () => {
  it.each([
    ['missing.pem', 'ENOENT'],
    ['garbage.pem', 'cannot be used for TLS'],
    ['other.pem', 'the key is not that of the certificate'],
  ])('[cli 8] refuses a certificate like %s', async (name, words) => {
    writeFileSync(path.join(sandbox.folder, 'garbage.pem'), 'garbage');
    writeFileSync(path.join(sandbox.folder, 'other.pem'), makeCertificate().cert);
    writeFileSync(path.join(sandbox.folder, 'mine.pem'), first.key);
    const flags = ['--tls-cert', name, '--tls-key', 'mine.pem', '--in-memory'];
    const args = ['start', '-l', `127.0.0.1:${sandbox.port}`, ...flags];
    const { code, stderr } = await sandbox.run(args);
    expect(code).toBe(1);
    expect(stderr).toContain(`Error: ${sandbox.folder}/${name} and ${sandbox.folder}/mine.pem`);
    expect(stderr).toContain(words);
  });
});
