import fs from 'node:fs';
import net from 'node:net';
import { type MessagePort, Worker as Thread } from 'node:worker_threads';
import { present, unreachable } from '../../assert.ts';
import { countNicenessFrom } from '../../node/child-priority.ts';
import { leaveSignalsToParent } from '../../node/parents-signals.ts';
import { identityFromHex } from '../../values/identity.ts';
import { databaseIdentity } from '../../values/identity-roles.ts';
import { laneThreads } from '../lanes/lane-thread.ts';
import type { LaneOrder, SnapshotPort } from '../messages/worker-messages.ts';
import { Board, boardBytes } from '../seats/board.ts';
import { SnapshotThread } from '../snapshots/snapshot-thread.ts';
import { Watchdog } from '../watching/watchdog.ts';
import { KeeperLink } from './keeper-link.ts';
import { type KeeperPlan, overHeapExit } from './keeper-plan.ts';
import { SeatLanes } from './seat-lanes.ts';

/**
 * Runs the first thread of a database's process, the keeper. It starts the actor's thread, which
 * has the channel to the gateway (descriptor 3) and the board (4), and those of lanes, and watches
 * the lanes. It alone may start threads, so no code of a module ever runs here; and it waits for
 * nothing, so that a module that computes without end does not keep it from its work.
 */
const [, , planText = '', parentProcess] = process.argv;
const plan = JSON.parse(planText) as KeeperPlan;

for (const number of plan.strays.split(',').filter(Boolean)) fs.closeSync(Number(number));
leaveSignalsToParent();
process.title = `reducerdb ${plan.identity.slice(0, 16)}`;
countNicenessFrom(plan.niceness);

const words = new SharedArrayBuffer(boardBytes);
const actor = new Thread(plan.actor.entry, {
  workerData: words,
  env: {},
  execArgv: [...plan.actor.flags],
  resourceLimits: { maxOldGenerationSizeMb: plan.actor.heapMebibytes },
});

const channel = new net.Socket({ fd: 5, readable: true, writable: true });
// The gateway is gone, whatever the actor is doing.
for (const event of ['error', 'close']) channel.on(event, () => endAtOnce());

const link = new KeeperLink(channel, {
  sendsRequests: plan.lanes.sendsRequests,
  history: async (task, signal) => {
    if (directory === undefined) return undefined;
    return snapshots.ask({ identity, directory, writer }, task, signal);
  },
});
const watchdog = new Watchdog(plan.lanes.budget);
const board = new Board(words);
const aside = { messagesSent: () => 0, askMemory: () => undefined, kill: () => undefined };
// The memory of its rows is no fault of a lane.
watchdog.add({ ...aside, board, isBusy: () => false });
// A lane that waits may go on at any time, and computes then.
const still = new Board();
still.resting();
watchdog.add({ ...aside, board: still, isBusy: () => board.procedures > 0 });
const startLane = laneThreads({
  budget: plan.lanes.budget,
  watchdog,
  outbound: link,
  env: link,
  entry: plan.lanes.entry,
  flags: plan.lanes.flags,
  stuck: () => link.stuck(endAtOnce),
});
const identity = databaseIdentity(present(identityFromHex(plan.identity), 'it is one'));
// The gateway knows the generation, and gives values by it.
const lanes = new SeatLanes({ places: link, startLane }, { identity, generation: 0 }, (news) => {
  actor.postMessage(news);
});

actor.on('message', (order: LaneOrder | SnapshotPort) => {
  switch (order.kind) {
    case 'lane':
      lanes.start(order);
      return;
    case 'lanesBusy':
      watchdog.wake();
      return;
    case 'laneReplaced':
      lanes.replaced(order.lane);
      return;
    case 'endLane':
      lanes.end(order.lane, order.death);
      return;
    case 'snapshotPort':
      takeSnapshot(order.port);
      return;
    default:
      unreachable(order);
  }
});

const { directory, writer, ...snapshotThread } = plan.snapshots;
const snapshots = new SnapshotThread(snapshotThread);

function takeSnapshot(port: MessagePort): void {
  if (directory === undefined) port.close();
  else snapshots.take({ port, identity, directory, writer });
}

let exitCode: number | undefined;
actor.on('error', (error) => {
  const isOverHeap = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
  exitCode = isOverHeap ? overHeapExit : 1;
});
actor.on('exit', (code) => leave(exitCode ?? code));

/** To exit means to wait for all threads, and the engine may not end each of them. */
function leave(code: number): void {
  lanes.endAll();
  setTimeout(endAtOnce, leaveMillisMax);
  const look = (): void => {
    if (lanes.isEmpty) process.exit(code);
    else setTimeout(look, 1);
  };
  look();
}

const leaveMillisMax = 1_000;

function endAtOnce(): void {
  process.kill(process.pid, 'SIGKILL');
}

/** Where the system does not end this process with its parent, which ends with the gateway. */
function lookAfter(parent: number): void {
  setInterval(() => process.ppid === parent || endAtOnce(), 500).unref();
}

if (parentProcess !== undefined) lookAfter(Number(parentProcess));
