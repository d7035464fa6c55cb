import { once } from 'node:events';
import { WebSocket } from 'ws';
import { present } from '../../../src/assert.ts';

/** What a thread has after everything that nobody refers to was freed. */
export interface ThreadMemory {
  readonly rssBytes: number;
  /** The heap and what its objects hold outside of it. */
  readonly heldBytes: number;
  /** Array buffers, which are a part of that. */
  readonly bufferBytes: number;
}

/** How many objects of each class there are, and how many entries and listeners they have. */
export type Census = Readonly<Record<string, number>>;

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

/** One thread of a process that is inspected. */
export class Thread {
  readonly #post: (message: string) => void;
  readonly #answers = new Map<number, (message: Message) => void>();
  #last = 0;

  constructor(post: (message: string) => void) {
    this.#post = post;
  }

  received(message: Message): void {
    if (message.id === undefined) return;
    this.#answers.get(message.id)?.(message);
    this.#answers.delete(message.id);
  }

  async ask(method: string, params: object = {}): Promise<Readonly<Record<string, unknown>>> {
    const id = ++this.#last;
    const answer = await new Promise<Message>((resolve) => {
      this.#answers.set(id, resolve);
      this.#post(JSON.stringify({ id, method, params }));
    });
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`);
    return answer.result ?? {};
  }

  /** The value of an expression, which must have a form in JSON. */
  async evaluate<Result>(expression: string): Promise<Result> {
    const { result } = await this.ask('Runtime.evaluate', { expression, returnByValue: true });
    return (result as { value: Result }).value;
  }

  async memory(): Promise<ThreadMemory> {
    for (let round = 0; round < 3; round += 1) await this.ask('HeapProfiler.collectGarbage');
    return this.#memory('({ ...process.memoryUsage() })');
  }

  /**
   * After collections as the engine itself makes them. Those of `memory` also throw away compiled
   * code, so that a thread that goes on working is slow for a while.
   */
  async workingMemory(): Promise<ThreadMemory> {
    return this.#memory(`(${collectTwice})(), ({ ...process.memoryUsage() })`);
  }

  async #memory(expression: string): Promise<ThreadMemory> {
    const { rss, heapUsed, external, arrayBuffers } =
      await this.evaluate<NodeJS.MemoryUsage>(expression);
    return { rssBytes: rss, heldBytes: heapUsed + external, bufferBytes: arrayBuffers };
  }

  /** Counts every object that there is. Takes a second or so, during which the thread waits. */
  async census(): Promise<Census> {
    const objectGroup = 'census';
    const prototype = await this.ask('Runtime.evaluate', {
      expression: 'Object.prototype',
      objectGroup,
    });
    const { objectId } = prototype.result as { objectId: string };
    const found = await this.ask('Runtime.queryObjects', {
      prototypeObjectId: objectId,
      objectGroup,
    });
    const counted = await this.ask('Runtime.callFunctionOn', {
      objectId: (found.objects as { objectId: string }).objectId,
      functionDeclaration: String(countObjects),
      returnByValue: true,
    });
    await this.ask('Runtime.releaseObjectGroup', { objectGroup });
    if (counted.exceptionDetails !== undefined) throw new Error(JSON.stringify(counted));
    return (counted.result as { value: Census }).value;
  }
}

/** Runs in the inspected thread. What the first one has found dead is freed when the second begins. */
function collectTwice(): void {
  const v8 = process.getBuiltinModule('node:v8');
  v8.setFlagsFromString('--expose-gc');
  const collect = process.getBuiltinModule('node:vm').runInNewContext('gc');
  v8.setFlagsFromString('--no-expose-gc');
  collect();
  collect();
}

/** Runs in the inspected thread, on the list of all its objects. */
function countObjects(this: readonly object[]): Record<string, number> {
  const counts = new Map<string, number>();
  const add = (name: string, count: number) => counts.set(name, (counts.get(name) ?? 0) + count);
  for (const one of this) {
    const prototype = Object.getPrototypeOf(one) ?? {};
    const maker = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value;
    const name = typeof maker === 'function' ? maker.name : '';
    add(name, 1);
    try {
      const isCollection = prototype === Map.prototype || prototype === Set.prototype;
      if (isCollection) add(`${name} entries`, (one as Set<unknown>).size);
    } catch {
      // It only looks like one.
    }
    const events = Object.getOwnPropertyDescriptor(one, '_events')?.value;
    if (typeof events !== 'object' || events === null) continue;
    for (const listeners of Object.values(events)) {
      add('listeners', Array.isArray(listeners) ? listeners.length : listeners ? 1 : 0);
    }
  }
  return Object.fromEntries(counts);
}

/** A process that was started with `--inspect`, and its worker threads. */
export class Inspector {
  readonly main: Thread;
  readonly #workers = new Map<string, Thread>();
  /** Threads that come and go with their work; they cannot be asked while they end. */
  readonly #passing = new Set<string>();
  readonly #socket: WebSocket;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    this.main = new Thread((message) => socket.send(message));
    socket.on('message', (data) => this.#received(JSON.parse(String(data))));
  }

  /** `output` is what the process has printed. */
  static async open(output: string): Promise<Inspector> {
    const [address] = /ws:\/\/\S+/.exec(output) ?? [];
    if (address === undefined) throw new Error(`no inspector listens:\n${output}`);
    const socket = new WebSocket(address);
    await once(socket, 'open');
    const inspector = new Inspector(socket);
    await inspector.main.ask('NodeWorker.enable', { waitForDebuggerOnStart: false });
    return inspector;
  }

  get workers(): readonly Thread[] {
    return [...this.#workers.values()];
  }

  /** Resolves when no thread is there that comes and goes: the ports to it count, too. */
  async untilPassed(): Promise<void> {
    while (this.#passing.size > 0) await new Promise((resolve) => setTimeout(resolve, 100));
  }

  close(): void {
    this.#socket.close();
  }

  #received(message: Message): void {
    const { method, params } = message;
    const sessionId = String(params?.sessionId);
    if (method === 'NodeWorker.attachedToWorker') {
      const { url } = present(params, 'what an event says').workerInfo as { url: string };
      if (url.includes('snapshot-main')) {
        this.#passing.add(sessionId);
        return;
      }
      const post = (text: string) => {
        void this.main.ask('NodeWorker.sendMessageToWorker', { sessionId, message: text });
      };
      this.#workers.set(sessionId, new Thread(post));
    } else if (method === 'NodeWorker.detachedFromWorker') {
      this.#workers.delete(sessionId);
      this.#passing.delete(sessionId);
    } else if (method === 'NodeWorker.receivedMessageFromWorker') {
      this.#workers.get(sessionId)?.received(JSON.parse(String(params?.message)));
    } else {
      this.main.received(message);
    }
  }
}
