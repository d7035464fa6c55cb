import type { ChildOrder } from './spawn-child.ts';

/**
 * A request of the gateway to its spawner. Each has a number, and one answer: `handed` for a
 * process that was started, `done` for the others, or `fault`.
 */
export type ToSpawner =
  /** `board`: a path to the gateway's descriptor. */
  | {
      readonly kind: 'start';
      readonly id: number;
      readonly order: ChildOrder;
      readonly board: string;
    }
  /** Ends the process that request `child` has started, if it exists. */
  | { readonly kind: 'kill'; readonly id: number; readonly child: number }
  | {
      readonly kind: 'run';
      readonly id: number;
      readonly command: string;
      readonly words: readonly string[];
    };

/** Messages about one process, in this order: `started`, `lanes`, `handed`, `ended`. */
export type FromSpawner =
  /** With the process's channel, which the spawner still has as well. */
  | { readonly kind: 'started'; readonly id: number; readonly pid: number }
  /** With the channel of its lanes, likewise. */
  | { readonly kind: 'lanes'; readonly id: number }
  /**
   * The spawner has closed its ends of the channels: what the process sends now reaches only the
   * gateway. Without both messages before it, the gateway had no descriptor left for a channel.
   */
  | { readonly kind: 'handed'; readonly id: number }
  | {
      readonly kind: 'ended';
      readonly id: number;
      readonly code: number | null;
      readonly signal: NodeJS.Signals | null;
    }
  | { readonly kind: 'done'; readonly id: number }
  | {
      readonly kind: 'fault';
      readonly id: number;
      /** True: the spawner cannot open what the gateway has open, and never will. */
      readonly isBoardRefused: boolean;
      readonly code: string | undefined;
      readonly message: string;
    };
