import { describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import type { ModuleLogLine } from './log-line.ts';
import { boundedLine, cutToBytes, lineBytes } from './log-line.ts';

const long = 'n'.repeat(100_000);

describe('a line of a module’s log', () => {
  it('is left as it is when nothing of it is too long', () => {
    const trace = [{ moduleName: 'a.ts:1:1', functionName: undefined }];
    const line: ModuleLogLine = { level: 'panic', message: 'm', fileName: 'a.ts', trace };
    expect(boundedLine(line)).toBe(line);
  });

  it('has each of its texts cut', () => {
    const frame = { moduleName: long, functionName: long };
    const line = boundedLine({
      level: 'panic',
      message: long,
      target: long,
      fileName: long,
      lineNumber: 7,
      functionName: long,
      trace: new Array(5_000).fill(frame),
    });
    const name = `${'n'.repeat(limits.logNameCharactersMax - 1)}…`;
    expect(line).toMatchObject({ target: name, fileName: name, functionName: name, lineNumber: 7 });
    expect(new TextEncoder().encode(line.message).length).toBe(limits.logLineBytesMax);
    expect(line.trace?.length).toBe(limits.traceFramesMax);
    expect(line.trace?.at(-1)).toEqual({ moduleName: name, functionName: name });
    expect(lineBytes(line)).toBeLessThanOrEqual(limits.logBatchBytesMax);
  });

  it('is never cut within a character', () => {
    const cut = cutToBytes('漢'.repeat(10), 20);
    expect(cut).toBe(`${'漢'.repeat(5)}…`);
    expect(cutToBytes('漢字', 6)).toBe('漢字');
  });
});
