import { availableParallelism } from 'node:os';
import { linkProgram } from '../bundle/link.ts';
import { Refusal } from '../database/outcome.ts';
import type { ProgramSource } from '../database/program.ts';
import { examineProgram } from './examine-program.ts';
import type { Budget } from './host-options.ts';
import type { Isolation } from './isolation.ts';
import type { Placement } from './placement.ts';
import { startProcess } from './process-worker.ts';
import type { Seat, SeatEvents, SeatStart } from './seat.ts';
import { StartGate } from './start-gate.ts';
import { startThread } from './thread-worker.ts';
import { Watchdog } from './watchdog.ts';
import { WorkerSeat } from './worker-seat.ts';

export interface WorkerPlacementOptions {
  readonly budget: Budget;
  /** Asked each time that a database starts. */
  readonly isolationOf: (database: bigint) => Isolation;
}

/** A thread, or a process, for each database. */
export function workerPlacement({ budget, isolationOf }: WorkerPlacementOptions): Placement {
  const watchdog = new Watchdog(budget);
  const gate = new StartGate(Math.max(2, availableParallelism()));
  const common = { budget, watchdog, gate, link: linkProgram };
  const sharedBy = (database: bigint) => ({
    ...common,
    startWorker: isolationOf(database) === 'process' ? startProcess : startThread,
  });
  return {
    seatsOf(place) {
      const take = (start: SeatStart, events: SeatEvents): Seat =>
        new WorkerSeat({ ...sharedBy(place.identity), ...place }, start, events);
      return place.directory === undefined ? forgetful(take) : take;
    },
    async examine(program, identity) {
      const outcome = await examineProgram(program, identity, sharedBy(identity));
      if (outcome instanceof Uint8Array) return outcome;
      throw new Refusal(outcome.body ?? { code: 'program.invalid', message: outcome.message });
    },
    close() {
      watchdog.close();
      return Promise.resolve();
    },
  };
}

/**
 * A database in memory is gone with its thread. The next actor makes it anew from the program that
 * ran, empty, as it would be after the service was restarted.
 */
function forgetful(take: (start: SeatStart, events: SeatEvents) => Seat) {
  let program: ProgramSource | undefined;
  return ({ mode, lastTicket, storage }: SeatStart, events: SeatEvents): Seat => {
    if (mode.kind !== 'open') program = mode.program;
    const createdMicros = BigInt(Date.now()) * 1000n;
    const anew =
      program === undefined ? mode : ({ kind: 'create', program, createdMicros } as const);
    const seat = take({ mode: mode.kind === 'open' ? anew : mode, lastTicket, storage }, events);
    return {
      submit(requests) {
        for (const { request } of requests) {
          if (request.kind === 'update') program = request.program;
        }
        seat.submit(requests);
      },
      setStorage: (limits) => seat.setStorage(limits),
      close: () => seat.close(),
      kill: (end) => seat.kill(end),
    };
  };
}
