import { afterEach, describe, expect, it, vi } from 'vitest';
import { ticketNumber } from '../../database/ticket.ts';
import { limits } from '../../limits.ts';
import { Board } from '../seats/board.ts';
import { completeBudget } from '../seats/budget.ts';
import type { Kill } from '../seats/seat.ts';
import type { Standing } from './standing.ts';
import { Watchdog } from './watchdog.ts';

const callMillisMax = 250;
const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

/** A worker that is busy until it is ended; resolves with the reason. */
function watch(board: Board): Promise<Kill> {
  const watchdog = new Watchdog(completeBudget({ callMillisMax }));
  let isBusy = true;
  stops.push(() => {
    isBusy = false;
  });
  return new Promise((resolve) => {
    watchdog.add({ board, isBusy: () => isBusy, messagesSent: () => 0, kill: resolve });
  });
}

describe('the watchdog', () => {
  it('[abi 14] ends a call that takes too long', async () => {
    const board = new Board();
    board.calling(ticketNumber(3));
    const { message } = await watch(board);
    expect(message).toBe(`The call ran longer than ${callMillisMax} ms and was stopped.`);
  });

  it('[abi 14] says so when it was a view that took the time', async () => {
    const board = new Board();
    board.calling(ticketNumber(3));
    board.viewing();
    const { message } = await watch(board);
    expect(message).toBe(
      `The call ran longer than ${callMillisMax} ms and was stopped, while it evaluated a view.`,
    );
  });

  it('does not blame the module for what got stuck outside of any call', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    try {
      const board = new Board();
      board.resting();
      const watchdog = new Watchdog(completeBudget({ callMillisMax }));
      const kills: Kill[] = [];
      const isBusy = () => kills.length === 0;
      watchdog.add({ board, isBusy, messagesSent: () => 1, kill: (end) => kills.push(end) });
      vi.advanceTimersByTime(limits.silenceMillisMax + 200);
      expect(kills).toMatchObject([{ cause: 'silent' }]);
      expect(kills[0]?.message).toMatch(/^The worker took no message/);
      vi.advanceTimersByTime(200);
    } finally {
      vi.useRealTimers();
    }
  });

  it('gives a silent worker more time while it gets no processor, and while it starts', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    try {
      const { silenceMillisMax, silenceWaitFactor } = limits;
      const silent = (waits: number, hasBegun = true) => {
        const board = new Board();
        if (hasBegun) board.resting();
        const watchdog = new Watchdog(completeBudget({ callMillisMax }));
        const began = performance.now();
        let endedAfter: number | undefined;
        watchdog.add({
          ...{ board, isBusy: () => endedAfter === undefined, messagesSent: () => 1 },
          kill: () => {
            endedAfter = performance.now() - began;
          },
          processorTime: () => ({ runMillis: 0, waitMillis: waits * (performance.now() - began) }),
        });
        vi.advanceTimersByTime(silenceMillisMax * silenceWaitFactor + 1_000);
        return Math.round((endedAfter ?? 0) / silenceMillisMax);
      };
      expect(silent(0)).toBe(1);
      expect(silent(0.5)).toBe(2);
      expect(silent(0.99)).toBe(silenceWaitFactor);
      expect(silent(0, false)).toBe(silenceWaitFactor);
    } finally {
      vi.useRealTimers();
    }
  });

  it('does not count the time for which a worker had nothing to do', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    try {
      const watchdog = new Watchdog(completeBudget({ callMillisMax }));
      const kills: Kill[] = [];
      const kill = (end: Kill) => kills.push(end);
      let isAsked = false;
      let isOver = false;
      watchdog.add({ board: new Board(), isBusy: () => !isOver, messagesSent: () => 0, kill });
      const board = new Board();
      board.resting();
      watchdog.add({
        board,
        isBusy: () => isAsked && !isOver,
        messagesSent: () => (isAsked ? 1 : 0),
        kill,
      });
      vi.advanceTimersByTime(2 * limits.silenceMillisMax);
      isAsked = true;
      vi.advanceTimersByTime(limits.silenceMillisMax / 2);
      expect(kills).toEqual([]);
      vi.advanceTimersByTime(limits.silenceMillisMax);
      expect(kills).toMatchObject([{ cause: 'silent' }]);
      isOver = true;
      vi.advanceTimersByTime(200);
    } finally {
      vi.useRealTimers();
    }
  });

  it('does not count the time for which a busy worker had no message to take', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    try {
      const watchdog = new Watchdog(completeBudget({ callMillisMax }));
      const kills: Kill[] = [];
      let sent = 0;
      let isOver = false;
      const board = new Board();
      board.resting();
      const isBusy = () => !isOver;
      const kill = (end: Kill) => kills.push(end);
      watchdog.add({ board, isBusy, messagesSent: () => sent, kill });
      vi.advanceTimersByTime(2 * limits.silenceMillisMax);
      for (let message = 0; message < 40; message += 1) {
        sent += 1;
        vi.advanceTimersByTime(limits.silenceMillisMax / 4);
        // One is always unread, yet none for long.
        if (message > 0) board.tookMessage();
      }
      expect(kills).toEqual([]);
      vi.advanceTimersByTime(limits.silenceMillisMax + 200);
      expect(kills).toMatchObject([{ cause: 'silent' }]);
      isOver = true;
      vi.advanceTimersByTime(200);
    } finally {
      vi.useRealTimers();
    }
  });

  it('[abi 14] gives a call no more time for its views', async () => {
    const board = new Board();
    board.calling(ticketNumber(3));
    const startedAt = performance.now();
    const timer = setInterval(() => {
      board.viewing();
      board.viewed();
    }, 20);
    const { cause } = await watch(board);
    clearInterval(timer);
    expect(cause).toBe('budget');
    expect(performance.now() - startedAt).toBeLessThan(callMillisMax * 20);
  });

  it('puts a call that runs for long behind others until it is over', async () => {
    const board = new Board();
    const watchdog = new Watchdog(completeBudget({}));
    const said: Standing[] = [];
    let isBusy = true;
    stops.push(() => {
      isBusy = false;
    });
    const watched = { board, isBusy: () => isBusy, messagesSent: () => 0, kill: () => undefined };
    watchdog.add({ ...watched, setStanding: (standing) => said.push(standing) });
    board.calling(ticketNumber(3));
    await vi.waitFor(() => expect(said).toEqual(['usual', 'last']), 10_000);
    board.resting();
    await vi.waitFor(() => expect(said).toEqual(['usual', 'last', 'usual']), 10_000);
    board.writing(ticketNumber(3));
    await new Promise((resolve) => setTimeout(resolve, 2 * limits.longCallMillis));
    expect(said).toEqual(['usual', 'last', 'usual']);
  });

  it('puts what starts, and what computes much, behind others, also once it is idle', () => {
    vi.useFakeTimers();
    stops.push(() => vi.useRealTimers());
    const board = new Board();
    const watchdog = new Watchdog(completeBudget({}));
    const said: Standing[] = [];
    let [isBusy, runMillis] = [true, 0];
    watchdog.add({
      ...{ board, isBusy: () => isBusy, messagesSent: () => 0, kill: () => undefined },
      processorTime: () => ({ runMillis, waitMillis: 0 }),
      setStanding: (standing) => said.push(standing),
    });
    vi.advanceTimersByTime(1_000);
    expect(said).toEqual([]);
    board.resting();
    vi.advanceTimersByTime(100);
    expect(said).toEqual(['usual']);
    runMillis = 900;
    vi.advanceTimersByTime(1_000);
    expect(said).toEqual(['usual', 'later', 'usual']);
    runMillis += 900;
    vi.advanceTimersByTime(400);
    isBusy = false;
    vi.advanceTimersByTime(1_000);
    expect(said).toEqual(['usual', 'later', 'usual', 'later', 'usual']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('gives a read that pauses the time of a call for each slice', async () => {
    const board = new Board();
    let isKilled = false;
    void watch(board).then(() => {
      isKilled = true;
    });
    const end = performance.now() + callMillisMax * 4;
    while (performance.now() < end) {
      board.calling(ticketNumber(3));
      await new Promise((resolve) => setTimeout(resolve, 20));
      board.resting();
    }
    expect(isKilled).toBe(false);
  });

  it('ends a process that gets no further with a write, and no thread', () => {
    vi.useFakeTimers();
    stops.push(() => vi.useRealTimers());
    const watchdog = new Watchdog(completeBudget({ callMillisMax }));
    const board = new Board();
    board.writing(ticketNumber(3));
    const ended: string[] = [];
    const watched = (name: string) => ({
      board,
      isBusy: () => true,
      messagesSent: () => 1,
      kill: ({ message }: Kill) => void ended.push(`${name}: ${message}`),
    });
    watchdog.add({ ...watched('thread'), askMemory: (answer) => answer(0) });
    watchdog.add(watched('process'));
    vi.advanceTimersByTime(limits.writeMillisMax - 1000);
    expect(ended).toEqual([]);
    vi.advanceTimersByTime(2000);
    expect(ended).toEqual(['process: The process made no progress with a write for 60000 ms.']);
  });
});
