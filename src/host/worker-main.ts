import { availableParallelism } from 'node:os';
import v8 from 'node:v8';
import { parentPort, workerData } from 'node:worker_threads';
import { present } from '../assert.ts';
import type { Database } from '../database/database.ts';
import type { DatabaseOptions } from '../database/open-database.ts';
import type { DatabaseOwner } from '../database/turn.ts';
import type { ModuleLogLine } from '../module/runner.ts';
import { MachineClock } from '../node/clock.ts';
import { MachineDisk } from '../node/disk.ts';
import { MachineEntropy } from '../node/entropy.ts';
import { MemoryDisk } from '../node/memory-disk.ts';
import { assembleDatabase, examineAside } from './assemble.ts';
import { Board } from './board.ts';
import { HeapCare } from './heap-care.ts';
import { nextTurn } from './next-turn.ts';
import { programHash } from './program-hash.ts';
import { programLoader } from './program-loader.ts';
import { RemoteLinker } from './remote-linker.ts';
import type { SeatMode, StampedLine } from './seat.ts';
import { endOfService, endOfStart, type PlainEnd } from './start-end.ts';
import { buffersOf, type FromWorker, type ToWorker, type WorkerStart } from './worker-messages.ts';
import { encodeTurn } from './worker-outcomes.ts';
import { RequestReader } from './worker-requests.ts';

/**
 * The thread of one database: takes requests from the gateway, hands back the outcomes of each
 * turn. It reads no file but its database's, and nothing it does depends on another database.
 */
const port = present(parentPort, 'this file runs in a worker');
const start = workerData as WorkerStart;
const board = new Board(start.board);
const clock = new MachineClock();
const heap = new HeapCare(start, heldBytes);
const linker = new RemoteLinker((id, bytes) => send({ kind: 'link', id, bytes }));
const loader = programLoader((bytes) => linker.link(bytes), board);

/** Lines that the gateway does not have yet. They go out with the turn, or when there are many. */
let lines: StampedLine[] = [];
let linesSentAt = 0;
const lineCountMax = 256;
const lineMillisMax = 50;

/** The actor's own numbers are told when they may have changed, at most this often. */
const memoryMillis = 100;
let memoryToldAt = 0;
let isMemoryDue = false;

let database: Promise<Database | undefined> | undefined;
/** What holds bytes of the database in this thread, once it is there. */
let serving: Database | undefined;
const memoryDisk = new MemoryDisk();

/**
 * Without this the engine sometimes decides, after a busy moment, to make what lives for one call
 * among what lives long. There each dead object keeps the young ones that it names until a full
 * collection: they are copied, and look long-lived themselves. It cost a third of the time.
 */
function keepYoung(): void {
  v8.setFlagsFromString('--no-allocation-site-pretenuring');
}

/**
 * Has each thread collect its young garbage alone, where there are few processors. Next to nothing
 * of it survives, so helpers find little to do, and take the processors from the other threads.
 * Like all flags of the engine this is one of the process: it holds for the gateway too.
 */
function collectAlone(): void {
  if (availableParallelism() > fewProcessors) return;
  v8.setFlagsFromString('--no-parallel-scavenge');
}

const fewProcessors = 4;

function run(): void {
  keepYoung();
  collectAlone();
  port.on('message', (message: ToWorker) => {
    board.tookMessage();
    void receive(message);
  });
  switch (start.task.kind) {
    case 'serve':
      database = serve(start.task.mode);
      return;
    case 'examine':
      void examine(start.task.program);
      return;
  }
}

async function receive(message: ToWorker): Promise<void> {
  switch (message.kind) {
    case 'requests': {
      const open = await database;
      const requests = new RequestReader(message.batch);
      // Only a program comes beside a batch, and it is loaded before its turn comes.
      if (message.batch.blobs.length === 0) open?.submitAll(requests);
      else while (requests.remaining > 0) open?.submit(requests.next());
      return;
    }
    case 'linked':
      linker.settle(message.id, message.outcome);
      return;
    case 'close':
      await (await database)?.close();
      sendLines();
      send({ kind: 'closed' });
      port.close();
      return;
  }
}

async function serve(mode: SeatMode): Promise<Database | undefined> {
  try {
    const open = await assembleDatabase(mode, optionsOf(start));
    serving = open;
    sendLines();
    tellMemory(open);
    send({ kind: 'opened', opening: { description: open.description, offset: open.offset } });
    return open;
  } catch (error) {
    end(endOfStart(error));
    return undefined;
  }
}

async function examine(program: Parameters<typeof examineAside>[0]): Promise<void> {
  const { identity } = start;
  const hash = programHash;
  try {
    const options = { identity, loader, hash, progress: board, clock };
    send({ kind: 'examined', described: await examineAside(program, options) });
  } catch (error) {
    end(endOfStart(error));
  }
  port.close();
}

function optionsOf({ identity, ownerIdentity, directory, statementMillisMax }: WorkerStart) {
  const options: DatabaseOptions = {
    identity,
    ownerIdentity,
    disk: directory === undefined ? memoryDisk : new MachineDisk(directory),
    clock,
    entropy: new MachineEntropy(),
    statementMillisMax,
    progress: board,
    loader,
    hash: programHash,
    nextTurn: () => {
      // A turn that only reads on hands nothing over, and is to be seen all the same.
      tellMemorySoon();
      return nextTurn();
    },
    report: addLine,
    warn: (message) => send({ kind: 'warn', message }),
    owner,
  };
  return options;
}

const owner: DatabaseOwner = {
  handOver(turn) {
    sendLines();
    const batch = encodeTurn(turn);
    port.postMessage({ kind: 'turn', batch } satisfies FromWorker, buffersOf(batch));
    tellMemorySoon();
    const over = heap.over();
    if (over === undefined) return;
    const bytesMax = over === 'heap' ? start.heapBytesMax : start.bufferBytesMax;
    const message = `The module kept more than ${bytesMax / (1024 * 1024)} MiB of ${over}.`;
    end({ cause: 'died', message, running: undefined });
    process.exit();
  },
  durable(write, offset) {
    send({ kind: 'durable', write, offset });
    tellMemorySoon();
  },
  stopped: (reason) => end(endOfService(reason)),
};

function addLine(line: ModuleLogLine): void {
  lines.push({ micros: clock.nowMicros(), line });
  const isLate = clock.monotonicMillis() >= linesSentAt + lineMillisMax;
  if (isLate || lines.length >= lineCountMax) sendLines();
}

function sendLines(): void {
  linesSentAt = clock.monotonicMillis();
  if (lines.length === 0) return;
  send({ kind: 'lines', lines });
  lines = [];
}

function heldBytes(): number {
  if (serving === undefined) return Number.POSITIVE_INFINITY;
  const { rowBytes, indexBytes } = serving.memory();
  return rowBytes + indexBytes + memoryDisk.allocatedBytes;
}

/** At once or a little later, so that the last change is told, too, when nothing follows it. */
function tellMemorySoon(): void {
  if (isMemoryDue || serving === undefined) return;
  const wait = memoryToldAt + memoryMillis - clock.monotonicMillis();
  if (wait <= 0) {
    tellMemory(serving);
    return;
  }
  isMemoryDue = true;
  setTimeout(tellMemoryDue, wait, serving).unref();
}

function tellMemoryDue(open: Database): void {
  isMemoryDue = false;
  tellMemory(open);
}

function tellMemory(open: Database): void {
  memoryToldAt = clock.monotonicMillis();
  const memory = open.memory();
  board.holds(memory.rowBytes + memory.indexBytes);
  send({ kind: 'memory', memory: { ...memory, live: { ...open.liveFigures } } });
}

/** The last message; the gateway then lets the thread go. */
function end(plain: PlainEnd): void {
  sendLines();
  send({ kind: 'ended', end: plain });
  port.close();
}

function send(message: FromWorker): void {
  port.postMessage(message);
}

run();
