import { describe, expect, it } from 'vitest';
import { writeNumber } from '../../database/write-number.ts';
import { commitOffset } from '../../store/commit-offset.ts';
import { Outbox } from './outbox.ts';

function outboxWithNotes() {
  const outbox = new Outbox();
  const notes: string[] = [];
  const hold = (name: string, write: number, offset: number): void => {
    outbox.hold({
      write: writeNumber(write),
      offset: commitOffset(offset),
      release: () => notes.push(`${name} released`),
      fail: () => notes.push(`${name} failed`),
    });
  };
  return { outbox, notes, hold };
}

describe('the outbox', () => {
  it('[durability P4] releases in order what a durable write covers, and nothing else', () => {
    const { outbox, notes, hold } = outboxWithNotes();
    hold('a', 1, 10);
    hold('b', 1, 10);
    hold('c', 2, 12);
    outbox.durable(writeNumber(1));
    expect(notes).toEqual(['a released', 'b released']);
    expect(outbox.size).toBe(1);
    hold('d', 1, 10);
    outbox.durable(writeNumber(2));
    expect(notes).toEqual(['a released', 'b released', 'd released', 'c released']);
  });

  it('[durability P8] after a reopening releases what was recovered and fails the rest', () => {
    const { outbox, notes, hold } = outboxWithNotes();
    outbox.durable(writeNumber(4));
    hold('a', 5, 10);
    hold('b', 6, 12);
    outbox.reopened(commitOffset(11));
    expect(notes).toEqual(['a released', 'b failed']);
    hold('c', 1, 13);
    expect(outbox.size).toBe(1);
    hold('d', 0, 11);
    expect(notes.at(-1)).toBe('d released');
    outbox.failAll();
    expect(notes.at(-1)).toBe('c failed');
    expect(outbox.size).toBe(0);
  });
});
