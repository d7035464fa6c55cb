import { existsSync, readFileSync } from 'node:fs';
import os from 'node:os';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { linkProgram } from '../../bundle/link.ts';
import { Refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import { workerEntry } from '../spawner/worker-entry.ts';
import { decodeLinked } from './linked-file.ts';
import { Linker, type LinkerBounds } from './linker.ts';
import { RecentLinks } from './recent-links.ts';

const bytesOf = (text: string) => new Uint8Array(Buffer.from(text));
/** Takes a second or so to link. */
const slow = 'a;'.repeat(100_000);
const long = bytesOf(slow);
const large = bytesOf(`${slow}'${'x'.repeat(limits.smallProgramBytesMax)}'`);

const hasProc = existsSync('/proc/self/statm');

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !hasProc || !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

const childrenOf = (pid: number) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);

describe('the linker', { timeout: 120_000 }, () => {
  const linkers: Linker[] = [];
  let reports: string[] = [];

  /** Links each time, unless a test says otherwise. */
  const open = (
    bounds: Partial<LinkerBounds> = {},
    recent = new RecentLinks(0),
    isPrompt = false,
  ) => {
    const report = ({ message }: { message: string }) => reports.push(message);
    const entry = () => workerEntry('linker');
    const linker = new Linker({ entry, report, recent, bounds, isPrompt });
    linkers.push(linker);
    return linker;
  };
  const link = (linker: Linker, program: Uint8Array | string, isReopening = false) => {
    const bytes = typeof program === 'string' ? bytesOf(program) : program;
    return linker.link({ bytes, database: 'db', owner: 'ada', isReopening });
  };
  const fault = (work: Promise<unknown>): Promise<Error> =>
    work.then(
      () => {
        throw new Error('it was linked');
      },
      (error: Error) => error,
    );
  const busy = async (linker: Linker, count = 1) => {
    await expect.poll(() => linker.processIds.length).toBe(count);
    return linker.processIds;
  };

  beforeAll(async () => {
    await workerEntry('linker');
  });
  afterEach(() => {
    for (const linker of linkers.splice(0)) linker.close();
    reports = [];
  });

  it('gives what linking gives', async () => {
    const text = 'import "reducerdb:sys@1.0"; export const é = async () => "é\\u2028";';
    const linked = await link(open(), text);
    expect(decodeLinked(linked)).toEqual(await linkProgram(bytesOf(text)));
  });

  it('uses one process for small programs one after another, and says what is wrong', async () => {
    const linker = open();
    await link(linker, 'export default 1');
    const first = linker.processIds;
    expect((await fault(link(linker, 'let a = ;'))).message).toContain('module.js:1:9: Unexpected');
    await link(linker, 'export default 2');
    expect(linker.processIds).toEqual(first);
    expect(reports).toEqual([]);
  });

  it('ranks what a database that reopens waits for like a database, before publishes', async () => {
    const linker = open();
    await link(linker, 'export default 1');
    const [publish = 0] = linker.processIds;
    await link(linker, 'export default 2', true);
    const [opening = 0] = linker.processIds.filter((pid) => pid !== publish);
    const nicer = (pid: number) => os.getPriority(pid) - os.getPriority();
    const within = (niceness: number) => Math.min(niceness, 19 - os.getPriority());
    expect([publish, opening].map(nicer)).toEqual([15, 5].map(within));
    await link(linker, 'export default 3');
    await link(linker, 'export default 4', true);
    expect(linker.processIds).toEqual([publish, opening]);
  });

  it('keeps no database that reopens waiting for programs that are published', async () => {
    const linker = open();
    const published = Promise.all([link(linker, long), link(linker, long)]);
    for (const pid of await busy(linker, 2)) process.kill(pid, 'SIGSTOP');
    await link(linker, 'export default 1', true);
    for (const pid of linker.processIds) process.kill(pid, 'SIGCONT');
    await published;
  });

  it('refuses a program that is over the limit', async () => {
    const linker = open();
    const tooLong = new Uint8Array(limits.programBytesMax + 1);
    expect((await fault(link(linker, tooLong, true))).message).toBe(
      `the program is larger than ${limits.programBytesMax} bytes`,
    );
    expect(linker.processIds).toEqual([]);
  });

  it('links a small program once that comes again, whatever became of its copies', async () => {
    const linker = open({}, new RecentLinks(1_024 * 1_024));
    const first = await link(linker, 'export default 1');
    const [pid = 0] = linker.processIds;
    process.kill(pid, 'SIGSTOP');
    const again = await link(linker, 'export default 1');
    expect(again).toEqual(first);
    structuredClone(again, { transfer: [again.buffer as ArrayBuffer] });
    expect(await link(linker, 'export default 1')).toEqual(first);
  });

  it('ends a program that needs too much memory, and only that', async () => {
    const linker = open();
    const deep = `export default ${'!'.repeat(1_000_000)}1`;
    const other = link(linker, 'export default 1');
    expect((await fault(link(linker, deep))).message).toBe(
      `the program needs more than ${limits.smallLinkMebibytesMax} MiB to be linked; ` +
        'make it smaller: leave out what it does not use, and keep data in tables',
    );
    await other;
    await link(linker, 'export default 2');
    expect(reports).toHaveLength(1);
    expect(reports[0]).toContain('a program of 1000016 bytes of database db: memory, ');
  });

  it('ends a program that takes too long', async () => {
    const linker = open({ small: { mebibytesMax: 512, millisMax: 1 } });
    expect((await fault(link(linker, long))).message).toContain(
      'the program needs more than 0.001 s to be linked; make it smaller',
    );
    expect(reports[0]).toContain(': time, ');
  });

  it.runIf(hasProc)(
    'waits longer for one that does not get a processor, yet not for ever',
    async () => {
      const linker = open({ small: { mebibytesMax: 512, millisMax: 400 } });
      const started = performance.now();
      const linking = fault(link(linker, long));
      await expect.poll(() => linker.processIds.length).toBe(1);
      for (const pid of linker.processIds) process.kill(pid, 'SIGSTOP');
      expect((await linking).message).toContain('the program needs more than 0.4 s to be linked');
      expect(performance.now() - started).toBeGreaterThan(5 * 400);
    },
  );

  it.runIf(hasProc)('links with another process when one is killed, once', async () => {
    const linker = open();
    const linking = link(linker, long);
    const [pid = 0] = await busy(linker);
    await expect.poll(() => childrenOf(pid).length).toBe(1);
    const all = [pid, ...childrenOf(pid)];
    process.kill(pid, 'SIGKILL');
    expect(decodeLinked(await linking).script).toContain('a;');
    await expect.poll(() => all.filter(isAlive)).toEqual([]);

    const again = fault(link(linker, long));
    const killed = new Set<number>();
    const killing = setInterval(() => {
      for (const one of linker.processIds) {
        if (killed.has(one) || !isAlive(one)) continue;
        killed.add(one);
        process.kill(one, 'SIGKILL');
      }
    }, 5);
    expect((await again).message).toMatch(/^the program could not be linked: .*twice.*try again$/);
    clearInterval(killing);
    await link(linker, 'export default 3');
  });

  it.runIf(hasProc)('survives the end of the bundler alone', async () => {
    const linker = open();
    await link(linker, 'export default 1');
    const [pid = 0] = linker.processIds;
    const [bundler = 0] = childrenOf(pid);
    const linking = link(linker, long);
    process.kill(bundler, 'SIGKILL');
    expect(decodeLinked(await linking).script).toContain('a;');
  });

  it('never has a small program wait for large ones', async () => {
    const linker = open();
    const order: string[] = [];
    const note = (name: string) => () => order.push(name);
    const all = [
      link(linker, large).then(note('large 1')),
      link(linker, large).then(note('large 2')),
      link(linker, long).then(note('small 1')),
      link(linker, 'export default 1').then(note('small 2')),
    ];
    await Promise.all(all);
    expect(order.at(-1)).toBe('large 2');
    expect(order.indexOf('small 1')).toBeLessThan(order.indexOf('small 2'));
  });

  it('takes two at once, refuses what finds no room, and lets databases reopen', async () => {
    const linker = open({ queueMax: 1 });
    const order: string[] = [];
    const note = (name: string) => () => order.push(name);
    // Large ones are linked one at a time, so the two that wait follow one another.
    const running = [link(linker, large), link(linker, long)];
    const waiting = link(linker, large).then(note('waited'));
    const refused = await fault(link(linker, 'export default 2'));
    expect(refused).toBeInstanceOf(Refusal);
    expect((refused as Refusal).body).toEqual({
      code: 'database.overloaded',
      message: 'Too many programs wait to be linked. Try again in a moment.',
    });
    const reopening = link(linker, large, true).then(note('reopened'));
    await Promise.all([...running, waiting, reopening]);
    expect(order).toEqual(['reopened', 'waited']);
    await link(linker, 'export default 4');
    const narrow = open({ queueBytesMax: 2 * long.length });
    const four = [1, 2, 3, 4].map(() => link(narrow, long));
    expect(await fault(link(narrow, 'export default 1'))).toBeInstanceOf(Refusal);
    await Promise.all(four);
  });

  it('[http 6.2] lets owners take turns, and those with most in the queue give way', async () => {
    const linker = open({ queueMax: 4 });
    const order: string[] = [];
    const of = (owner: string, name: string, bytes = bytesOf(`export default '${name}'`)) =>
      linker.link({ bytes, database: 'db', owner, isReopening: false }).then(
        () => order.push(name),
        (error: Error) => order.push(`${name}: ${error.message}`),
      );
    const work = [of('ada', 'a1', long), of('ada', 'a2', long)];
    work.push(...['a3', 'a4', 'a5', 'a6'].map((name) => of('ada', name)));
    work.push(of('bob', 'b1', long), of('cyd', 'c1'));
    await Promise.all(work);
    const full = 'Too many programs wait to be linked. Try again in a moment.';
    expect(order.slice(0, 2)).toEqual([`a6: ${full}`, `a5: ${full}`]);
    expect(order.indexOf('c1')).toBeLessThan(order.indexOf('a3'));
    expect(order).toHaveLength(8);
  });

  it('[http 6.2] links nothing for somebody who has left, nor goes on with it', async () => {
    const linker = open({ queueMax: 1 });
    const [first, second] = [new AbortController(), new AbortController()];
    const of = (signal: AbortSignal) =>
      linker.link({ bytes: large, database: 'db', owner: 'ada', isReopening: false, signal });
    const [running, waiting] = [fault(of(first.signal)), fault(of(second.signal))];
    second.abort();
    expect(await waiting).toBeInstanceOf(Refusal);
    // Its place in the queue is free, and the process of the other one as well.
    const next = link(linker, large);
    const [pid = 0] = await busy(linker);
    first.abort();
    expect(await running).toBeInstanceOf(Refusal);
    await next;
    expect(linker.processIds).not.toContain(pid);
    expect(reports).toEqual([]);
    await expect(of(AbortSignal.abort())).rejects.toThrow('was cancelled');
  });

  it.runIf(hasProc)(
    '[console 3.2] keeps its process for larger programs, too, in development',
    async () => {
      const linker = open({ idleMillisMax: 1 }, new RecentLinks(0), true);
      const large = `export default 1; // ${' '.repeat(limits.smallProgramBytesMax)}`;
      await link(linker, large);
      const [pid = 0] = linker.processIds;
      await link(linker, `${large} again`);
      expect(linker.processIds).toEqual([pid]);
      expect(isAlive(pid)).toBe(true);
      linker.close();
      await expect.poll(() => isAlive(pid)).toBe(false);
    },
  );

  it.runIf(hasProc)('leaves no process behind, idle or closed', async () => {
    const linker = open({ idleMillisMax: 50 });
    await link(linker, 'export default 1');
    const pids = linker.processIds.flatMap((pid) => [pid, ...childrenOf(pid)]);
    await expect.poll(() => pids.filter(isAlive)).toEqual([]);
    const other = open();
    const linking = fault(link(other, long));
    const [pid = 0] = await busy(other);
    other.close();
    expect(await linking).toMatchObject({ body: { code: 'database.stopped' } });
    await expect.poll(() => isAlive(pid)).toBe(false);
    expect(await fault(link(other, 'export default 1'))).toBeInstanceOf(Refusal);
  });
});
