import { availableParallelism } from 'node:os';
import type { Clock } from '../../database/clock.ts';
import { cancelledRefusal } from '../../database/outcome.ts';
import type { ProgramSource } from '../../database/program-source.ts';
import { machineAlarms } from '../../node/machine-alarm.ts';
import type { Report } from '../../node/report-line.ts';
import type { WriterPlace } from '../../node/writer-mark.ts';
import { identityToHex } from '../../values/identity.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { EnvSource } from '../lanes/lane-env.ts';
import { laneThreads } from '../lanes/lane-thread.ts';
import { Linker, type LinkerOptions } from '../linking/linker.ts';
import type { Outbound } from '../outbound/outbound.ts';
import type { HostCluster } from '../replication/host-cluster.ts';
import { memberPlaceOf } from '../replication/member-place.ts';
import type { Budget } from '../seats/budget.ts';
import { HistoryDesk } from '../seats/history-desk.ts';
import type { Placement, ProgramPlace } from '../seats/placement.ts';
import { isOfService, programRefusal } from '../seats/program-refusal.ts';
import type { Seat, SeatEvents, SeatStart } from '../seats/seat.ts';
import { SnapshotPlaces } from '../snapshots/snapshot-places.ts';
import { SnapshotThread } from '../snapshots/snapshot-thread.ts';
import { childStarter } from '../spawner/spawner-starter.ts';
import { workerEntry } from '../spawner/worker-entry.ts';
import { Watchdog } from '../watching/watchdog.ts';
import { DatabaseLinker } from './database-linker.ts';
import { examineProgram } from './examine-program.ts';
import type { Isolation } from './isolation.ts';
import { processWorkers } from './process-worker.ts';
import { LaneService } from './seat-lanes.ts';
import { SpareThread } from './spare-thread.ts';
import { StartGate } from './start-gate.ts';
import { startThread } from './thread-worker.ts';
import { WorkerSeat } from './worker-seat.ts';

export interface WorkerPlacementOptions {
  readonly budget: Budget;
  readonly clock: Clock;
  /** Called each time that a database starts. */
  readonly isolationOf: (database: DatabaseIdentity) => Isolation;
  /** The isolation of databases without a rule of their own. */
  readonly usualIsolation: Isolation;
  /** See `HostOptions`. */
  readonly isDevelopment?: boolean;
  readonly makeLinker?: (options: LinkerOptions) => LinksPrograms;
  /** The mark of the data folder; see `HostOptions`. */
  readonly writer?: WriterPlace | undefined;
  /** Sends the HTTP requests of modules; absent: they send none. */
  readonly outbound?: Outbound;
  /** Has the configuration of databases, for lanes; absent: they have none. */
  readonly env?: EnvSource;
  /** The cluster that the databases belong to; absent: the host is alone. */
  readonly cluster?: HostCluster | undefined;
  readonly report: Report;
}

/** A linker as a placement uses it. */
export type LinksPrograms = Pick<Linker, 'link' | 'close'>;

/** Runs each database in a thread or a process. */
export function workerPlacement(options: WorkerPlacementOptions): Placement {
  const { budget, clock, isolationOf, writer, outbound, env, report } = options;
  const makeAlarm = machineAlarms(clock);
  const watchdog = new Watchdog(budget);
  // One for each processor, and one for a request while the first databases open.
  const gate = new StartGate(availableParallelism() + 1);
  const starter = childStarter(() => {
    const next = 'another one is started, and the databases that ended with it are reopened';
    const message = `The process that starts the processes of databases ended; ${next}`;
    report({ level: 'warn', message });
  });
  if (options.usualIsolation === 'process') starter.prepare();
  const { isDevelopment = false, cluster, makeLinker = (given) => new Linker(given) } = options;
  const linker = makeLinker({
    entry: () => workerEntry('linker'),
    report,
    isPrompt: isDevelopment,
  });
  const spare = isDevelopment ? new SpareThread(budget) : undefined;
  const places = new LaneService();
  const snapshotPlaces = new SnapshotPlaces();
  const snapshotThread = new SnapshotThread();
  const lanes = { places, startLane: laneThreads({ budget, watchdog, outbound, env }) };
  const startProcess = processWorkers(starter, { places, outbound, env });
  const sharedBy = ({ identity, ownerIdentity, programs }: ProgramPlace) => ({
    budget,
    watchdog,
    gate,
    snapshotPlaces,
    isDevelopment,
    linker: new DatabaseLinker({ identity, owner: ownerIdentity, programs, linker, report }),
    ...(isolationOf(identity) === 'process'
      ? { startWorker: startProcess }
      : { startWorker: startThread, lanes, snapshotThread }),
  });
  return {
    seatsOf(place) {
      const historyDesk = new HistoryDesk();
      const member = cluster && memberPlaceOf(cluster, place, place.directory);
      const own = { ...place, writer, clock, makeAlarm, historyDesk, member };
      const take = (start: SeatStart, events: SeatEvents): Seat =>
        new WorkerSeat({ ...sharedBy(place), ...own }, start, events);
      const isForgetful = place.directory === undefined && cluster === undefined;
      return isForgetful ? forgetful(take) : take;
    },
    async examine(program, place, signal) {
      const shared = sharedBy(place);
      const isThread = spare !== undefined && shared.startWorker === startThread;
      const around = isThread ? { ...shared, startWorker: spare.start } : shared;
      const outcome = await examineProgram(program, place.identity, around, signal);
      if (outcome instanceof Uint8Array) return outcome;
      if (signal?.aborted === true) throw cancelledRefusal();
      if (isOfService(outcome.cause)) {
        const about = { database: identityToHex(place.identity), reason: outcome.cause };
        const message = `A program could not be examined, and its publisher must try again: `;
        report({ level: 'warn', message: message + outcome.message, about });
      }
      throw programRefusal(outcome);
    },
    async close() {
      linker.close();
      spare?.close();
      watchdog.close();
      await Promise.all([snapshotThread.close(), starter.close()]);
    },
  };
}

/**
 * A database in memory is lost with its thread. The next actor creates it again from the program
 * that ran, empty, as it would be after a restart of the service.
 */
function forgetful(take: (start: SeatStart, events: SeatEvents) => Seat) {
  let program: ProgramSource | undefined;
  return ({ mode, ...given }: SeatStart, events: SeatEvents): Seat => {
    const { lastTicket, storage, schedulesPaused, env } = given;
    if (mode.kind !== 'open') program = mode.program;
    const createdMicros = BigInt(Date.now()) * 1000n;
    const recreated =
      program === undefined ? mode : ({ kind: 'create', program, createdMicros } as const);
    const isReopening = mode.kind === 'open';
    const known = { lastTicket, storage, schedulesPaused, env, isReopening };
    const start = { mode: isReopening ? recreated : mode, ...known };
    const seat = take(start, events);
    return {
      submit(requests) {
        for (const { request } of requests) {
          if (request.kind === 'update') program = request.program;
        }
        seat.submit(requests);
      },
      setStorage: (limits) => seat.setStorage(limits),
      setEnv: (env) => seat.setEnv(env),
      close: (snapshotMillis) => seat.close(snapshotMillis),
      kill: (end) => seat.kill(end),
    };
  };
}
