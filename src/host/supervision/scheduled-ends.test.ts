import { describe, expect, it } from 'vitest';
import { limits } from '../../limits.ts';
import { tableId } from '../../schema/ids.ts';
import type { SeatEnd, SeatMode } from '../seats/seat.ts';
import { ScheduledEnds } from './scheduled-ends.ts';

const mark = { tableId: tableId(4_097), key: 7n, dueMicros: 5n };
const message = 'it took too long';

function end(cause: SeatEnd['cause'], scheduled: SeatEnd['scheduled'] = mark): SeatEnd {
  return { cause, message, running: undefined, scheduled, reached: () => false };
}

const open: SeatMode = { kind: 'open', skipFirstDisconnect: false };

describe('a scheduled run that ends its actor', () => {
  it.each(['budget', 'died', 'bug'] as const)('fails: %s', (cause) => {
    const ends = new ScheduledEnds();
    ends.ended(end(cause));
    expect(ends.failed).toEqual({ mark, message });
  });

  it.each(['log', 'full', 'sync', 'silent', 'closed'] as const)(
    'is repeated where it is not to blame: %s',
    (cause) => {
      const ends = new ScheduledEnds();
      for (let at = 0; at < 5; at++) ends.ended(end(cause));
      expect(ends.failed).toBeUndefined();
    },
  );

  it('fails when its process was killed each time', () => {
    const ends = new ScheduledEnds();
    const others = [
      { ...mark, key: 8n },
      { ...mark, dueMicros: 6n },
      { ...mark, tableId: tableId(4_098) },
    ];
    for (let at = 1; at < limits.scheduledKillsMax; at++) ends.ended(end('killed'));
    for (const other of others) ends.ended(end('killed', other));
    for (let at = 1; at < limits.scheduledKillsMax; at++) ends.ended(end('killed'));
    expect(ends.failed).toBeUndefined();
    ends.ended(end('killed'));
    expect(ends.failed).toEqual({ mark, message });
  });

  it('is remembered until an actor that can write serves', () => {
    const ends = new ScheduledEnds();
    ends.ended(end('died'));
    ends.ended({ ...end('died'), scheduled: undefined });
    expect(ends.failed?.mark).toBe(mark);
    ends.opened({ ...open, full: 'the disk is full' });
    expect(ends.failed?.mark).toBe(mark);
    ends.opened(open);
    expect(ends.failed).toBeUndefined();
  });
});
