import { afterEach, describe, expect, it, vi } from 'vitest';
import { ticketNumber } from '../../database/ticket.ts';
import { limits } from '../../limits.ts';
import { Board } from '../seats/board.ts';
import { MemoryWatch } from './memory-watch.ts';
import type { Watched } from './watched.ts';

const mebibyte = 1024 * 1024;
const bytesMax = 100 * mebibyte;

afterEach(() => {
  vi.useRealTimers();
});

/** An actor with the figures that a test gives it. */
interface Actor extends Watched {
  held: number;
  answers: boolean;
  asked: number;
}

function actor(figures: Partial<Actor> = {}): Actor {
  const board = new Board();
  board.keeps(10 * mebibyte);
  const one: Actor = {
    board,
    ...{ held: 10 * mebibyte, answers: true, asked: 0 },
    isBusy: () => true,
    messagesSent: () => 0,
    kill: () => undefined,
    askMemory: (answer) => {
      one.asked += 1;
      if (one.answers) answer(one.held);
    },
    ...figures,
  };
  return one;
}

function watch(actors: readonly Actor[]) {
  const process = { bytes: 1_000 * mebibyte };
  const ended: Watched[] = [];
  const memory = new MemoryWatch(
    bytesMax,
    (watched) => ended.push(watched),
    () => process.bytes,
  );
  for (const one of actors) memory.add(one);
  memory.wake();
  const look = () => memory.look(actors);
  look();
  return { memory, process, ended, look };
}

describe('watching memory', () => {
  it('asks nobody while the process does not grow', () => {
    const one = actor();
    one.board.calling(ticketNumber(1));
    const { look, process } = watch([one]);
    look();
    process.bytes += bytesMax / 8;
    look();
    expect(one.asked).toBe(0);
    process.bytes += bytesMax / 4;
    look();
    expect(one.asked).toBe(1);
  });

  it('goes on where the platform cannot say what the process holds', () => {
    const one = actor();
    one.board.calling(ticketNumber(1));
    let fault: Error | undefined;
    let bytes = 1_000 * mebibyte;
    const memory = new MemoryWatch(
      bytesMax,
      () => undefined,
      () => {
        if (fault !== undefined) throw fault;
        return bytes;
      },
    );
    memory.add(one);
    memory.wake();
    fault = new Error('EMFILE: too many open files');
    memory.look([one]);
    fault = undefined;
    memory.look([one]);
    expect(one.asked).toBe(0);
    bytes += bytesMax;
    memory.look([one]);
    expect(one.asked).toBe(1);
  });

  it('ends the one that grew, whoever else runs for longer', () => {
    const computes = actor();
    const eats = actor();
    computes.board.calling(ticketNumber(1));
    const { look, process, ended } = watch([computes, eats]);
    look();
    eats.board.calling(ticketNumber(1));
    process.bytes += 2 * bytesMax;
    eats.held += 2 * bytesMax;
    look();
    expect(ended).toEqual([eats]);
  });

  it('ends nobody for what no actor holds', () => {
    const one = actor();
    one.board.calling(ticketNumber(1));
    const { look, process, ended } = watch([one]);
    process.bytes += 20 * bytesMax;
    for (let times = 0; times < 5; times += 1) look();
    expect(ended).toEqual([]);
  });

  it('does not count what an actor kept before its call', () => {
    const one = actor({ held: 900 * mebibyte });
    one.board.keeps(850 * mebibyte);
    one.board.calling(ticketNumber(1));
    const { look, process, ended } = watch([one]);
    process.bytes += 2 * bytesMax;
    look();
    expect(ended).toEqual([]);
    one.held += bytesMax;
    look();
    expect(ended).toEqual([one]);
  });

  it('ends one that does not answer while the process grows, and waits before it does', () => {
    vi.useFakeTimers();
    const stuck = actor({ answers: false });
    const computes = actor();
    computes.board.calling(ticketNumber(1));
    stuck.board.calling(ticketNumber(1));
    const { look, process, ended } = watch([computes, stuck]);
    process.bytes += 2 * bytesMax;
    look();
    expect(ended).toEqual([]);
    vi.advanceTimersByTime(limits.memorySilenceMillisMax + 1);
    look();
    expect(ended).toEqual([stuck]);
  });

  it('forgets an answer that comes after its call', () => {
    const late: ((bytes: number) => void)[] = [];
    const one = actor({ askMemory: (answer) => void late.push(answer) });
    one.board.calling(ticketNumber(1));
    const { look, process, ended } = watch([one]);
    process.bytes += bytesMax;
    look();
    one.board.calling(ticketNumber(2));
    for (const answer of late) answer(10 * bytesMax);
    look();
    expect([late.length, ended]).toEqual([1, []]);
  });

  it('ends several that say it themselves, and guesses of nobody meanwhile', () => {
    vi.useFakeTimers();
    const first = actor({ held: 2 * bytesMax });
    const second = actor({ held: 3 * bytesMax });
    const stuck = actor({ answers: false });
    for (const one of [first, second, stuck]) one.board.calling(ticketNumber(1));
    const { look, memory, process, ended } = watch([first, second, stuck]);
    process.bytes += 20 * bytesMax;
    look();
    vi.advanceTimersByTime(limits.memorySilenceMillisMax + 1);
    look();
    look();
    expect(new Set(ended)).toEqual(new Set([second, first]));
    memory.remove(first);
    memory.remove(second);
    look();
    process.bytes += 2 * bytesMax;
    look();
    vi.advanceTimersByTime(limits.memorySilenceMillisMax + 1);
    look();
    expect(ended).toContain(stuck);
  });

  it('takes the word of an actor with memory of its own, and asks it nothing', () => {
    let own = 300 * mebibyte;
    const one = actor({ memoryBytes: () => own, askMemory: undefined });
    one.board.calling(ticketNumber(1));
    const { look, process, ended } = watch([one]);
    process.bytes += 20 * bytesMax;
    look();
    own += bytesMax;
    look();
    expect(ended).toEqual([]);
    own += mebibyte;
    look();
    expect([one.asked, ended]).toEqual([0, [one]]);
  });

  it('ends nobody between calls', () => {
    const one = actor({ held: 20 * bytesMax });
    one.board.resting();
    const { look, process, ended } = watch([one]);
    process.bytes += 20 * bytesMax;
    look();
    expect([one.asked, ended]).toEqual([0, []]);
  });
});
