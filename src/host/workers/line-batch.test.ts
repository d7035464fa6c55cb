import { describe, expect, it } from 'vitest';
import { limits } from '../../limits.ts';
import { lineBytes } from '../../module/log-line.ts';
import type { StampedLine } from '../seats/seat.ts';
import { LineBatch } from './line-batch.ts';

function makeBatch() {
  const sent: (readonly StampedLine[])[] = [];
  const clock = { millis: 0 };
  const batch = new LineBatch({ nowMillis: () => clock.millis, send: (lines) => sent.push(lines) });
  const add = (message: string): void => {
    batch.add({ micros: 0n, line: { level: 'info', message } });
  };
  return { sent, clock, batch, add };
}

describe('a batch of log lines', () => {
  it('goes when it has as many lines as it may', () => {
    const { sent, batch, add } = makeBatch();
    for (let index = 0; index < limits.logBatchLinesMax; index += 1) add(String(index));
    expect(sent.map((lines) => lines.length)).toEqual([limits.logBatchLinesMax]);
    batch.send();
    expect(sent.length).toBe(1);
  });

  it('is never larger than its bound', () => {
    const { sent, batch, add } = makeBatch();
    const message = 'x'.repeat(limits.logLineBytesMax);
    for (let index = 0; index < 100; index += 1) add(message);
    batch.send();
    expect(sent.length).toBeGreaterThan(10);
    expect(sent.flat().length).toBe(100);
    for (const lines of sent) {
      const bytes = lines.reduce((sum, { line }) => sum + lineBytes(line), 0);
      expect(bytes).toBeLessThanOrEqual(limits.logBatchBytesMax);
    }
  });

  it('goes when a line is late, and with a turn', () => {
    const { sent, clock, batch, add } = makeBatch();
    add('a');
    expect(sent).toEqual([]);
    clock.millis = limits.logBatchMillisMax;
    add('b');
    expect(sent.map((lines) => lines.length)).toEqual([2]);
    add('c');
    batch.send();
    expect(sent.map((lines) => lines.length)).toEqual([2, 1]);
  });
});
