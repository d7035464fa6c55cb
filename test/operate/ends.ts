import { existsSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { Guest } from '../service/socket-guest.ts';
import { type Bed, pause, said, until } from './bed.ts';
import type { Fault } from './fault.ts';

/** What ends or stops for a while: the service, its processes, its clients. */
export const ends: readonly Fault[] = [
  { kind: 'kill -9 of the service, databases on threads', run: killedUnderLoad },
  {
    kind: 'kill -9 of the service, databases in processes',
    isolation: 'process',
    run: killedUnderLoad,
  },
  {
    kind: 'kill -9 of the service while it starts',
    async run(bed) {
      await bed.stop();
      for (const millis of [30, 120, 250, 400]) {
        bed.launch();
        await pause(millis);
        await bed.kill();
      }
      return 'the next start serves';
    },
  },
  {
    kind: 'kill -9 of the service while a database is published',
    async run(bed) {
      const count = () => readdirSync(path.join(bed.data, 'databases')).length;
      const before = count();
      const publishing = bed.sandbox.run(['publish', 'third', '-p', bed.program]);
      await until('its folder is there', () => count() > before);
      await bed.kill();
      await publishing;
      await bed.start();
      await bed.sandbox.ok(['publish', 'third', '-p', bed.program]);
      return 'it is there or not, and can be published again';
    },
  },
  { kind: 'SIGTERM under load', run: (bed) => stopped(bed, 'SIGTERM') },
  { kind: 'SIGINT under load', run: (bed) => stopped(bed, 'SIGINT') },
  {
    kind: 'SIGTERM while clients call over WebSockets',
    async run(bed) {
      const guests = await Promise.all(
        Array.from({ length: 20 }, () =>
          Guest.arrive(bed.sandbox.url, 'ledger', { protocols: ['v3.bsatn.spacetimedb'] }),
        ),
      );
      const writers = guests.map(() => bed.newWriter());
      const calling = guests.map((guest, at) => callOn(bed, guest, writers[at] ?? 0));
      const load = await bed.underLoad();
      await bed.stop();
      await load.stop();
      const told = (await Promise.all(calling)).reduce((sum, count) => sum + count, 0);
      await bed.start();
      const where = `writer IN (${writers.join()})`;
      const found = await bed.sql('ledger', `SELECT COUNT(*) AS n FROM entry WHERE ${where}`);
      if (found.text.includes(`[[${told}]]`)) return `all calls that happened were answered`;
      throw new Error(`${told} were answered, and there are ${found.text}`);
    },
  },
  {
    kind: 'a second SIGTERM',
    async run(bed) {
      const open = connect({ port: bed.sandbox.port, host: '127.0.0.1' });
      open.on('error', () => undefined);
      open.write('POST /v1/database/ledger/sql HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nS');
      await pause(200);
      bed.service.child.kill('SIGTERM');
      await until('it is stopping', () => bed.service.output.includes('stopping'));
      bed.service.child.kill('SIGTERM');
      const code = await bed.service.ended;
      if (code !== 1) throw new Error(`it ended with ${code}`);
      return 'it ends at once, with 1';
    },
  },
  {
    kind: "kill -9 of a database's process",
    isolation: 'process',
    async run(bed) {
      const load = await bed.underLoad();
      const [victim] = bed.databaseProcesses();
      if (victim === undefined) throw new Error('no process of a database');
      process.kill(victim, 'SIGKILL');
      const before = load.acknowledged;
      await until('calls are answered again', () => load.acknowledged > before + 40);
      await load.stop();
      said(bed.service.output, /is reopened/);
      return 'it is started again by itself';
    },
  },
  {
    kind: 'kill -9 of the spawner',
    isolation: 'process',
    missing: existsSync('/proc/self/fd') ? undefined : 'there is no spawner on this system',
    async run(bed) {
      const load = await bed.underLoad();
      for (const pid of bed.children('reducerdb spawner')) process.kill(pid, 'SIGKILL');
      const before = load.acknowledged;
      await until('calls are answered again', () => load.acknowledged > before + 40);
      await load.stop();
      return 'another one starts all databases again';
    },
  },
  {
    kind: 'kill -9 of the linker',
    async run(bed) {
      for (const pid of bed.children('linker-main')) process.kill(pid, 'SIGKILL');
      await bed.sandbox.ok(['publish', 'third', '-p', bed.program]);
      return 'another one is started for the next program';
    },
  },
  {
    kind: 'SIGSTOP and SIGCONT of the service',
    async run(bed) {
      const load = await bed.underLoad();
      bed.service.child.kill('SIGSTOP');
      await pause(3_000);
      bed.service.child.kill('SIGCONT');
      const before = load.acknowledged;
      await until('calls are answered again', () => load.acknowledged > before + 40);
      await load.stop();
      return 'it goes on';
    },
  },
  {
    kind: "SIGSTOP of a database's process",
    isolation: 'process',
    async run(bed) {
      const [victim = 0] = bed.databaseProcesses();
      process.kill(victim, 'SIGSTOP');
      let answered = 0;
      const calls = (['ledger', 'neighbour'] as const).map(async (name) => {
        const { status, text } = await bed.append(name, bed.newWriter(), 0);
        if (status !== 200) throw new Error(`${name}: ${status} ${text}`);
        answered += 1;
      });
      const all = Promise.all(calls);
      all.catch(() => undefined);
      await until('one database answers', () => answered > 0);
      if (answered !== 1) throw new Error('the one that stands still has answered, too');
      process.kill(victim, 'SIGCONT');
      await all;
      return 'the others go on, and so does it after SIGCONT';
    },
  },
  {
    kind: 'clients that are killed in the middle of a call',
    async run(bed) {
      for (let round = 0; round < 50; round += 1) {
        const socket = connect({ port: bed.sandbox.port, host: '127.0.0.1' });
        socket.on('error', () => undefined);
        const head = 'POST /v1/database/ledger/call/waste HTTP/1.1\r\nHost: a\r\n';
        socket.write(`${head}Content-Type: application/json\r\nContent-Length: 3\r\n\r\n[1]`);
        await pause(round % 5);
        socket.destroy();
      }
      return 'nothing remains of them';
    },
  },
];

async function killedUnderLoad(bed: Bed): Promise<string> {
  for (let round = 0; round < 5; round += 1) {
    const load = await bed.underLoad();
    await bed.kill();
    await load.stop();
    await bed.start();
  }
  return '5 times; the next start serves';
}

async function stopped(bed: Bed, signal: 'SIGTERM' | 'SIGINT'): Promise<string> {
  const load = await bed.underLoad();
  const code = await bed.service.stop(signal);
  await load.stop();
  const other = [...load.refusals].filter(([status]) => status !== 503);
  if (code !== 0 || other.length > 0) throw new Error(`${code}, ${other.join()}`);
  return 'what was accepted is answered; exit code 0';
}

/** Calls again as soon as it is answered, until its connection ends; gives how many were answered. */
async function callOn(bed: Bed, guest: Guest, writer: number): Promise<number> {
  const note = bed.noteOf('ledger');
  for (let number = 0; ; number += 1) {
    try {
      note.asked(writer, number);
      guest.call(number, 'append', writer, number);
      await guest.expect('reducerResult');
      note.acknowledged(writer, number);
    } catch {
      await guest.client.ended;
      return number;
    }
  }
}
