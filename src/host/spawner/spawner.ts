import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { unreachable } from '../../assert.ts';
import { setNiceness } from '../../node/child-priority.ts';
import { endingWithParent, systemCommand } from '../../node/command-wrappers.ts';
import type { Child, ChildExit } from './child-starter.ts';
import type { ChildOrder } from './spawn-child.ts';
import type { FromSpawner, ToSpawner } from './spawner-messages.ts';

/** The spawner is gone, or does not answer; another one can do the requested work. */
export class SpawnerEnded extends Error {}

/** The system keeps the spawner from opening the gateway's descriptors. */
export class BoardRefused extends Error {}

interface Pending {
  resolve(child: SpawnedChild | undefined): void;
  reject(error: Error): void;
  readonly timer: NodeJS.Timeout;
}

/**
 * One spawner (`spawner-main.ts`), from the gateway's side. A request that is not answered in time
 * ends it, and with it the processes that it has started: the system ends them, and this side does
 * where the system does not.
 */
export class Spawner {
  readonly #process: ChildProcess;
  readonly #answerMillisMax: number;
  readonly #pending = new Map<number, Pending>();
  readonly #children = new Map<number, SpawnedChild>();
  readonly #whenEnded: (() => void)[] = [];
  #lastId = 0;
  /** Why it ended. */
  #end: Error | undefined;

  /** `entry`: the built `spawner-main`. */
  constructor(entry: string, answerMillisMax: number) {
    const spawner = startSpawner(entry);
    // It takes after this process otherwise, and the processes of databases after it.
    if (spawner.pid !== undefined) setNiceness(spawner.pid, 0);
    this.#process = spawner;
    this.#answerMillisMax = answerMillisMax;
    spawner.on('error', (error) => {
      // Without a process no other event follows.
      if (spawner.pid === undefined) this.#ended(error);
    });
    spawner.on('exit', (code, signal) => {
      const how = signal ?? `exit code ${code}`;
      this.#ended(new SpawnerEnded(`the process that starts it ended (${how})`));
    });
    spawner.on('disconnect', () => spawner.kill('SIGKILL'));
    spawner.on('message', (message, channel) => {
      this.#receive(message as FromSpawner, channel as Socket | undefined);
    });
    this.#hold();
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  /** `board`: a path by which the spawner can open that descriptor. */
  async start(order: ChildOrder, board: string): Promise<Child> {
    const id = this.#nextId();
    const child = await this.#ask({ kind: 'start', id, order, board });
    if (child?.isWhole === true) return child;
    child?.destroy();
    this.#kill(id);
    const message = 'EMFILE: too many open files, its channel';
    throw Object.assign(new Error(message), { code: 'EMFILE' });
  }

  async run(command: string, words: readonly string[]): Promise<void> {
    await this.#ask({ kind: 'run', id: this.#nextId(), command, words });
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      if (this.hasEnded) {
        resolve();
        return;
      }
      this.#whenEnded.push(resolve);
      this.#hold();
      this.#process.kill('SIGKILL');
    });
  }

  #kill(child: number): void {
    // If the spawner is gone, so are its children.
    this.#ask({ kind: 'kill', id: this.#nextId(), child }).catch(() => undefined);
  }

  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  #ask(request: ToSpawner): Promise<SpawnedChild | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#end !== undefined) {
        reject(this.#end);
        return;
      }
      // An answer may have arrived while this process was busy and could not read it.
      const overdue = () => setImmediate(() => this.#expectAnswered(request.id));
      const timer = setTimeout(overdue, this.#answerMillisMax);
      this.#pending.set(request.id, { resolve, reject, timer });
      this.#hold();
      // If it cannot be sent, the end of the spawner follows.
      this.#process.send?.(request, () => undefined);
    });
  }

  #expectAnswered(id: number): void {
    if (this.#pending.has(id)) this.#process.kill('SIGKILL');
  }

  #receive(message: FromSpawner, channel: Socket | undefined): void {
    const { id } = message;
    switch (message.kind) {
      case 'started': {
        if (this.hasEnded) channel?.destroy();
        else this.#children.set(id, new SpawnedChild(message.pid, channel, () => this.#kill(id)));
        return;
      }
      case 'lanes': {
        const child = this.#children.get(id);
        if (child === undefined) channel?.destroy();
        else child.join(channel);
        return;
      }
      case 'handed':
        this.#take(id)?.resolve(this.#children.get(id));
        return;
      case 'done':
        this.#take(id)?.resolve(undefined);
        return;
      case 'fault': {
        const error = message.isBoardRefused ? new BoardRefused(message.message) : faultOf(message);
        this.#take(id)?.reject(error);
        return;
      }
      case 'ended':
        this.#children.get(id)?.left({ code: message.code, signal: message.signal });
        this.#children.delete(id);
        this.#hold();
        return;
      default:
        unreachable(message);
    }
  }

  /** A spawner with no request outstanding does not keep this process alive. */
  #hold(): void {
    const spawner = this.#process;
    const awaited = this.#pending.size + this.#children.size + this.#whenEnded.length;
    for (const one of [spawner, spawner.channel]) {
      if (awaited > 0) one?.ref();
      else one?.unref();
    }
  }

  #take(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    clearTimeout(pending?.timer);
    this.#hold();
    return pending;
  }

  #ended(end: Error): void {
    if (this.hasEnded) return;
    this.#end = end;
    for (const child of this.#children.values()) child.orphaned();
    for (const id of [...this.#pending.keys()]) {
      // No one received it, so no one reads it to its end.
      this.#children.get(id)?.destroy();
      this.#take(id)?.reject(end);
    }
    this.#children.clear();
    for (const resolve of this.#whenEnded) resolve();
  }
}

/** A process that the spawner has started, from the gateway's side. */
class SpawnedChild implements Child {
  readonly pid: number;
  readonly channel: Duplex | undefined;
  readonly ended: Promise<ChildExit>;
  readonly kill: () => void;
  #lanes: Duplex | undefined;
  #isWhole = false;
  #resolve: (exit: ChildExit) => void = () => undefined;
  #exit: ChildExit | undefined;
  /** Its channels that are open. */
  #open = 0;

  constructor(pid: number, channel: Duplex | undefined, kill: () => void) {
    this.pid = pid;
    this.channel = channel;
    this.kill = kill;
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#follow(channel);
  }

  get lanes(): Duplex | undefined {
    return this.#lanes;
  }

  /** True once both channels have arrived, or the process had ended before. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** The channel of its lanes arrives. */
  join(lanes: Duplex | undefined): void {
    this.#isWhole = true;
    this.#lanes = lanes;
    this.#follow(lanes);
  }

  destroy(): void {
    this.channel?.destroy();
    this.#lanes?.destroy();
  }

  #follow(channel: Duplex | undefined): void {
    if (channel === undefined) return;
    this.#open += 1;
    channel.on('error', () => undefined);
    channel.on('close', () => {
      this.#open -= 1;
      this.#look();
    });
  }

  /** The spawner reports its exit. */
  left(exit: ChildExit): void {
    this.#exit = exit;
    this.#look();
  }

  /** Notes that the spawner is gone; the system ends this process with it, if it can. */
  orphaned(): void {
    // While the other end of a channel is open, no other process has this number.
    if (this.#open > 0) killOrphan(this.pid);
    this.left({ code: null, signal: 'SIGKILL' });
  }

  #look(): void {
    if (this.#exit !== undefined && this.#open === 0) this.#resolve(this.#exit);
  }
}

function killOrphan(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The system ended it first.
  }
}

/** Mebibytes of JavaScript heap; the spawner holds a few messages. */
const heapMebibytes = 32;

function startSpawner(entry: string): ChildProcess {
  const limiter = systemCommand('prlimit');
  const [command = '', ...words] = [
    ...endingWithParent(),
    ...(limiter === undefined ? [] : [limiter, '--core=0']),
    process.execPath,
    `--max-old-space-size=${heapMebibytes}`,
    '--no-warnings',
    entry,
  ];
  return spawn(command, words, {
    cwd: '/',
    env: {},
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
  });
}

function faultOf({ code, message }: FromSpawner & { readonly kind: 'fault' }): Error {
  return Object.assign(new Error(message), { code });
}
