import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Random } from '../testing/random.ts';
import { LogFile, MemoryModuleLog, type ModuleLog } from './log-file.ts';

const root = fs.mkdtempSync(path.join(os.tmpdir(), 'reducerdb-logs-'));
afterAll(() => fs.rmSync(root, { recursive: true }));

const noon = Date.UTC(2025, 5, 30, 12) * 1000;
const day = 86_400_000_000;
const bounds = { fileBytesMax: 1_000_000_000, daysMax: 14 };
let directory = '';

beforeEach(() => {
  directory = path.join(fs.mkdtempSync(path.join(root, 'data-')), 'module_logs');
});

describe.each([
  ['in files', () => new LogFile(directory, bounds)],
  ['in memory', () => new MemoryModuleLog()],
] satisfies [string, () => ModuleLog][])('a module log %s', (_, make) => {
  it('[durability 8] gives the last lines in order', () => {
    const log = make();
    expect(log.tail(5)).toBe('');
    for (let line = 1; line <= 30; line++) log.append(`{"line":${line}}`, noon);
    expect(log.tail(2)).toBe('{"line":29}\n{"line":30}\n');
    expect(log.tail(0)).toBe('');
    expect(log.tail(1000).split('\n')).toHaveLength(31);
    log.reset();
    expect(log.tail(5)).toBe('');
    log.append('again', noon);
    expect(log.tail(5)).toBe('again\n');
    log.close();
  });

  it('finds lines of any length', () => {
    const log = make();
    const random = new Random(3);
    const lines = Array.from(
      { length: 40 },
      (_, index) => `${index}${'ü'.repeat(random.pick([0, 3, 1000, 20_000]))}`,
    );
    for (const line of lines) log.append(line, noon);
    for (let count = 1; count <= 40; count++) {
      expect(log.tail(count)).toBe(`${lines.slice(-count).join('\n')}\n`);
    }
    log.close();
  });

  it('gives whole lines, as many as fit, where bytes are bounded', () => {
    const log = make();
    const lines = Array.from({ length: 40 }, (_, index) => `${index}${'ü'.repeat(index * 97)}`);
    for (const line of lines) log.append(line, noon);
    for (const count of [1, 7, 40, 1_000]) {
      let text = '';
      for (const line of lines.slice(-count).reverse()) {
        const longer = `${line}\n${text}`;
        const bytes = Buffer.byteLength(longer);
        expect(log.tail(count, { bytesMax: bytes })).toBe(longer);
        expect(log.tail(count, { bytesMax: bytes - 1 })).toBe(text);
        text = longer;
      }
      expect(log.tail(count, { bytesMax: 2 * Buffer.byteLength(text) })).toBe(text);
    }
    log.close();
  });
});

describe('a module log in files', () => {
  it('[durability 8] begins a file each UTC day, keeps old ones, reads the newest only', () => {
    const log = new LogFile(directory, bounds);
    log.append('a', noon);
    log.append('b', noon + day);
    log.append('c', noon + day + 1);
    expect(fs.readdirSync(directory)).toEqual(['2025-06-30.log', '2025-07-01.log']);
    expect(log.tail(10)).toBe('b\nc\n');
    log.append('late', noon);
    expect(log.tail(10)).toBe('b\nc\nlate\n');
    log.close();
    const again = new LogFile(directory, bounds);
    again.append('later', noon);
    expect(again.tail(10)).toBe('b\nc\nlate\nlater\n');
    again.close();
  });

  it('keeps the files of so many days', () => {
    const log = new LogFile(directory, { ...bounds, daysMax: 3 });
    fs.writeFileSync(path.join(directory, 'notes.log'), 'not ours');
    for (let at = 0; at < 6; at++) log.append(`day ${at}`, noon + at * day);
    const kept = ['2025-07-03.log', '2025-07-04.log', '2025-07-05.log', 'notes.log'];
    expect(fs.readdirSync(directory).sort()).toEqual(kept);
    // After a time without lines, the days count, not the files.
    log.append('much later', noon + 7 * day);
    expect(fs.readdirSync(directory)).toEqual(['2025-07-05.log', '2025-07-07.log', 'notes.log']);
    log.close();
  });

  it('reads its lines in pieces, when they are asked for, as they were at first', () => {
    const log = new LogFile(directory, bounds);
    const lines = Array.from({ length: 300 }, (_, index) => `${index}${'ü'.repeat(500)}`);
    for (const line of lines) log.append(line, noon);
    const pieces = [...log.pieces(lines.length)];
    expect(pieces.length).toBeGreaterThan(2);
    expect(pieces.every((piece) => piece.endsWith('\n'))).toBe(true);
    expect(pieces.join('')).toBe(log.tail(lines.length));
    const reading = log.pieces(200)[Symbol.iterator]();
    let text: string = reading.next().value;
    log.append('later', noon);
    for (let next = reading.next(); !next.done; next = reading.next()) text += next.value;
    expect(text).toBe(`${lines.slice(-200).join('\n')}\n`);
    const [begun, unbegun] = [log.pieces(300)[Symbol.iterator](), log.pieces(300)];
    begun.next();
    log.reset();
    expect(begun.next().value).toMatch(/^\d+ü/);
    expect([...unbegun]).toEqual([]);
    log.close();
  });

  it('takes no more of one day than it may, but notices', () => {
    const log = new LogFile(directory, { ...bounds, fileBytesMax: 10 });
    expect(log.append('12345678', noon)).toBe(true);
    expect(log.append('the last', noon)).toBe(true);
    expect(log.append('x', noon)).toBe(false);
    expect(log.append('full', noon, 'notice')).toBe(true);
    expect(log.tail(9)).toBe('12345678\nthe last\nfull\n');
    log.close();
    // Existing content counts.
    const again = new LogFile(directory, { ...bounds, fileBytesMax: 10 });
    expect(again.append('y', noon)).toBe(false);
    expect(again.append('z', noon + day)).toBe(true);
    expect(again.tail(9)).toBe('z\n');
    again.close();
  });

  it('does not continue a line of which the disk has taken a part', () => {
    const log = new LogFile(directory, bounds);
    log.append('first', noon);
    const write = fs.writeSync;
    const fake = vi.spyOn(fs, 'writeSync').mockImplementationOnce((descriptor, bytes) => {
      return write(descriptor, Buffer.from(bytes).subarray(0, 3));
    });
    expect(() => log.append('second', noon)).toThrow('a part of a line');
    fake.mockRestore();
    log.append('third', noon);
    expect(log.tail(3)).toBe('first\nsec\nthird\n');
    log.close();
  });

  it('does not continue a line that a crash cut off', () => {
    fs.mkdirSync(directory);
    fs.writeFileSync(path.join(directory, '2025-06-30.log'), 'one\ntw');
    const log = new LogFile(directory, bounds);
    expect(log.tail(1)).toBe('tw\n');
    log.append('three', noon);
    expect(log.tail(9)).toBe('one\ntw\nthree\n');
    log.close();
  });
});

describe('a module log in memory', () => {
  it('keeps the newest lines of a bounded amount', () => {
    const log = new MemoryModuleLog();
    for (let line = 0; line < 5000; line++) log.append(`${line} ${'x'.repeat(1000)}`);
    const lines = log.tail(1_000_000).trimEnd().split('\n');
    expect(lines.length).toBeLessThan(1100);
    expect(lines.length).toBeGreaterThan(200);
    expect(lines.at(-1)?.startsWith('4999 ')).toBe(true);
  });
});
