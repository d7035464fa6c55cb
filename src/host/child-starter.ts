import type { Duplex } from 'node:stream';
import type { RunCommand } from '../node/run-command.ts';
import type { ChildOrder } from './spawn-child.ts';

/**
 * Starts processes of databases: from this process (`direct-starter.ts`), or from a small one that
 * does nothing else (`spawner-starter.ts`).
 */
export interface ChildStarter {
  /** Makes ready what the first start needs, beside what else is done. */
  prepare(): void;
  /**
   * Starts a process with the descriptor `board` and a channel. Rejects with the system's fault,
   * which has its `code`.
   */
  start(order: ChildOrder, board: number): Promise<Child>;
  /** Rejects when the command cannot be started. */
  readonly run: RunCommand;
  /** Once no process is needed any more. */
  close(): Promise<void>;
}

/** A process that was started. */
export interface Child {
  readonly pid: number;
  /**
   * To be written to first: what the process sends before it has received anything may get lost.
   * None where the process had ended before its channel could be handed over.
   */
  readonly channel: Duplex | undefined;
  /** It has ended, and all that it sent was read. */
  readonly ended: Promise<ChildExit>;
  /** By `SIGKILL`; `ended` follows. */
  kill(): void;
}

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}
