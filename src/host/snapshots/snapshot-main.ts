import { type MessagePort, parentPort } from 'node:worker_threads';
import { present, unreachable } from '../../assert.ts';
import { SnapshotJob } from '../../database/snapshots/snapshot-job.ts';
import { limits } from '../../limits.ts';
import { MachineDisk } from '../../node/disk.ts';
import { MachineEntropy } from '../../node/entropy.ts';
import { FolderSpace } from '../../node/folder-space.ts';
import type { FromSnapshotThread, SnapshotOrder, ToSnapshotThread } from './snapshot-messages.ts';

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

function serve({ port, directory, writer }: SnapshotOrder): void {
  const disk = new MachineDisk(directory, { writer });
  const folder = new FolderSpace(directory);
  let job: SnapshotJob | undefined;
  port.on('message', (message: ToSnapshotThread) => {
    if (message.kind === 'ask') {
      const around = { disk, salt, space: () => folder.space() };
      job = new SnapshotJob(around, message.bytes, eventsOf(port));
    } else {
      take(present(job, 'it is asked for first'), message);
    }
  });
  // The actor has its outcome, or is gone.
  port.on('close', () => {
    job?.cancel();
    openCount -= 1;
    if (openCount === 0) rest();
  });
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
