import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import path from 'node:path';
import type { Isolation } from '../../src/host/workers/isolation.ts';
import { figureIn } from '../service/figure.ts';
import { Guest } from '../service/socket-guest.ts';
import { type Bed, eventually, type Load, until } from './bed.ts';
import type { Fault } from './fault.ts';

const prlimit = ['/usr/bin/prlimit', '/bin/prlimit'].find(existsSync);
const unshare = ['/usr/bin/unshare', '/bin/unshare'].find(existsSync);
const ofNamespace = [unshare ?? '', '--pid', '--fork', '--kill-child', '--mount-proc'];

/** Why the system's limits cannot be set here. */
const noLimits = prlimit === undefined ? 'prlimit is not there' : undefined;

const noNamespaces =
  unshare === undefined || spawnSync(unshare, [...ofNamespace.slice(1), 'true']).status !== 0
    ? 'a pid namespace cannot be made'
    : undefined;

/** Too little of something, too much of something, and a second service. */
export const others: readonly Fault[] = [
  {
    kind: 'clients open more connections than there are files to open',
    missing: noLimits,
    async run(bed) {
      await bed.stop();
      await bed.start([], { under: [prlimit ?? '', '--nofile=320:320'] });
      const sockets = await openSockets(bed, 500);
      await until('it refuses', () => bed.service.output.includes('refuses connections'));
      for (const socket of sockets.splice(0, 100)) socket.destroy();
      await eventually('calls are answered', () => bed.append('ledger', bed.newWriter(), 0));
      for (const socket of sockets) socket.destroy();
      await bed.stop();
      return 'new connections are refused, databases go on';
    },
  },
  {
    kind: 'the system allows too few open files to start',
    missing: noLimits,
    async run(bed) {
      const under = [prlimit ?? '', '--nofile=64:64'];
      await bed.refusedStart(/files open, and a service needs at least \d+/, [], { under });
      return 'the start is refused, in one line';
    },
  },
  {
    kind: 'the port is taken',
    async run(bed) {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as { port: number };
      const folder = path.join(bed.sandbox.folder, 'another');
      const at = ['--listen-addr', `127.0.0.1:${port}`, '--data-dir', folder];
      await bed.refusedStart(/Port \d+ is already in use/, at);
      server.close();
      return 'the start is refused, in one line';
    },
  },
  runaway('a call that never ends', 'spin', 'thread'),
  runaway('a call that takes memory without end', 'eat', 'process'),
  runaway('a call whose process the system ends', 'grow', 'process'),
  {
    kind: 'a scheduled run that never ends',
    async run(bed) {
      const load = await bed.underLoad();
      await bed.endlessJob();
      await goesOn(load);
      return 'it has failed, once; what is due after it runs';
    },
  },
  {
    kind: 'statements that sort and join whole tables, many at once',
    async run(bed) {
      const sql = 'SELECT a.id FROM entry a JOIN entry b ON a.id <> b.id ORDER BY a.number, b.id';
      const load = await bed.underLoad(200);
      const answers = await Promise.all(Array.from({ length: 12 }, () => bed.sql('ledger', sql)));
      await goesOn(load);
      const bad = answers.filter(({ status }) => ![200, 400, 503].includes(status));
      if (bad.length > 0) throw new Error(`${bad[0]?.status} ${bad[0]?.text}`);
      await restartsAre(bed, 0);
      return 'answered, or refused with the bound that they met';
    },
  },
  {
    kind: 'clients that do not read their answers',
    async run(bed) {
      const load = await bed.underLoad();
      const sockets = await openSockets(bed, 20);
      const request = 'GET /v1/database/ledger/schema?version=9 HTTP/1.1\r\nHost: a\r\n\r\n';
      for (const socket of sockets) {
        socket.pause();
        socket.write(request.repeat(300));
      }
      await goesOn(load);
      for (const socket of sockets) socket.destroy();
      return 'what waits for them is bounded; others go on';
    },
  },
  {
    kind: 'a subscriber that does not read',
    async run(bed) {
      const options = { protocols: ['v3.bsatn.spacetimedb'] };
      const guest = await Guest.arrive(bed.sandbox.url, 'ledger', options);
      guest.subscribe(1, 1, 'SELECT * FROM entry');
      guest.client.socket.pause();
      await goesOn(await bed.underLoad());
      guest.client.socket.terminate();
      return 'what waits for it is bounded; others go on';
    },
  },
  {
    kind: 'connections that never ask',
    async run(bed) {
      const load = await bed.underLoad();
      const sockets = await openSockets(bed, 800);
      await goesOn(load);
      for (const socket of sockets) socket.destroy();
      return 'others go on';
    },
  },
  {
    kind: 'bodies that never end',
    async run(bed) {
      const load = await bed.underLoad();
      const sockets = await openSockets(bed, 40);
      const head = 'POST /v1/database/ledger/call/append HTTP/1.1\r\nHost: a\r\n';
      for (const socket of sockets) socket.write(`${head}Content-Length: 1000000\r\n\r\n[`);
      await goesOn(load);
      for (const socket of sockets) socket.destroy();
      return 'what waits is bounded; others go on';
    },
  },
  {
    kind: 'a second service on the folder',
    async run(bed) {
      const load = await bed.underLoad();
      const outcome = await secondRefused(bed);
      await goesOn(load);
      return outcome;
    },
  },
  {
    kind: 'a second service on the folder, in a container of its own',
    missing: noNamespaces,
    async run(bed) {
      const load = await bed.underLoad();
      const outcome = await secondRefused(bed, ofNamespace);
      await goesOn(load);
      return outcome;
    },
  },
  {
    kind: 'both services in containers of their own',
    missing: noNamespaces,
    async run(bed) {
      await bed.stop();
      await bed.start([], { under: ofNamespace });
      const load = await bed.underLoad();
      const outcome = await secondRefused(bed, ofNamespace);
      await goesOn(load);
      return outcome;
    },
  },
];

function runaway(
  kind: string,
  reducer: Parameters<Bed['runaway']>[0],
  isolation: Isolation,
): Fault {
  return {
    kind,
    isolation,
    async run(bed) {
      const load = await bed.underLoad();
      await bed.runaway(reducer);
      await goesOn(load);
      return '402; other databases go on';
    },
  };
}

function openSockets(bed: Bed, count: number): Promise<Socket[]> {
  const open = () =>
    new Promise<Socket>((resolve) => {
      const socket = connect({ port: bed.sandbox.port, host: '127.0.0.1' });
      socket.on('error', () => resolve(socket));
      socket.on('connect', () => resolve(socket));
    });
  return Promise.all(Array.from({ length: count }, open));
}

/** Callers get answers while the fault lasts; then they stop. */
async function goesOn(load: Load): Promise<void> {
  const before = load.acknowledged;
  await until('calls are answered', () => load.acknowledged > before + 40);
  await load.stop();
  if (load.refusals.size > 0) throw new Error([...load.refusals].join());
}

async function secondRefused(bed: Bed, under: readonly string[] = []): Promise<string> {
  await bed.refusedStart(/cannot take lock on database/, [], { under });
  return 'its start is refused, the first one goes on';
}

async function restartsAre(bed: Bed, count: number): Promise<void> {
  const { text } = await bed.ask('GET', '/v1/metrics');
  const restarts = figureIn(text, 'worker_restarts_total');
  if (restarts !== count) throw new Error(`${restarts} restarts`);
}
