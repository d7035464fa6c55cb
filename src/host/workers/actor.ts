import { unreachable } from '../../assert.ts';
import type { Database } from '../../database/database.ts';
import type { DatabaseOptions } from '../../database/open-database.ts';
import type { ProgramLoader } from '../../database/program.ts';
import type { ProgramSource } from '../../database/program-source.ts';
import type { Progress } from '../../database/progress.ts';
import type { DatabaseOwner, TurnReport } from '../../database/turn.ts';
import { limits } from '../../limits.ts';
import { openSandbox, type Sandbox } from '../../module/javascript/runner.ts';
import { boundedLine, cutText, type ModuleLogLine } from '../../module/log-line.ts';
import { type ActorEnv, emptyActorEnv, envFor } from '../../module/module-env.ts';
import { MachineClock } from '../../node/clock.ts';
import { cronReader } from '../../node/cron.ts';
import { MachineDisk } from '../../node/disk.ts';
import { MachineEntropy } from '../../node/entropy.ts';
import { machineAlarms } from '../../node/machine-alarm.ts';
import { MemoryDisk } from '../../node/memory-disk.ts';
import { nextTurn } from '../../node/next-turn.ts';
import { freeMemoryBytes } from '../../node/process-memory.ts';
import { realmOpener } from '../../node/realm.ts';
import { sha256 } from '../../node/sha256.ts';
import { ownBytes } from '../../node/thread-memory.ts';
import { tuneEngine } from '../../node/tune-engine.ts';
import { ownDeploys } from '../deployed/own-deploys.ts';
import { programHash } from '../linking/program-hash.ts';
import {
  type ActorStart,
  buffersOf,
  type FromWorker,
  type ToWorker,
  type Transferred,
} from '../messages/worker-messages.ts';
import { encodeTurn } from '../messages/worker-outcomes.ts';
import { RequestReader } from '../messages/worker-requests.ts';
import { MemberError } from '../replication/member-run.ts';
import { assembleDatabase, assembleMember, examineAside } from '../seats/assemble.ts';
import { HeapCare } from '../seats/heap-care.ts';
import { later } from '../seats/later.ts';
import { programLoader } from '../seats/program-loader.ts';
import type { SeatMode } from '../seats/seat.ts';
import { endOfService, endOfStart, type PlainEnd } from '../seats/start-end.ts';
import { RemoteSnapshots } from '../snapshots/remote-snapshots.ts';
import { ActorLanes } from './actor-lanes.ts';
import { ActorMember } from './actor-member.ts';
import { LineBatch } from './line-batch.ts';
import { RemoteLinker } from './remote-linker.ts';
import { Sandboxes } from './sandboxes.ts';
import { Warnings } from './warnings.ts';

/** The actor's way to the gateway: `thread-main.ts` and `process-main.ts` have one each. */
export interface ActorPort {
  post(message: FromWorker, transfer?: Transferred[]): void;
  /** Stops receiving; the thread or process ends when it has nothing else to do. */
  close(): void;
  /** Bytes of messages not yet written, where messages are copied. */
  waitingBytes?(): number;
  /** Resolves when they are written, if too many wait; `undefined`: there is room for more. */
  drained?(): Promise<void> | undefined;
  /** Ends the thread or process. Posted messages still arrive. */
  exit(): void;
}

/** The part of an actor that the watchdog reads; see `board.ts`. */
export interface ActorBoard extends Progress {
  tookMessage(): void;
  holds(bytes: number): void;
  /** Records how many lanes run a procedure. */
  runsProcedures(count: number): void;
  /** Records all memory held while it ran no call, where others share its process. */
  keeps?(bytes: number): void;
}

/** Sizes and opening progress are sent when they may have changed, at most this often. */
const memoryMillis = 100;

/**
 * One database, or the examination of one program, in a thread or process of its own: takes
 * messages from the gateway, hands back the outcomes of each turn. It reads no file but its
 * database's, and nothing it does depends on another database.
 */
export class Actor {
  readonly #start: ActorStart;
  readonly #port: ActorPort;
  readonly #board: ActorBoard;
  readonly #clock = new MachineClock();
  readonly #heap: HeapCare;
  readonly #linker: RemoteLinker;
  readonly #loader: ProgramLoader;
  readonly #memoryDisk = new MemoryDisk();
  readonly #lines: LineBatch;
  readonly #warnings: Warnings;
  readonly #lanes: ActorLanes;
  readonly #snapshots: RemoteSnapshots;
  /** What it is in a cluster. */
  readonly #member: ActorMember | undefined;
  #env: ActorEnv;
  #memoryToldAt = 0;
  /** Bytes of the log that were read, and when that was last reported. */
  #readBytes = 0;
  #readToldAt = 0;
  #isMemoryDue = false;
  #database: Promise<Database | undefined> | undefined;
  /** The running database, which holds bytes of its own, once it serves. */
  #serving: Database | undefined;

  /** `first`: an unused one, for the program that is loaded first. */
  constructor(start: ActorStart, port: ActorPort, board: ActorBoard, first?: Sandbox) {
    this.#start = start;
    this.#port = port;
    this.#board = board;
    this.#env = start.env ?? emptyActorEnv;
    this.#lines = new LineBatch({
      nowMillis: () => this.#clock.monotonicMillis(),
      send: (lines) => port.post({ kind: 'lines', lines }),
    });
    this.#warnings = new Warnings((message) => port.post({ kind: 'warn', message }));
    this.#heap = new HeapCare(start, {
      heldBytes: () => this.#heldBytes(),
      statementBytes: () => (this.#serving ?? this.#member?.run)?.statementBytes ?? 0,
    });
    this.#lanes = new ActorLanes(start, {
      nowMillis: () => this.#clock.monotonicMillis(),
      post: (message, transfer) => port.post(message, transfer),
      report: (line) => this.#report(line),
      busy: (lanes) => board.runsProcedures(lanes),
    });
    this.#snapshots = new RemoteSnapshots({
      ask: () => port.post({ kind: 'askSnapshot' }),
      leave: () => port.post({ kind: 'leaveSnapshot' }),
      open: (port2) => port.post({ kind: 'snapshotPort', port: port2 }, [port2]),
    });
    const { member: data, ownerIdentity: owner, generation } = start;
    const warn = (message: string): void => this.#warnings.add(message);
    this.#member =
      data && new ActorMember({ data, owner, generation, warn, post: (order) => port.post(order) });
    this.#linker = new RemoteLinker({
      kept: start.kept,
      ask: (id, bytes) => port.post({ kind: 'link', id, bytes }, [bytes.buffer]),
      warn: (text) => this.#warnings.add(text),
    });
    const openRealm = realmOpener(start.hardeningFile);
    const open = () => openSandbox(openRealm());
    const sandboxes = new Sandboxes({ open, first, keepsSpare: start.keepsSpare });
    const load = programLoader((bytes) => this.#linker.link(bytes), board, {
      open: sandboxes.take,
      loaded: (source, program) => this.#lanes.programs.keep(source, program),
    });
    this.#loader = (source, context) => {
      // Measured after the log was replayed, and before any call.
      board.keeps?.(ownBytes());
      return load(source, context);
    };
  }

  run(): void {
    tuneEngine();
    const { task } = this.#start;
    if (task.kind === 'serve') this.#database = this.#serve(task.mode);
    else void this.#examine(task.program);
  }

  async receive(message: ToWorker): Promise<void> {
    this.#board.tookMessage();
    await this.take(message);
  }

  /** For messages that do not count as sent by the gateway. */
  async take(message: ToWorker): Promise<void> {
    switch (message.kind) {
      case 'requests': {
        // Before it serves, only a member that follows gets any.
        if (this.#serving === undefined && this.#member !== undefined) {
          this.#readCopy(new RequestReader(message.batch), this.#member.run);
          return;
        }
        const open = await this.#database;
        const requests = new RequestReader(message.batch);
        // Only a program is sent beside a batch, and it is loaded before its turn.
        if (message.batch.blobs.length === 0) open?.submitAll(requests);
        else while (requests.remaining > 0) open?.submit(requests.next());
        return;
      }
      case 'linked':
        this.#linker.settle(message.id, message.outcome);
        return;
      case 'storage':
        (await this.#database)?.setStorage(message.limits);
        this.#tellMemorySoon();
        return;
      case 'env':
        this.#env = message.env;
        return;
      case 'laneEnded':
        this.#lanes.ended(message.lane, message.death);
        return;
      case 'lanesWanted':
        this.#lanes.pool.setWanted(message.isWanted);
        return;
      case 'snapshotGranted':
        this.#snapshots.granted();
        return;
      case 'memberReply':
      case 'look':
      case 'handOver':
      case 'settled':
      case 'renewLead':
      case 'prepareReads':
        this.#member?.take(message);
        return;
      case 'close':
        // A follower has nothing to finish.
        if (this.#serving === undefined) this.#member?.run.stop();
        await (await this.#database)?.close(message.snapshotMillis);
        this.#lines.send();
        this.#port.post({ kind: 'closed' });
        this.#port.close();
        return;
      default:
        unreachable(message);
    }
  }

  async #serve(mode: SeatMode): Promise<Database | undefined> {
    try {
      const options = this.#databaseOptions();
      const open =
        this.#member === undefined
          ? await assembleDatabase(mode, options)
          : await assembleMember(mode, options, this.#member.run);
      this.#serving = open;
      this.#lines.send();
      this.#tellMemory(open);
      const { description, offset, nextDueMicros, start } = open;
      const opening = { description, offset, nextDueMicros, ...start };
      this.#port.post({ kind: 'opened', opening });
      this.#member?.run.served();
      return open;
    } catch (error) {
      const isStopped = error instanceof MemberError && error.isStopped;
      if (!isStopped) this.#end(endOfStart(error));
      return undefined;
    }
  }

  async #examine(program: ProgramSource): Promise<void> {
    const { identity } = this.#start;
    try {
      const described = await examineAside(program, {
        identity,
        loader: this.#loader,
        hash: programHash,
        progress: this.#board,
        clock: this.#clock,
        cron: cronReader,
      });
      this.#port.post({ kind: 'examined', described });
    } catch (error) {
      this.#end(endOfStart(error));
    }
    this.#port.close();
  }

  #databaseOptions(): DatabaseOptions {
    const { identity, ownerIdentity, directory, statementMillisMax } = this.#start;
    const { storage, schedulesPaused, generation } = this.#start;
    return {
      identity,
      ownerIdentity,
      disk: directory === undefined ? this.#memoryDisk : this.#diskAt(directory),
      clock: this.#clock,
      entropy: new MachineEntropy(),
      digest: sha256,
      statementMillisMax,
      storage,
      schedulesPaused,
      env: (program) => envFor(this.#env, program),
      progress: this.#board,
      loader: this.#loader,
      hash: programHash,
      nextTurn: () => {
        // A turn that only continues reads hands nothing over, but must still be visible.
        this.#tellMemorySoon();
        return this.#port.drained?.()?.then(nextTurn) ?? nextTurn();
      },
      freeBytes: freeMemoryBytes,
      makeAlarm: machineAlarms(this.#clock),
      cron: cronReader,
      later,
      lanes: this.#lanes.pool,
      deploys: directory === undefined ? undefined : ownDeploys(directory, generation),
      snapshotDesk: directory === undefined ? undefined : this.#snapshots,
      report: (line) => this.#report(line),
      warn: (text) => this.#warnings.add(text),
      owner: this.#owner(),
    };
  }

  #report(line: ModuleLogLine): void {
    this.#lines.add({ micros: this.#clock.nowMicros(), line: boundedLine(line) });
  }

  /** Returns a disk that reports to the gateway how much of it opening has read. */
  #diskAt(directory: string): MachineDisk {
    const hasRead = (bytes: number): void => {
      if (this.#serving !== undefined) return;
      this.#readBytes += bytes;
      const now = this.#clock.monotonicMillis();
      if (now - this.#readToldAt < memoryMillis) return;
      this.#readToldAt = now;
      this.#port.post({ kind: 'read', bytes: this.#readBytes });
    };
    return new MachineDisk(directory, { writer: this.#start.writer, hasRead });
  }

  #owner(): DatabaseOwner {
    return {
      handOver: (turn) => this.#handOver(turn),
      durable: (write, offset) => {
        this.#port.post({ kind: 'durable', write, offset });
        this.#tellMemorySoon();
      },
      stopped: (reason) => {
        this.#member?.run.stop();
        this.#end(endOfService(reason));
      },
    };
  }

  #handOver(turn: TurnReport): void {
    this.#lines.send();
    const batch = encodeTurn(turn);
    this.#port.post({ kind: 'turn', batch }, buffersOf(batch));
    this.#tellMemorySoon();
    const over = this.#heap.over();
    if (over === undefined) return;
    const { heapBytesMax, bufferBytesMax } = this.#start;
    const bytesMax = over === 'heap' ? heapBytesMax : bufferBytesMax;
    const message = `The module kept more than ${bytesMax / (1024 * 1024)} MiB of ${over}.`;
    this.#end({ cause: 'died', message, running: undefined });
    this.#port.exit();
  }

  #readCopy(requests: RequestReader, member: ActorMember['run']): void {
    const now = this.#clock.monotonicMillis();
    if (now - this.#memoryToldAt >= memoryMillis) {
      this.#memoryToldAt = now;
      this.#board.holds(member.heldBytes ?? 0);
      this.#board.keeps?.(ownBytes());
    }
    member.read(requests);
  }

  #heldBytes(): number {
    const tableBytes = this.#tableBytes();
    if (tableBytes === undefined) return Number.POSITIVE_INFINITY;
    const waitingBytes = this.#port.waitingBytes?.() ?? 0;
    return tableBytes + this.#memoryDisk.allocatedBytes + waitingBytes;
  }

  #tableBytes(): number | undefined {
    if (this.#serving === undefined) return this.#member?.run.heldBytes;
    const { rowBytes, indexBytes } = this.#serving.memory();
    return rowBytes + indexBytes;
  }

  /** Reports sizes now or a little later, so that the last change is sent if nothing follows. */
  #tellMemorySoon(): void {
    const open = this.#serving;
    if (this.#isMemoryDue || open === undefined) return;
    const wait = this.#memoryToldAt + memoryMillis - this.#clock.monotonicMillis();
    if (wait <= 0) {
      this.#tellMemory(open);
      return;
    }
    this.#isMemoryDue = true;
    setTimeout(() => {
      this.#isMemoryDue = false;
      this.#tellMemory(open);
    }, wait).unref();
  }

  #tellMemory(open: Database): void {
    this.#memoryToldAt = this.#clock.monotonicMillis();
    const memory = open.memory();
    this.#board.holds(memory.rowBytes + memory.indexBytes);
    this.#board.keeps?.(ownBytes());
    const used = open.storageUse();
    const counters = {
      live: { ...open.liveFigures },
      schedules: open.scheduleFigures,
      snapshots: open.snapshotFigures,
    };
    const times = open.times();
    this.#port.post({ kind: 'memory', memory: { ...memory, used, times, ...counters } });
  }

  /** Sends the last message; the gateway then releases the thread or process. */
  #end(end: PlainEnd): void {
    this.#lines.send();
    const message = cutText(end.message, limits.programErrorCharactersMax);
    this.#port.post({ kind: 'ended', end: { ...end, message } });
    this.#port.close();
  }
}
