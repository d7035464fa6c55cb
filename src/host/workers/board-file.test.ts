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
