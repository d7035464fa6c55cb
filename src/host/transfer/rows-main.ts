import { parentPort, workerData } from 'node:worker_threads';
import { present } from '../../assert.ts';
import { countNicenessFrom, setNiceness } from '../../node/child-priority.ts';
import { systemThreadId } from '../../node/thread-faults.ts';
import { LongRowError } from '../../transfer/row-writer.ts';
import type { FromRowThread, RowThreadStart, ToRowThread } from './row-messages.ts';
import { type RowResult, RowWork } from './row-work.ts';

/**
 * Runs the thread that reads and writes rows as text for all exports and imports of a service, so
 * that the gateway only passes buffers on. It comes after databases, as far as the system ranks
 * threads: somebody waits for their answers.
 */
const parent = present(parentPort, 'this file runs in a worker thread');
countNicenessFrom((workerData as RowThreadStart).niceness);
const threadId = systemThreadId();
if (threadId !== 0) setNiceness(threadId, 15);
const work = new RowWork();

parent.on('message', ({ number, stream, order }: ToRowThread) => {
  try {
    const result = work.do(stream, order);
    parent.postMessage({ number, result } satisfies FromRowThread, buffersOf(result));
  } catch (error) {
    const isKnown = error instanceof LongRowError;
    const message = isKnown ? error.message : `the rows could not be read: ${String(error)}`;
    parent.postMessage({ number, message } satisfies FromRowThread);
  }
});

function buffersOf(result: RowResult): ArrayBuffer[] {
  if (result.kind === 'text') return [result.text.buffer as ArrayBuffer];
  if (result.kind !== 'step') return [];
  return result.step.batches.flatMap(({ rows, lines }) => [
    rows.buffer as ArrayBuffer,
    lines.buffer as ArrayBuffer,
  ]);
}
