import { expect, it } from 'vitest';
import { noTicket } from '../../database/ticket.ts';
import { limits } from '../../limits.ts';
import { MachineClock } from '../../node/clock.ts';
import { machineAlarms } from '../../node/machine-alarm.ts';
import { tableId } from '../../schema/ids.ts';
import { commitOffset } from '../../store/commit-offset.ts';
import { databaseIdentity, ownerIdentity } from '../../values/identity-roles.ts';
import { Linker } from '../linking/linker.ts';
import type { FromWorker } from '../messages/worker-messages.ts';
import { Board } from '../seats/board.ts';
import { completeBudget } from '../seats/budget.ts';
import { HistoryDesk } from '../seats/history-desk.ts';
import type { SeatEnd } from '../seats/seat.ts';
import { SnapshotPlaces } from '../snapshots/snapshot-places.ts';
import { Watchdog } from '../watching/watchdog.ts';
import { DatabaseLinker } from './database-linker.ts';
import { StartGate } from './start-gate.ts';
import type { WorkerEvents } from './worker.ts';
import { WorkerSeat } from './worker-seat.ts';

const clock = new MachineClock();

/** The end of a seat whose worker sends these messages and nothing else. */
async function endAfter(
  messages: readonly FromWorker[],
  board = new Board(),
  {
    callMillisMax = limits.callMillisMax as number,
    staysOpen = false,
    historyDesk = new HistoryDesk(),
    started = (_seat: WorkerSeat): void => undefined,
  } = {},
) {
  const budget = completeBudget({ callMillisMax });
  const watchdog = new Watchdog(budget);
  let linkersStarted = 0;
  const linker = new Linker({
    entry: () => {
      linkersStarted += 1;
      return Promise.reject(new Error('no linker here'));
    },
    report: () => undefined,
  });
  const workerWith = ({ message, ended }: WorkerEvents) => {
    let isOver = false;
    setImmediate(() => {
      for (const one of messages) if (!isOver) message(one);
      if (!staysOpen) ended({ cause: 'died', message: 'it was not stopped' });
    });
    return {
      board,
      send: () => undefined,
      processorTime: () => undefined,
      abandon: () => undefined,
      setStanding: () => undefined,
      terminate: () => {
        isOver = true;
        ended(undefined);
      },
    };
  };
  const end = await new Promise<SeatEnd>((resolve) => {
    const nothing = () => undefined;
    const [opened, handOver, durable, lines, warn, memory] = new Array(6).fill(nothing);
    const programs = undefined;
    const seat: WorkerSeat = new WorkerSeat(
      {
        ...{
          identity: databaseIdentity(1n),
          ownerIdentity: ownerIdentity(2n),
          generation: 1,
          directory: undefined,
          snapshotPlaces: new SnapshotPlaces(),
          historyDesk,
          budget,
          watchdog,
        },
        gate: new StartGate(1),
        clock,
        makeAlarm: machineAlarms(clock),
        linker: new DatabaseLinker({
          identity: databaseIdentity(1n),
          programs,
          linker,
          report: nothing,
        }),
        startWorker: (_start, _options, events) => {
          started(seat);
          return Promise.resolve(workerWith(events));
        },
      },
      {
        mode: { kind: 'open', skipFirstDisconnect: false },
        lastTicket: noTicket,
        storage: {},
        schedulesPaused: false,
      },
      {
        hasRead: nothing,
        links: nothing,
        opened,
        handOver,
        durable,
        lines,
        warn,
        memory,
        ended: resolve,
      },
    );
  });
  watchdog.close();
  linker.close();
  return { end, linkersStarted };
}

it('ends a worker that asks for more programs than it was given', async () => {
  const link = (id: number) => ({ kind: 'link', id, bytes: new Uint8Array(9) }) as const;
  const flood = Array.from({ length: 20 }, (_, at) => link(at + 1));
  const { end, linkersStarted } = await endAfter(flood);
  expect(end.cause).toBe('bug');
  expect(end.message).toContain('asks for no more programs than it was given');
  expect(linkersStarted).toBeLessThanOrEqual(limits.startLinksMax);
});

it('does not take the word of a worker that it was asked to close', async () => {
  const { end } = await endAfter([{ kind: 'closed' }]);
  expect(end).toMatchObject({ cause: 'bug', message: expect.stringContaining('it is asked to') });
});

it('[history 3.10] is closed when nothing works on its history any more', async () => {
  const historyDesk = new HistoryDesk();
  let isWorking = true;
  let closed: Promise<boolean> | undefined;
  const started = (seat: WorkerSeat): void => {
    void historyDesk.run(async (signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      await new Promise((resolve) => setTimeout(resolve, 50));
      isWorking = false;
      return { kind: 'stopped' };
    });
    closed = seat.close().then(() => isWorking);
  };
  await endAfter([], new Board(), { historyDesk, started });
  expect(await closed).toBe(false);
});

function openingWith(nextDueMicros: bigint | undefined) {
  const definition = {} as never;
  const description = { definition, schemaVersion: 1, programHash: 'a'.repeat(64) };
  const opening = { description, offset: commitOffset(0), lastMicros: 0n, nextDueMicros };
  return { kind: 'opened', opening } as const;
}

it('[living 6.2] believes one opening of a worker', async () => {
  const opened = openingWith(undefined);
  const { end } = await endAfter([opened, opened]);
  expect(end).toMatchObject({ cause: 'bug', message: expect.stringContaining('it opens once') });
});

it('ends a scheduled run that takes too long, which no request waits for', async () => {
  const mark = { tableId: tableId(4_097), key: 7n, dueMicros: 5n };
  const board = new Board();
  // It has started, so the watchdog finds nothing to do before.
  board.resting();
  setTimeout(() => board.scheduled(mark), 150);
  const due = clock.nowMicros() + 200_000n;
  const { end } = await endAfter([openingWith(due)], board, {
    callMillisMax: 100,
    staysOpen: true,
  });
  expect(end).toMatchObject({ cause: 'budget', scheduled: mark });
  expect(end.message).toBe('The call ran longer than 100 ms and was stopped.');
});

/** It names another run, which is not for the worker to say. */
const ownEnd = { cause: 'bug', message: 'x', running: undefined, scheduled: { key: 1n } } as const;

it.each<readonly [how: string, messages: readonly FromWorker[], cause: string]>([
  ['is gone', [], 'died'],
  ['ended on its own', [{ kind: 'ended', end: ownEnd }], 'bug'],
  ['is ended', [{ kind: 'closed' }], 'bug'],
])('names the scheduled run during which a worker %s', async (_, messages, cause) => {
  const mark = { tableId: tableId(4_097), key: 7n, dueMicros: 5n };
  const board = new Board();
  board.scheduled(mark);
  const { end } = await endAfter(messages, board);
  expect(end).toMatchObject({ cause, scheduled: mark });
  expect((await endAfter(messages)).end.scheduled).toBeUndefined();
});
