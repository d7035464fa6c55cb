import type { Duplex } from 'node:stream';
import type { RunCommand } from '../../node/run-command.ts';
import type { ChildOrder } from './spawn-child.ts';

/**
 * Starts processes of databases: from this process (`direct-starter.ts`), or from a small one that
 * does nothing else (`spawner-starter.ts`).
 */
export interface ChildStarter {
  /** Prepares for the first start in the background. */
  prepare(): void;
  /**
   * Starts a process with the descriptor `board` and two channels. Rejects with the system's error,
   * which has a `code`.
   */
  start(order: ChildOrder, board: number): Promise<Child>;
  /** Runs a command; rejects when it cannot be started. */
  readonly run: RunCommand;
  /** Must be called once no more processes are needed. */
  close(): Promise<void>;
}

/** A process that was started. */
export interface Child {
  readonly pid: number;
  /**
   * Write to it first: what the process sends before it has received anything can get lost.
   * `undefined` if the process ended before its channel could be handed over.
   */
  readonly channel: Duplex | undefined;
  /** The channel of its lanes, likewise. */
  readonly lanes: Duplex | undefined;
  /** Resolves when it has ended and all that it sent was read. */
  readonly ended: Promise<ChildExit>;
  /** Kills it with `SIGKILL`; `ended` follows. */
  kill(): void;
}

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}
