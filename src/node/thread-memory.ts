import type { Session } from 'node:inspector';
import v8 from 'node:v8';
import type { Worker } from 'node:worker_threads';

/**
 * Asks one thread of this process how much memory it holds in its own isolate: the objects of its
 * heap, the buffers beside it, and what the engine took for its own work. The thread answers within
 * milliseconds, even from the middle of a busy loop, because the engine interrupts it. It does not
 * answer from inside a built-in function or a full collection.
 *
 * Node has `worker.getHeapStatistics()` for that since 22.16. Before that the same question goes
 * through the inspector of this process. Nothing is listened on, nothing is enabled in the thread
 * but a session, and it was found to cost the thread nothing afterwards; attaching takes the asking
 * thread up to half a millisecond for each thread of the process, so the session stays for a while.
 */
export function askThread(thread: Worker, answer: (bytes: number) => void): void {
  if (!hasStatistics(thread)) {
    inspected.ask(thread.threadId, answer);
    return;
  }
  thread.getHeapStatistics().then(
    (statistics) => answer(bytesOf(statistics)),
    // The thread has ended.
    () => undefined,
  );
}

/**
 * Ends a thread, wherever it is. If the thread is answering an inspector question at that moment,
 * the order to end is lost and the program goes on; so the order is repeated until the thread is
 * gone.
 */
export function endThread(thread: Worker): void {
  thread.setMaxListeners(0);
  void thread.terminate();
  const again = setInterval(() => {
    // Its number is -1 once it has ended.
    if (thread.threadId < 0) clearInterval(again);
    else void thread.terminate();
  }, endAgainMillis).unref();
}

const endAgainMillis = 50;

/** Memory that the calling thread holds itself, by the same count. */
export function ownBytes(): number {
  return bytesOf(v8.getHeapStatistics());
}

/** Lets `askThread` find `ownBytes` through the inspector. Programs in realms do not see it. */
export function answerInspector(): void {
  Object.defineProperty(globalThis, answerKey, { value: ownBytes });
}

const answerKey = Symbol.for('reducerdb.ownBytes');
const question = "globalThis[Symbol.for('reducerdb.ownBytes')]?.()";

type Statistics = Pick<v8.HeapInfo, 'used_heap_size' | 'external_memory' | 'malloced_memory'>;

function bytesOf({ used_heap_size, external_memory, malloced_memory }: Statistics): number {
  return used_heap_size + external_memory + malloced_memory;
}

interface Measurable extends Worker {
  getHeapStatistics(): Promise<Statistics>;
}

function hasStatistics(thread: Worker): thread is Measurable {
  return 'getHeapStatistics' in thread;
}

/** How long the session stays after the last question, in milliseconds. */
const attachedMillis = 5_000;

/** An inspector session with the threads of this process. */
class InspectedThreads {
  #session: Session | undefined;
  #leave: NodeJS.Timeout | undefined;
  /** Sessions with threads, by the number of the thread. */
  readonly #sessionIds = new Map<number, string>();
  readonly #answers = new Map<number, (bytes: number) => void>();
  #lastId = 0;

  ask(threadId: number, answer: (bytes: number) => void): void {
    this.#attach();
    const sessionId = this.#sessionIds.get(threadId);
    const session = this.#session;
    if (sessionId === undefined || session === undefined) return;
    const id = ++this.#lastId;
    this.#answers.set(id, answer);
    const params = { expression: question, returnByValue: true, silent: true };
    const message = JSON.stringify({ id, method: 'Runtime.evaluate', params });
    session.post('NodeWorker.sendMessageToWorker', { sessionId, message }, (error) => {
      if (error !== null) this.#answers.delete(id);
    });
  }

  #attach(): void {
    clearTimeout(this.#leave);
    this.#leave = setTimeout(() => this.#detach(), attachedMillis).unref();
    if (this.#session !== undefined) return;
    const session = openSession();
    if (session === undefined) return;
    session.on('NodeWorker.attachedToWorker', ({ params: { sessionId, workerInfo } }) => {
      const threadId = /^\[worker (\d+)\]/.exec(workerInfo.title)?.[1];
      if (threadId !== undefined) this.#sessionIds.set(Number(threadId), sessionId);
    });
    session.on('NodeWorker.detachedFromWorker', ({ params: { sessionId } }) => {
      for (const [threadId, own] of this.#sessionIds) {
        if (own === sessionId) this.#sessionIds.delete(threadId);
      }
    });
    session.on('NodeWorker.receivedMessageFromWorker', ({ params }) => {
      this.#receive(params.message);
    });
    this.#session = session;
    session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
  }

  #receive(text: string): void {
    const { id, result } = JSON.parse(text) as { id?: number; result?: Evaluated };
    if (id === undefined) return;
    const answer = this.#answers.get(id);
    this.#answers.delete(id);
    const bytes = result?.result?.value;
    if (typeof bytes === 'number') answer?.(bytes);
  }

  #detach(): void {
    this.#session?.post('NodeWorker.disable');
    this.#session?.disconnect();
    this.#session = undefined;
    this.#sessionIds.clear();
    this.#answers.clear();
  }
}

/** Missing in some builds of Node, and where the process was denied it. */
function openSession(): Session | undefined {
  try {
    const inspector = process.getBuiltinModule('node:inspector');
    const session = new inspector.Session();
    session.connect();
    return session;
  } catch {
    return undefined;
  }
}

interface Evaluated {
  readonly result?: { readonly value?: unknown };
}

const inspected = new InspectedThreads();
