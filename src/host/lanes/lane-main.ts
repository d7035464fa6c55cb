import { workerData } from 'node:worker_threads';
import { unreachable } from '../../assert.ts';
import { ticketNumber } from '../../database/ticket.ts';
import { loadLaneProgram } from '../../module/javascript/lane-runner.ts';
import type { LaneCall, LaneEnd, LaneRunner } from '../../module/lane.ts';
import { countNicenessFrom, setNiceness } from '../../node/child-priority.ts';
import { MachineClock } from '../../node/clock.ts';
import { realmOpener } from '../../node/realm.ts';
import { systemThreadId } from '../../node/thread-faults.ts';
import { answerInspector } from '../../node/thread-memory.ts';
import { decodeRawModule } from '../../schema/decode-raw-module.ts';
import { flatDefinition } from '../../schema/flat-definition.ts';
import { validateModule } from '../../schema/validate.ts';
import { Board } from '../seats/board.ts';
import { HeapCare } from '../seats/heap-care.ts';
import { laneNicenessOf } from '../watching/standing.ts';
import { currentEnv } from './env-way.ts';
import { GivenTime } from './given-time.ts';
import type { FromLane, LaneThreadStart, ToLane } from './lane-messages.ts';
import { LaneOperations, machineSleep } from './lane-operations.ts';
import { LaneSender } from './lane-sender.ts';
import { LaneWindow } from './window.ts';
import { WindowLink } from './window-link.ts';

/** Runs a lane: one program in a thread of its own, beside its database. */
const start = workerData as LaneThreadStart;
const { port, program, identity, requests, env, niceness } = start;
const board = new Board(start.board);
board.runsOn(systemThreadId());
countNicenessFrom(niceness);
if (board.systemThreadId !== 0) setNiceness(board.systemThreadId, laneNicenessOf.usual);
answerInspector();

const post = (message: FromLane): void => port.postMessage(message);
const reducers = new Map<string, number>();
const given = start.isTimeGiven ? new GivenTime(post) : undefined;
const clock = new MachineClock();
const window = new LaneWindow(start.window);
const sender =
  requests && new LaneSender(requests, (id, outcome) => operations.answered(id, outcome));
const operations = new LaneOperations({
  sender,
  startSleep: given?.startSleep ?? machineSleep,
  completed: (operation, outcome, call) =>
    enter(call, (lane) => lane.completed(operation, outcome)),
  counted: given && ((count) => post({ kind: 'requests', count })),
});
const link = new WindowLink(window, {
  ring: () => post({ kind: 'asked' }),
  stretches: { began: () => board.calling(ticketNumber(running)), ended: () => board.resting() },
  reducers,
  fetch: sender && ((request) => sender.wait(request)),
  operations,
});
/** Rows and statements are elsewhere. */
const heap = new HeapCare(start.heap, { heldBytes: () => 0, statementBytes: () => 0 });
let isOver = false;
/** The call for which the program runs. */
let running = 0;

function load(): LaneRunner {
  board.loading();
  try {
    const context = {
      databaseIdentity: identity,
      log: (line: Extract<FromLane, { kind: 'line' }>['line']) => {
        // What it says while it loads was said when its database loaded it.
        if (isLoaded) post({ kind: 'line', line });
      },
      publishedMicros: program.publishedMicros,
      env: currentEnv(env),
      monotonicMillis: () => performance.now(),
      nowMicros: () => given?.nowMicros ?? clock.nowMicros(),
    };
    let isLoaded = false;
    const runner = loadLaneProgram(
      program.linked,
      context,
      realmOpener(start.hardeningFile)(),
      link,
    );
    isLoaded = true;
    if (Buffer.compare(runner.describe(), program.described) !== 0) {
      throw new Error('the program describes itself differently in a lane');
    }
    const definition = validateModule(decodeRawModule(runner.describe()));
    const { reducers: defined } = flatDefinition(definition);
    for (const [id, { name, sourceName }] of defined.entries()) {
      reducers.set(sourceName, id);
      reducers.set(name, id);
    }
    return runner;
  } finally {
    board.resting();
  }
}

let runner: LaneRunner | undefined;
try {
  runner = load();
} catch (error) {
  post({ kind: 'failed', message: error instanceof Error ? error.message : String(error) });
  port.close();
}

port.on('message', (message: ToLane) => {
  switch (message.kind) {
    case 'close':
      port.close();
      return;
    case 'start':
      begin(message.call);
      return;
    case 'abort':
      enter(message.call, (lane) => lane.abort(message.call, message.reason));
      return;
    case 'drop':
      enter(message.call, (lane) => lane.drop(message.call));
      post({ kind: 'dropped', call: message.call });
      return;
    case 'slept':
      given?.slept(message.sleep, message.nowMicros);
      return;
    default:
      unreachable(message);
  }
});

function begin(call: LaneCall): void {
  const { number } = call;
  given?.tell(call.timestampMicros);
  let end: LaneEnd | 'waiting' | undefined;
  enter(number, (lane) => {
    end = lane.start(call);
  });
  if (end === undefined) return;
  post(
    end === 'waiting' ? { kind: 'waiting', call: number } : { kind: 'ended', call: number, end },
  );
}

/** Lets the program run for a call, and reports those that have ended by that. */
function enter(call: number, run: (lane: LaneRunner) => void): void {
  if (runner === undefined || isOver) return;
  running = call;
  window.computing = call;
  board.calling(ticketNumber(call));
  run(runner);
  board.resting();
  for (const ended of runner.takeEnded()) post({ kind: 'ended', ...ended });
  const what = heap.over();
  isOver = what !== undefined;
  // It is to blame on the call that ran last.
  if (what !== undefined) post({ kind: 'over', what });
  else window.computing = 0;
}
