import { workerData } from 'node:worker_threads';
import { ticketNumber } from '../../database/ticket.ts';
import { loadLaneProgram } from '../../module/javascript/lane-runner.ts';
import type { LaneRunner } from '../../module/lane.ts';
import { setNiceness } from '../../node/child-priority.ts';
import { realmOpener } from '../../node/realm.ts';
import { systemThreadId } from '../../node/thread-faults.ts';
import { answerInspector } from '../../node/thread-memory.ts';
import { decodeRawModule } from '../../schema/decode-raw-module.ts';
import { flatDefinition } from '../../schema/flat-definition.ts';
import { validateModule } from '../../schema/validate.ts';
import { Board } from '../seats/board.ts';
import { nicenessOf } from '../watching/standing.ts';
import type { FromLane, LaneThreadStart, ToLane } from './lane-messages.ts';
import { waitingFetch } from './request-way.ts';
import { LaneWindow } from './window.ts';
import { WindowLink } from './window-link.ts';

/** Runs a lane: one program in a thread of its own, beside its database. */
const {
  port,
  board: words,
  window,
  program,
  identity,
  hardeningFile,
  requests,
} = workerData as LaneThreadStart;
const board = new Board(words);
board.runsOn(systemThreadId());
if (board.systemThreadId !== 0) setNiceness(board.systemThreadId, nicenessOf.usual);
answerInspector();

const post = (message: FromLane): void => port.postMessage(message);
const reducers = new Map<string, number>();
let running = ticketNumber(1);

const link = new WindowLink(new LaneWindow(window), {
  ring: () => post({ kind: 'asked' }),
  stretches: { began: () => board.calling(running), ended: () => board.resting() },
  reducers,
  fetch: requests && waitingFetch(requests),
});

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
      monotonicMillis: () => performance.now(),
    };
    let isLoaded = false;
    const runner = loadLaneProgram(program.linked, context, realmOpener(hardeningFile)(), link);
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
  if (message.kind === 'close') {
    port.close();
    return;
  }
  const { call } = message;
  running = ticketNumber(call.number);
  board.calling(running);
  const end = runner?.start(call);
  board.resting();
  if (end !== undefined && end !== 'waiting') post({ kind: 'ended', call: call.number, end });
});
