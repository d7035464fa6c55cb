import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { hostLine } from '../database/host-line.ts';
import { limits } from '../limits.ts';
import { LogFile, MemoryModuleLog } from '../node/log-file.ts';
import { FollowedLog, logLineJson } from './module-log.ts';

const line = (message: string) => ({ micros: 5n, line: { level: 'info', message } as const });

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
    const log = new FollowedLog(new MemoryModuleLog(), () => undefined);
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
    const log = new FollowedLog(new MemoryModuleLog(), () => undefined);
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
    const log = new FollowedLog(new MemoryModuleLog(), () => undefined);
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

  it('goes on when lines cannot be kept, and says so once', async () => {
    const complaints: string[] = [];
    const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-log-'));
    const log = new FollowedLog(new LogFile(folder), (text) => complaints.push(text));
    const follower = log.read({ lines: 0, follow: true });
    rmSync(folder, { recursive: true });
    log.append([line('a'), line('b')]);
    expect(complaints).toHaveLength(1);
    expect((await follower.next()).value).toContain('"b"');
    log.close();
  });
});
