import type { ProgramSource } from '../../database/program-source.ts';
import { noTicket } from '../../database/ticket.ts';
import { limits } from '../../limits.ts';
import { sameBytes } from '../../values/bytes.ts';
import { type DatabaseIdentity, ownerIdentity } from '../../values/identity-roles.ts';
import { type FromWorker, linkedBuffers } from '../messages/worker-messages.ts';
import type { PlainEnd } from '../seats/start-end.ts';
import type { Watched } from '../watching/watched.ts';
import type { DatabaseLinker } from './database-linker.ts';
import type { Worker, WorkerDeath } from './worker.ts';
import { actorStart, type WorkerSeatOptions } from './worker-seat.ts';

type Options = Pick<WorkerSeatOptions, 'budget' | 'watchdog' | 'linker' | 'startWorker'>;

/**
 * Examines one program on a worker that is thrown away. Resolves with the outcome, once the linked
 * program is kept; the worker may still be ending then.
 */
export async function examineProgram(
  program: ProgramSource,
  identity: DatabaseIdentity,
  options: Options,
  signal?: AbortSignal,
): Promise<Uint8Array | PlainEnd> {
  const { budget, linker, startWorker } = options;
  const task = { kind: 'examine', program } as const;
  const nothing = { ownerIdentity: ownerIdentity(0n), generation: 0, directory: undefined };
  const state = { storage: {}, schedulesPaused: true };
  const start = actorStart({ task, identity, kept: linker.kept, ...nothing, ...state }, budget);
  return new Promise((resolve, reject) => {
    const examination = new Examination(options, { program, signal }, resolve);
    startWorker(start, { budget, lastTicket: noTicket }, examination).then(
      (worker) => examination.begin(worker),
      reject,
    );
  });
}

interface Wanted {
  readonly program: ProgramSource;
  /** Aborted when nobody waits for it any more. */
  readonly signal: AbortSignal | undefined;
}

class Examination {
  readonly #options: Options;
  readonly #resolve: (outcome: Uint8Array | PlainEnd) => void;
  readonly #signal: AbortSignal | undefined;
  #worker: Worker | undefined;
  #watched: Watched | undefined;
  #outcome: Uint8Array | PlainEnd | undefined;
  /** Resolves when the linked program is kept, for the actor that is to serve it. */
  #kept: Promise<void> | undefined;
  #messagesSent = 0;
  #linksLeft: number = limits.startLinksMax;
  readonly #program: ProgramSource;
  /** The program is linked while the worker starts, which asks for that first. */
  #ahead: ReturnType<DatabaseLinker['linkAside']> | undefined;

  constructor(
    options: Options,
    { program, signal }: Wanted,
    resolve: (outcome: Uint8Array | PlainEnd) => void,
  ) {
    this.#options = options;
    this.#program = program;
    this.#resolve = resolve;
    this.#signal = signal;
    if (program.kind === 'js') this.#ahead = options.linker.linkAside(program.bytes, signal);
  }

  begin(worker: Worker): void {
    this.#worker = worker;
    this.#watched = {
      get board() {
        return worker.board;
      },
      isBusy: () => true,
      messagesSent: () => this.#messagesSent,
      memoryBytes: () => worker.memoryBytes?.(),
      askMemory: worker.askMemory,
      processorTime: () => worker.processorTime(),
      setStanding: (standing) => worker.setStanding(standing),
      kill: (end) => {
        this.#outcome ??= { ...end, running: undefined };
        worker.terminate();
      },
    };
    this.#options.watchdog.add(this.#watched);
    this.#signal?.addEventListener('abort', this.#leave, { once: true });
    if (this.#signal?.aborted === true) this.#leave();
  }

  /** Nobody waits for it any more. */
  readonly #leave = () => {
    this.#outcome ??= { cause: 'closed', message: 'it was abandoned', running: undefined };
    this.#worker?.terminate();
  };

  async message(message: FromWorker): Promise<void> {
    if (message.kind === 'examined') {
      this.#outcome = message.described;
      // The worker ends by itself, which takes as long as a short examination.
      await this.#kept;
      this.#resolve(this.#outcome);
    }
    if (message.kind === 'ended') this.#outcome ??= message.end;
    if (message.kind !== 'link') return;
    this.#linksLeft -= 1;
    if (this.#linksLeft < 0) {
      this.#outcome ??= {
        cause: 'bug',
        message: 'it requested too many programs',
        running: undefined,
      };
      this.#worker?.terminate();
      return;
    }
    const { outcome, kept } = await this.#linked(message.bytes);
    this.#kept = kept;
    this.#messagesSent += 1;
    this.#worker?.send({ kind: 'linked', id: message.id, outcome }, linkedBuffers(outcome));
  }

  /** What was linked ahead counts once: it is transferred. */
  #linked(bytes: Uint8Array): ReturnType<DatabaseLinker['linkAside']> {
    const ahead = this.#ahead;
    this.#ahead = undefined;
    if (ahead !== undefined && sameBytes(bytes, this.#program.bytes)) return ahead;
    return this.#options.linker.linkAside(bytes, this.#signal);
  }

  ended(death: WorkerDeath | undefined): void {
    this.#signal?.removeEventListener('abort', this.#leave);
    if (this.#watched !== undefined) this.#options.watchdog.remove(this.#watched);
    const unknown = { cause: 'died', message: 'the worker ended' } as const;
    const outcome = this.#outcome ?? { ...(death ?? unknown), running: undefined };
    void (this.#kept ?? Promise.resolve()).then(() => this.#resolve(outcome));
  }
}
