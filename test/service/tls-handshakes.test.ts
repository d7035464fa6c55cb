import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { GivenConfiguration } from '../../src/service/configuration.ts';
import { makeCertificate } from '../support/certificate.ts';
import { Running } from './running.ts';

/** Strangers who begin to speak TLS and never get on with it. */

let folder: string;
let running: Running;
const opened: Socket[] = [];

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-handshakes-'));
});
afterEach(async () => {
  for (const socket of opened.splice(0)) socket.destroy();
  await running.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function start(given: GivenConfiguration): Promise<void> {
  const { cert, key } = makeCertificate('stranger');
  const tls = {
    certificateFile: path.join(folder, 'cert.pem'),
    keyFile: path.join(folder, 'key.pem'),
  };
  writeFileSync(tls.certificateFile, cert);
  writeFileSync(tls.keyFile, key);
  running = await Running.start({ ...given, tls });
}

/** Resolves once the service has ended a connection that begins with these bytes. */
function ended(begin: Uint8Array): Promise<'ended'> {
  const socket = connect(running.service.address.port, '127.0.0.1', () => socket.write(begin));
  opened.push(socket);
  socket.on('error', () => undefined);
  return new Promise((resolve) => socket.once('close', () => resolve('ended')));
}

const nothing = Uint8Array.of();
/** A record that says how long it is, and the first byte of it. */
const firstBytes = Uint8Array.of(22, 3, 1, 2, 0, 1);

describe('handshakes of TLS', () => {
  it('[http 16] have the time that headers have', async () => {
    await start({ bounds: { headerMillisMax: 500 } });
    const all = Promise.all([ended(nothing), ended(firstBytes)]);
    const late = new Promise((resolve) => setTimeout(() => resolve('late'), 10_000));
    expect(await Promise.race([all, late])).toEqual(['ended', 'ended']);
  }, 20_000);

  it('[http 16] count as connections of their address', async () => {
    await start({ rates: { addressConnections: 3 } });
    const first = [ended(nothing), ended(firstBytes), ended(nothing)];
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await ended(nothing)).toBe('ended');
    const still = new Promise((resolve) => setTimeout(() => resolve('open'), 200));
    expect(await Promise.race([...first, still])).toBe('open');
  });
});
