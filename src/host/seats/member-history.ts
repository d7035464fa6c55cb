import type { HistoryAnswer, HistoryTask } from './history-task.ts';

/**
 * The answer to a task that a database of a cluster cannot do: what a shared log may have cut off
 * again is looked for in files as they were written, so none is packed or deleted. `undefined`: it
 * can.
 */
export function memberAnswer({ kind }: HistoryTask): HistoryAnswer | undefined {
  if (kind === 'keep') return { kind: 'stopped' };
  if (kind !== 'forget') return undefined;
  const message = 'A database of a cluster keeps its whole history; nothing was deleted.';
  return { kind: 'refused', message };
}
