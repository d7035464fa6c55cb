import { expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { Board } from './board.ts';
import { completeBudget } from './budget.ts';
import { DatabaseLinker } from './database-linker.ts';
import { Linker } from './linker.ts';
import type { SeatEnd } from './seat.ts';
import { StartGate } from './start-gate.ts';
import { Watchdog } from './watchdog.ts';
import type { WorkerEvents } from './worker.ts';
import { WorkerSeat } from './worker-seat.ts';

it('ends a worker that asks for more programs than it was given', async () => {
  const budget = completeBudget({});
  const watchdog = new Watchdog(budget);
  let asked = 0;
  const linker = new Linker({
    entry: () => {
      asked += 1;
      return Promise.reject(new Error('no linker here'));
    },
    report: () => undefined,
  });
  const flood = 20;
  const floodsFrom = ({ message, ended }: WorkerEvents) => {
    let isOver = false;
    const send = (id: number) => isOver || message({ kind: 'link', id, bytes: new Uint8Array(9) });
    setImmediate(() => {
      for (let id = 1; id <= flood; id += 1) send(id);
      ended({ cause: 'died', message: 'it was not stopped' });
    });
    return {
      board: new Board(),
      send: () => undefined,
      processorTime: () => undefined,
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
    new WorkerSeat(
      {
        ...{ identity: 1n, ownerIdentity: 2n, directory: undefined, budget, watchdog },
        gate: new StartGate(1),
        linker: new DatabaseLinker({ identity: 1n, programs, linker, report: nothing }),
        startWorker: (_start, _options, events) => Promise.resolve(floodsFrom(events)),
      },
      { mode: { kind: 'open', skipFirstDisconnect: false }, lastTicket: 0, storage: {} },
      { hasRead: nothing, opened, handOver, durable, lines, warn, memory, ended: resolve },
    );
  });
  watchdog.close();
  linker.close();
  expect(end.cause).toBe('bug');
  expect(end.message).toContain('asks for no more programs than it was given');
  expect(asked).toBeLessThanOrEqual(limits.startLinksMax);
});
