import { Worker as Thread } from 'node:worker_threads';
import { limits } from '../../limits.ts';
import { baseNiceness, canLowerNiceness, setNiceness } from '../../node/child-priority.ts';
import { processorTime } from '../../node/processor-time.ts';
import { askThread, endThread } from '../../node/thread-memory.ts';
import type { Outbound } from '../outbound/outbound.ts';
import { Board } from '../seats/board.ts';
import { type Budget, heapLimits } from '../seats/budget.ts';
import { workerEntry } from '../spawner/worker-entry.ts';
import { laneNicenessOf } from '../watching/standing.ts';
import type { Watchdog } from '../watching/watchdog.ts';
import type { Watched } from '../watching/watched.ts';
import { type EnvSource, LaneEnv } from './lane-env.ts';
import type { LaneDeath, LaneThreadStart, StartLane } from './lane-messages.ts';
import { LaneWindow } from './window.ts';

export interface LaneThreadsOptions {
  readonly budget: Budget;
  /** Absent: nothing ends a call that runs away before its database does. */
  readonly watchdog?: Watchdog;
  /** Sends the HTTP requests of modules; absent: they send none. */
  readonly outbound?: Outbound | undefined;
  /** Has the configuration of databases; absent: they have none. */
  readonly env?: EnvSource | undefined;
  /** The built `lane-main`; absent: it is found. */
  readonly entry?: string | undefined;
  /** Flags for their threads alone, such as permissions. */
  readonly flags?: readonly string[];
  /** Called when the engine does not end one that is to end. */
  readonly stuck?: () => void;
}

/** Starts lanes as threads of this process. */
export function laneThreads(options: LaneThreadsOptions): StartLane {
  const { budget, watchdog, outbound, env, entry, flags = [], stuck } = options;
  return (start, port, ended) => {
    const board = new Board();
    const window = new LaneWindow(start.window);
    let thread: Thread | undefined;
    let death: LaneDeath | undefined;
    let hasEnded = false;
    let isEnding = false;
    const broken = (message: string): void => end({ cause: 'died', message });
    const requests = outbound?.isEnabled
      ? outbound.open(start.identity, { lanes: 1, broken })
      : undefined;
    const laneEnv = env && new LaneEnv(env, { ...start, program: start.program.hash }, broken);
    const watched: Watched = {
      board,
      isBusy: () => board.phase !== 'resting',
      messagesSent: () => 0,
      askMemory: (answer) => thread && askThread(thread, answer),
      processorTime: () => processorTime({ thread: board.systemThreadId }),
      setStanding: (standing) => {
        const id = board.systemThreadId;
        if (id !== 0 && canLowerNiceness(id)) setNiceness(id, laneNicenessOf[standing]);
      },
      kill: ({ cause, message }) => {
        const text = message.replace(/^The call /, 'The procedure ');
        end({ cause: cause === 'budget' ? 'budget' : 'closed', message: text });
      },
    };
    const finish = (): void => {
      if (hasEnded) return;
      hasEnded = true;
      watchdog?.remove(watched);
      requests?.close();
      laneEnv?.close();
      port.close();
      window.gone();
      ended(death ?? { cause: 'died', message: 'The thread of the procedure ended.' });
    };
    const end = (reason: LaneDeath): void => {
      death ??= reason;
      requests?.close();
      laneEnv?.close();
      if (thread === undefined) {
        finish();
        return;
      }
      endThread(thread);
      if (stuck === undefined || isEnding) return;
      isEnding = true;
      setTimeout(() => hasEnded || stuck(), limits.laneEndMillisMax).unref();
    };
    void Promise.resolve(entry ?? workerEntry('lane')).then(
      (file) => {
        if (hasEnded) return;
        const way = requests?.way;
        const heap = heapLimits(budget);
        const niceness = baseNiceness();
        const ways = { requests: way, env: laneEnv?.way };
        const given = { board: board.buffer, port, heap, ...ways, niceness };
        const workerData: LaneThreadStart = { ...start, ...given };
        const all = [port, way?.port, way?.renewals, ways.env?.port];
        const ports = all.filter((one) => one !== undefined);
        thread = new Thread(file, {
          workerData,
          transferList: ports,
          resourceLimits: {
            maxOldGenerationSizeMb: budget.workerHeapMebibytesMax + limits.workerHeadroomMebibytes,
          },
          env: {},
          execArgv: [...flags],
        });
        thread.on('error', (error) => {
          death ??= deathOf(error, budget);
        });
        thread.on('exit', finish);
        watchdog?.add(watched);
      },
      (error) => end({ cause: 'died', message: String(error) }),
    );
    return { end, replaced: () => requests?.replaced() };
  };
}

function deathOf(error: unknown, { workerHeapMebibytesMax }: Budget): LaneDeath {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ERR_WORKER_OUT_OF_MEMORY') {
    const text = `far more than ${workerHeapMebibytesMax} MiB of heap`;
    return { cause: 'budget', message: `The procedure used ${text} and was stopped.` };
  }
  return { cause: 'died', message: error instanceof Error ? error.message : String(error) };
}
