import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { childrenOf, spawnersOf } from '../../../test/support/process-tree.ts';
import { noTicket } from '../../database/ticket.ts';
import { endingWithParent, systemCommand } from '../../node/command-wrappers.ts';
import { BoardMirror } from '../workers/board-file.ts';
import type { Child, ChildStarter } from './child-starter.ts';
import { DirectStarter } from './direct-starter.ts';
import { type SpawnerOptions, SpawnerStarter } from './spawner-starter.ts';

/** Answers each string it receives with a longer one; two words end it. */
const echo = `
  const channel = new (require('node:net').Socket)({ fd: 3 });
  channel.on('data', (data) => {
    if (String(data) === 'exit') channel.end('bye', () => process.exit(7));
    else if (String(data) === 'abort') process.kill(process.pid, 'SIGUSR2');
    else channel.write(data + '.'.repeat(200_000));
  });
  channel.on('close', () => process.exit());`;

const mirror = new BoardMirror(noTicket);
let starter: ChildStarter;
afterEach(() => starter.close());
afterAll(() => mirror.close());

function spawning(options: Partial<SpawnerOptions> = {}): void {
  starter = new SpawnerStarter(options);
}

function start(): Promise<Child> {
  return startCommand([...endingWithParent(), process.execPath, '-e', echo]);
}

function startCommand([command = '', ...words]: readonly string[]): Promise<Child> {
  return starter.start({ command, words, directory: '/' }, mirror.descriptor);
}

/** Sends a string, and returns a function that shows what has come back. */
function ask({ channel }: Child, text: string): () => string {
  let heard = '';
  channel?.on('data', (chunk: Buffer) => {
    heard += String(chunk);
  });
  channel?.write(text);
  return () => heard;
}

function spawner(): number {
  const [pid = 0, ...others] = spawnersOf(process.pid);
  expect(others).toEqual([]);
  return pid;
}

/** Targets of a process's descriptors. */
function linksOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).map((number) => readlinkSync(`${folder}/${number}`));
}

const hasProc = existsSync('/proc/self/fd');

describe.each([
  { by: 'a spawner', make: () => new SpawnerStarter(), runs: hasProc },
  { by: 'the gateway', make: () => new DirectStarter(), runs: process.platform !== 'win32' },
])('a process that is started by $by', ({ make, runs }) => {
  it.runIf(runs)('[living 6.2] has a channel in both directions; many at once', async () => {
    starter = make();
    const children = await Promise.all(Array.from({ length: 6 }, start));
    const answers = children.map((child, index) => ask(child, `${index}`));
    for (const [index, answer] of answers.entries()) {
      await expect.poll(answer).toBe(`${index}${'.'.repeat(200_000)}`);
    }
    for (const [index, child] of children.entries()) {
      child.channel?.write('exit');
      expect(await child.ended).toEqual({ code: 7, signal: null });
      expect(answers[index]?.().endsWith('.bye')).toBe(true);
    }
  });

  it.runIf(runs)('[living 6.3] ends with the signal that ended it', async () => {
    starter = make();
    const [one, other] = await Promise.all([start(), start()]);
    ask(one, 'abort');
    expect(await one.ended).toEqual({ code: null, signal: 'SIGUSR2' });
    ask(other, 'hello');
    other.kill();
    expect(await other.ended).toEqual({ code: null, signal: 'SIGKILL' });
    other.kill();
  });

  it.runIf(runs)('[living 6.3] that ends at once has ended', async () => {
    starter = make();
    const words = [process.execPath, '--no-such-flag'];
    const children = await Promise.all(Array.from({ length: 4 }, () => startCommand(words)));
    for (const child of children) {
      ask(child, 'hello');
      expect(await child.ended).toEqual({ code: 9, signal: null });
    }
  });

  it.runIf(runs)('[living 6.3] is refused without its command or folder', async () => {
    starter = make();
    const missing = { code: 'ENOENT' };
    await expect(startCommand(['/no/command'])).rejects.toMatchObject(missing);
    const order = { command: process.execPath, words: [], directory: '/no/folder' };
    await expect(starter.start(order, mirror.descriptor)).rejects.toMatchObject(missing);
    await expect(starter.run('/no/command', [])).rejects.toMatchObject(missing);
    await starter.run(process.execPath, ['-e', '0']);
    const child = await start();
    await expect.poll(ask(child, 'hello')).toMatch(/^hello\./);
  });
});

describe.runIf(hasProc)('the spawner', () => {
  it('[living 6.2] is there before the first process, once it is prepared', async () => {
    spawning();
    expect(spawnersOf(process.pid)).toEqual([]);
    starter.prepare();
    await expect.poll(() => spawnersOf(process.pid)).toHaveLength(1);
    const prepared = spawner();
    const child = await start();
    expect(spawner()).toBe(prepared);
    expect(childrenOf(prepared)).toEqual([child.pid]);
  });

  it('[living 6.2] is the parent of what it starts, and passes on three descriptors', async () => {
    spawning();
    const children = await Promise.all([start(), start(), start()]);
    // It no longer has what it handed over: one socket is its own.
    const kept = linksOf(spawner());
    expect(kept.filter((link) => link.startsWith('socket:'))).toHaveLength(1);
    expect(kept.filter((link) => link.includes('reducerdb-board-'))).toEqual([]);
    const pids = children.map(({ pid }) => pid);
    expect(childrenOf(spawner()).sort()).toEqual(pids.sort());
    for (const child of children) await expect.poll(ask(child, 'hello')).toMatch(/^hello\./);
    for (const pid of pids) {
      const open = linksOf(pid);
      expect(open.filter((link) => link.startsWith('socket:'))).toHaveLength(2);
      expect(open.filter((link) => link.includes('reducerdb-board-'))).toHaveLength(1);
    }
  });

  it('[living 6.2] has no environment but its channel, and leaves no core file', async () => {
    spawning();
    await starter.run(process.execPath, ['-e', '0']);
    const environment = readFileSync(`/proc/${spawner()}/environ`, 'latin1').split('\0');
    expect(environment.filter((entry) => !/^(NODE_CHANNEL_\w+=.*)?$/.test(entry))).toEqual([]);
    const bounds = readFileSync(`/proc/${spawner()}/limits`, 'latin1');
    if (systemCommand('prlimit') !== undefined) expect(bounds).toMatch(/^Max core file size\s+0 /m);
  });

  it('[living 6.3] takes its processes with it; what is under way is started again', async () => {
    const replaced = vi.fn();
    spawning({ replaced });
    // The system does not end the second one.
    const unbound = startCommand([process.execPath, '-e', `${echo} for (;;) {}`]);
    const [one, other] = await Promise.all([start(), unbound]);
    for (const child of [one, other]) ask(child, 'hello');
    const killed = spawner();
    process.kill(killed, 'SIGSTOP');
    const under = start();
    process.kill(killed, 'SIGKILL');
    for (const { ended } of [one, other]) {
      expect(await ended).toEqual({ code: null, signal: 'SIGKILL' });
    }
    const child = await under;
    await expect.poll(ask(child, 'hello')).toMatch(/^hello\./);
    expect(spawner()).not.toBe(killed);
    expect(childrenOf(spawner())).toEqual([child.pid]);
    expect(replaced).toHaveBeenCalledTimes(1);
  });

  it('[living 6.3] is replaced when it does not answer', async () => {
    spawning({ answerMillisMax: 5_000 });
    const first = await start();
    ask(first, 'hello');
    const stopped = spawner();
    process.kill(stopped, 'SIGSTOP');
    const second = await start();
    expect(await first.ended).toEqual({ code: null, signal: 'SIGKILL' });
    await expect.poll(ask(second, 'hello')).toMatch(/^hello\./);
    expect(spawner()).not.toBe(stopped);
  });

  it('[living 6.3] that may not open the boards is not needed', async () => {
    spawning({ pathOf: (descriptor) => `/no/${descriptor}` });
    const child = await start();
    expect(childrenOf(process.pid)).toContain(child.pid);
    await expect.poll(ask(child, 'hello')).toMatch(/^hello\./);
    child.kill();
    await child.ended;
  });

  it('[living 6.3] ends with the last of its work, and starts nothing after it', async () => {
    spawning();
    const child = await start();
    ask(child, 'hello');
    await starter.close();
    expect(await child.ended).toEqual({ code: null, signal: 'SIGKILL' });
    expect(spawnersOf(process.pid)).toEqual([]);
    await expect(start()).rejects.toThrow('stopping');
  });
});
