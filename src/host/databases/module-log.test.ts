import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { hostLine } from '../../database/host-line.ts';
import { limits } from '../../limits.ts';
import { LogFile, MemoryModuleLog, type ModuleLog } from '../../node/log-file.ts';
import { defaultLogBounds, FollowedLog, logLineJson } from './module-log.ts';

const line = (message: string) => ({ micros: 5n, line: { level: 'info', message } as const });

/** A log that nothing is dropped from. */
function followed(log: ModuleLog, report: (message: string) => void = () => undefined) {
  return new FollowedLog({ log, report, linesPerSecondMax: 1_000_000 });
}

async function textOf(stream: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += chunk;
  return text;
}

describe('a line of the module log', () => {
  it('[http 11] has its keys in order, absent when unknown', () => {
    expect(logLineJson(line('a'))).toBe('{"level":"Info","ts":5,"message":"a"}');
    const full = {
      level: 'warn',
      message: 'b',
      target: 't',
      fileName: 'f.ts',
      lineNumber: 3,
      functionName: 'add',
    } as const;
    expect(logLineJson({ micros: 1n, line: full })).toBe(
      '{"level":"Warn","ts":1,"target":"t","filename":"f.ts","line_number":3,' +
        '"function":"add","message":"b"}',
    );
  });

  it('[http 11] of a panic has its trace, of the host its mark', () => {
    const trace = [{ moduleName: 'a.ts:1:2', functionName: undefined }];
    const panic = { level: 'panic', message: 'p', trace } as const;
    expect(logLineJson({ micros: 1n, line: panic })).toBe(
      '{"level":"Panic","ts":1,"message":"p","trace":[{"module_name":"a.ts:1:2"}]}',
    );
    expect(JSON.parse(logLineJson({ micros: 1n, line: hostLine('error', 'h') }))).toMatchObject({
      target: '__spacetimedb__',
      filename: '__spacetimedb__',
      function: '__spacetimedb__',
    });
  });
});

describe('a followed log', () => {
  it('[http 11] gives the last lines, then every later one, once', async () => {
    const log = followed(new MemoryModuleLog());
    log.append([line('a'), line('b')]);
    const follower = log.read({ lines: 1, follow: true });
    log.append([line('c')]);
    const first = await follower.next();
    expect(first.value.match(/"message":"."/g)).toEqual(['"message":"b"', '"message":"c"']);
    const next = follower.next();
    log.append([line('d')]);
    expect((await next).value).toContain('"d"');
    await follower.return?.();
    log.append([line('e')]);
    expect(await follower.next()).toEqual({ done: true, value: undefined });
  });

  it('[http 11] without a number gives everything, or later lines only', async () => {
    const log = followed(new MemoryModuleLog());
    log.append([line('a'), line('b')]);
    expect(await textOf(log.read({ lines: undefined, follow: false }))).toContain('"a"');
    expect(await textOf(log.read({ lines: 0, follow: false }))).toBe('');
    const follower = log.read({ lines: undefined, follow: true });
    const next = follower.next();
    log.append([line('c')]);
    expect((await next).value).not.toContain('"a"');
    log.close();
    expect(await follower.next()).toMatchObject({ done: true });
  });

  it('drops lines for a slow follower instead of holding them without end', async () => {
    const log = followed(new MemoryModuleLog());
    const follower = log.read({ lines: undefined, follow: true });
    const count = limits.logFollowerLinesMax + 50;
    log.append(Array.from({ length: count }, (_, at) => line(`${at}`)));
    const { value } = await follower.next();
    expect(value.split('\n').length - 1).toBe(limits.logFollowerLinesMax);
    const next = follower.next();
    log.append([line('later')]);
    expect((await next).value).toContain('later');
    await follower.return?.();
  });

  it('[http 11] gives all followers all lines in order, however many come at once', async () => {
    const log = followed(new MemoryModuleLog());
    const followers = [1, 2].map(() => log.read({ lines: undefined, follow: true }));
    const atOnce = limits.logFollowerLinesAtOnce;
    let first = 0;
    for (const count of [1, atOnce - 1, atOnce, atOnce + 1, 3 * atOnce + 7]) {
      const words = Array.from({ length: count }, (_, at) => `line ${first + at}`);
      first += count;
      log.append(words.map(line));
      for (const follower of followers) {
        const { value } = await follower.next();
        const lines: string[] = value.trimEnd().split('\n');
        expect(lines.map((json) => JSON.parse(json).message)).toEqual(words);
      }
    }
    for (const follower of followers) await follower.return?.();
  });

  it('goes on when lines cannot be kept, and says so once', async () => {
    const complaints: string[] = [];
    const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-log-'));
    const file = new LogFile(folder, defaultLogBounds);
    const log = followed(file, (text) => complaints.push(text));
    const follower = log.read({ lines: 0, follow: true });
    rmSync(folder, { recursive: true });
    log.append([line('a'), line('b')]);
    expect(complaints).toHaveLength(1);
    expect((await follower.next()).value).toContain('"b"');
    log.close();
  });
});

describe('a module that logs too much', () => {
  const messages = async (log: FollowedLog) =>
    (await textOf(log.read({ lines: 10_000, follow: false })))
      .split('\n')
      .filter((text) => text !== '')
      .map((text) => JSON.parse(text).message as string);
  const at = (micros: number, message: string) => ({ ...line(message), micros: BigInt(micros) });
  const second = 1_000_000;

  it('loses lines, and one line says how many', async () => {
    const heard: string[] = [];
    const report = () => undefined;
    const log = new FollowedLog({ log: new MemoryModuleLog(), report, linesPerSecondMax: 2 });
    const follower = log.read({ lines: 0, follow: true });
    const burst = 2 * limits.moduleLogBurstSeconds;
    log.append(Array.from({ length: burst + 7 }, (_, number) => at(second, `flood ${number}`)));
    log.append([at(2 * second, 'calm')]);
    heard.push((await follower.next()).value);
    const kept = await messages(log);
    expect(kept).toHaveLength(burst + 2);
    expect(kept.slice(-3)).toEqual([
      `flood ${burst - 1}`,
      '7 lines were dropped here: the module logs too much',
      'calm',
    ]);
    expect(heard.join('')).toContain('7 lines were dropped here');
    expect(heard.join('')).not.toContain(`flood ${burst}"`);
    log.close();
  });

  it('is told so even if it then falls silent', async () => {
    const options = { log: new MemoryModuleLog(), report: () => undefined, linesPerSecondMax: 1 };
    const log = new FollowedLog(options);
    log.append(Array.from({ length: limits.moduleLogBurstSeconds + 3 }, () => at(5, 'flood')));
    expect((await messages(log)).at(-1)).toContain('3 lines were dropped here');
    // The notice appears only once.
    expect((await messages(log)).filter((text) => text.includes('dropped'))).toHaveLength(1);
    log.close();
  });

  it('finds the log of the day full, and room on the next', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-log-'));
    const file = new LogFile(folder, { ...defaultLogBounds, fileBytesMax: 500 });
    const log = followed(file);
    log.append(Array.from({ length: 40 }, (_, number) => at(second, `line ${number}`)));
    const kept = await messages(log);
    expect(kept.at(-1)).toBe('The log of this day (UTC) is full: further lines are dropped');
    expect(kept.length).toBeLessThan(20);
    const lost = 40 - (kept.length - 1);
    log.append([at(86_400 * second, 'tomorrow')]);
    expect(await messages(log)).toEqual([
      `${lost} lines were dropped here: the module logs too much`,
      'tomorrow',
    ]);
    log.close();
    rmSync(folder, { recursive: true });
  });
});
