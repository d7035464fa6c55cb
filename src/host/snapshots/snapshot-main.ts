import { type MessagePort, parentPort } from 'node:worker_threads';
import { present, unreachable } from '../../assert.ts';
import { SnapshotJob } from '../../database/snapshots/snapshot-job.ts';
import { limits } from '../../limits.ts';
import { canLowerNiceness, setNiceness } from '../../node/child-priority.ts';
import { MachineClock } from '../../node/clock.ts';
import { MachineDisk } from '../../node/disk.ts';
import { MachineEntropy } from '../../node/entropy.ts';
import { FolderSpace } from '../../node/folder-space.ts';
import { systemThreadId } from '../../node/thread-faults.ts';
import {
  decodeHistoryTask,
  encodeHistoryAnswer,
  type HistoryAnswer,
  type HistoryTask,
} from '../seats/history-task.ts';
import { Pace } from '../seats/pace.ts';
import { type HistoryPlace, runHistoryTask } from '../seats/run-history-task.ts';
import type {
  FromSnapshotThread,
  HistoryMessage,
  HistoryReply,
  SnapshotOrder,
  ToSnapshotThread,
} from './snapshot-messages.ts';

/**
 * Runs the thread that writes snapshots: those of all databases on threads, or that of the one
 * whose process it is in. It knows no rows, only blocks of bytes, and ends when it has had nothing
 * to do for a while.
 */
const parent = present(parentPort, 'this file runs in a worker thread');
const entropy = new MachineEntropy();
let openCount = 0;
let idle: NodeJS.Timeout | undefined;

parent.on('message', (order: SnapshotOrder) => {
  openCount += 1;
  clearTimeout(idle);
  serve(order);
});
rest();

function serve({ port, identity, directory, writer }: SnapshotOrder): void {
  const disk = new MachineDisk(directory, { writer });
  const folder = new FolderSpace(directory);
  let job: SnapshotJob | undefined;
  const stop = new AbortController();
  port.on('message', (message: ToSnapshotThread | HistoryMessage) => {
    switch (message.kind) {
      case 'ask': {
        const around = { disk, salt, space: () => folder.space() };
        job = new SnapshotJob(around, message.bytes, eventsOf(port));
        return;
      }
      case 'history':
        void keep(port, decodeHistoryTask(message.task), { disk, identity, signal: stop.signal });
        return;
      case 'stop':
        stop.abort();
        return;
      default:
        take(present(job, 'it is asked for first'), message);
    }
  });
  // The one who asked has the outcome, or is gone.
  port.on('close', () => {
    job?.cancel();
    stop.abort();
    openCount -= 1;
    if (openCount === 0) rest();
  });
}

const bytesPerMilli = limits.historyBytesPerSecondMax / 1_000;
const clock = new MachineClock();
const threadId = systemThreadId();
const canBeNice = threadId !== 0 && canLowerNiceness(threadId);
/** A tenth of the weight of what serves. */
const passNiceness = 10;
let last: Promise<unknown> = Promise.resolve();

/** What changes files is done one after another. A check has a thread of its own. */
async function keep(
  port: MessagePort,
  task: HistoryTask,
  place: Omit<HistoryPlace, 'nowMicros' | 'pace'>,
): Promise<void> {
  const around = { ...place, nowMicros: () => clock.nowMicros(), pace: new Pace(bytesPerMilli) };
  const work = async (): Promise<HistoryAnswer> => {
    if (canBeNice) setNiceness(threadId, passNiceness);
    const done = await runHistoryTask(task, around);
    if (canBeNice) setNiceness(threadId, 0);
    return done;
  };
  const isPass = task.kind === 'keep' || task.kind === 'forget';
  const answer = isPass ? last.then(work) : work();
  if (isPass) last = answer;
  const reply: HistoryReply = { answer: encodeHistoryAnswer(await answer) };
  port.postMessage(reply);
}

function take(job: SnapshotJob, message: Exclude<ToSnapshotThread, { kind: 'ask' }>): void {
  switch (message.kind) {
    case 'begin':
      job.begin(message.place);
      return;
    case 'add':
      job.add(message.block);
      return;
    case 'finish':
      job.finish();
      return;
    case 'cancel':
      job.cancel();
      return;
    default:
      unreachable(message);
  }
}

function eventsOf(port: MessagePort) {
  const post = (message: FromSnapshotThread, transfer: ArrayBuffer[] = []): void => {
    port.postMessage(message, transfer);
  };
  return {
    ready: () => post({ kind: 'ready' }),
    taken: (buffer: ArrayBuffer | undefined) => {
      post({ kind: 'taken', buffer }, buffer === undefined ? [] : [buffer]);
    },
    finished: (bytes: number) => post({ kind: 'finished', bytes }),
    failed: (message: string, isForSpace: boolean) => post({ kind: 'failed', message, isForSpace }),
  };
}

function salt(): number {
  const bytes = new Uint8Array(4);
  entropy.fill(bytes);
  return new DataView(bytes.buffer).getInt32(0);
}

function rest(): void {
  idle = setTimeout(() => parent.close(), limits.snapshotThreadIdleMillis);
}
