import { execFileSync } from 'node:child_process';
import { afterEach, describe, expect, it } from 'vitest';
import { noTicket, ticketNumber } from '../../database/ticket.ts';
import { tableId } from '../../schema/ids.ts';
import { BoardFile, BoardMirror } from './board-file.ts';

let mirror: BoardMirror;
afterEach(() => mirror.close());

describe('the board of a process', () => {
  it('[living 6.3] shows its watcher what it does, and what came before', () => {
    mirror = new BoardMirror(ticketNumber(41));
    const file = new BoardFile(mirror.descriptor);
    expect(mirror.board.reached(ticketNumber(41))).toBe(true);
    expect(mirror.board.reached(ticketNumber(42))).toBe(false);
    file.calling(ticketNumber(42));
    expect(mirror.board).toMatchObject({ phase: 'calling', running: 42 });
    const mark = { tableId: tableId(4_097), key: 2n ** 63n, dueMicros: 7n };
    file.scheduled(mark);
    expect(mirror.board).toMatchObject({ phase: 'calling', running: 0, mark });
    file.viewing();
    expect(mirror.board.phase).toBe('viewing');
    file.viewed();
    file.writing(ticketNumber(43));
    expect(mirror.board.reached(ticketNumber(43))).toBe(true);
    file.tookMessage();
    file.holds(5 * 2 ** 20);
    file.resting();
    expect(mirror.board).toMatchObject({
      phase: 'resting',
      messagesTaken: 1,
      heldBytes: 5 * 2 ** 20,
    });
  });

  it('[living 5.8] tells the process which updates nobody wants any more', () => {
    mirror = new BoardMirror(noTicket);
    const file = new BoardFile(mirror.descriptor);
    const isAbandoned = (ticket: number) => file.isAbandoned(ticketNumber(ticket));
    file.calling(ticketNumber(7));
    expect(isAbandoned(7)).toBe(false);
    mirror.abandon(ticketNumber(7));
    // What the process writes meanwhile does not undo that.
    file.calling(ticketNumber(8));
    expect(mirror.board).toMatchObject({ phase: 'calling', running: 8 });
    expect([isAbandoned(7), isAbandoned(8)]).toEqual([true, false]);
    for (const ticket of [9, 10, 11]) mirror.abandon(ticketNumber(ticket));
    expect([7, 8, 9, 10, 11].map(isAbandoned)).toEqual([true, false, true, true, true]);
    mirror.abandon(ticketNumber(12));
    expect([7, 12].map(isAbandoned)).toEqual([false, true]);
  });

  it('keeps what it showed last once it is closed', () => {
    mirror = new BoardMirror(noTicket);
    new BoardFile(mirror.descriptor).calling(ticketNumber(7));
    mirror.close();
    expect(mirror.board).toMatchObject({ phase: 'calling', running: 7 });
    mirror.close();
  });

  it('has no name in any folder', () => {
    mirror = new BoardMirror(noTicket);
    const link = execFileSync('readlink', [`/proc/${process.pid}/fd/${mirror.descriptor}`]);
    expect(String(link)).toContain('(deleted)');
  });
});
