import { describe, expect, it } from 'vitest';
import { noTicket, ticketNumber } from '../../database/ticket.ts';
import { tableId } from '../../schema/ids.ts';
import { Board } from './board.ts';

describe('the board between a worker and its watcher', () => {
  it('shows the phase, the ticket, and that something changed', () => {
    const board = new Board();
    const seen = new Board(board.buffer);
    expect(seen.phase).toBe('resting');
    board.calling(ticketNumber(7));
    expect([seen.phase, seen.running, seen.changes]).toEqual(['calling', 7, 1]);
    board.calling(ticketNumber(8));
    expect([seen.running, seen.changes]).toEqual([8, 2]);
    board.viewing();
    expect([seen.phase, seen.running, seen.changes]).toEqual(['viewing', 8, 2]);
    board.viewed();
    expect([seen.phase, seen.running, seen.changes]).toEqual(['calling', 8, 2]);
    board.loading();
    expect(seen.phase).toBe('loading');
    board.writing(ticketNumber(8));
    expect(seen.phase).toBe('writing');
    board.resting();
    expect(seen.phase).toBe('resting');
  });

  it('knows how far writing came, over the wrap of its words', () => {
    for (const first of [0, 2 ** 31 - 3, 2 ** 32 - 3, 2 ** 40]) {
      const board = new Board();
      board.startAfter(ticketNumber(first));
      expect(board.reached(ticketNumber(first))).toBe(true);
      expect(board.reached(ticketNumber(first + 1))).toBe(false);
      board.writing(ticketNumber(first + 6));
      expect(board.reached(ticketNumber(first + 6))).toBe(true);
      expect(board.reached(ticketNumber(first + 7))).toBe(false);
      board.calling(ticketNumber(first + 7));
      expect(board.running).toBe((first + 7) | 0);
    }
  });

  it('says whether messages are on their way', () => {
    const board = new Board();
    const actor = new Board(board.buffer);
    expect(actor.isAwaited()).toBe(false);
    board.sentMessage();
    expect(actor.isAwaited()).toBe(true);
    actor.tookMessage();
    expect(actor.isAwaited()).toBe(false);
  });

  it('names the scheduled run that is under way', () => {
    const board = new Board();
    const seen = new Board(board.buffer);
    expect(seen.mark).toBeUndefined();
    const marks = [
      { tableId: tableId(2 ** 32 - 1), key: 2n ** 64n - 1n, dueMicros: -1n },
      { tableId: tableId(0), key: 2n ** 32n, dueMicros: 2n ** 63n - 1n },
      { tableId: tableId(4_097), key: 7n, dueMicros: -(2n ** 63n) },
      { tableId: tableId(4_097), key: 2n ** 31n, dueMicros: 2n ** 53n + 2n ** 31n },
    ];
    for (const mark of marks) {
      const { changes } = seen;
      board.scheduled(mark);
      expect([seen.phase, seen.running, seen.changes]).toEqual(['calling', 0, changes + 1]);
      expect(seen.mark).toEqual(mark);
      board.viewing();
      expect(seen.mark).toEqual(mark);
      board.viewed();
      expect(seen.mark).toEqual(mark);
      board.writing(noTicket);
      expect(seen.mark).toBeUndefined();
      // A ticket that looks like none is the one of a request.
      board.calling(ticketNumber(2 ** 32));
      expect(seen.mark).toBeUndefined();
    }
  });

  it('counts messages and tells of memory in mebibytes', () => {
    const board = new Board();
    board.tookMessage();
    board.tookMessage();
    board.holds(5 * 1024 * 1024 + 1);
    expect(board.messagesTaken).toBe(2);
    expect(board.heldBytes).toBe(5 * 1024 * 1024);
  });
});
