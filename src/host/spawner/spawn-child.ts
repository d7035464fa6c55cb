import { type ChildProcess, spawn } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { canLowerNiceness, yieldToThis } from '../../node/child-priority.ts';
import { endsWithParent } from '../../node/command-wrappers.ts';
import { nicenessOf } from '../watching/standing.ts';

/** A process to start for a database. */
export interface ChildOrder {
  readonly command: string;
  readonly words: readonly string[];
  /** Working directory of the process. */
  readonly directory: string;
}

/**
 * Starts a process as a child of this one, with an empty environment and three descriptors: its
 * channel (3), the board (4), and the channel of its lanes (5). Without a `pid`, it was not
 * started, and its `error` event gives the reason.
 */
export function spawnChild({ command, words, directory }: ChildOrder, board: number): ChildProcess {
  // Where the system does not end it with its parent, it watches for that itself.
  const watched = endsWithParent() ? [] : [`${process.pid}`];
  const child = spawn(command, [...words, ...watched], {
    cwd: directory,
    env: {},
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', board, 'pipe'],
  });
  if (child.pid !== undefined) {
    yieldToThis(child.pid, canLowerNiceness(child.pid) ? nicenessOf.later : nicenessOf.usual);
  }
  return child;
}

/**
 * The two channels, that of lanes last. Whatever its type says, a child that got no descriptors has
 * no streams.
 */
export function channelsOf(child: ChildProcess): readonly (Duplex | undefined)[] {
  const streams = child.stdio as readonly unknown[] | undefined;
  return [streams?.[3] as Duplex | undefined, streams?.[5] as Duplex | undefined];
}
