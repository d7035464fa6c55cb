import { setTimeout as wait } from 'node:timers/promises';
import type { MigrationProgress } from '../database/trial-report.ts';
import type { UpdateWatch } from '../host/supervision/database-handle.ts';
import type { Exchange, Reply } from './exchange.ts';
import { replyOfError } from './refusal-status.ts';

/** Whether the client wants to follow a publish: `accept: application/x-ndjson`. */
export function wantsEvents(exchange: Exchange): boolean {
  const types = (exchange.header('accept') ?? '').split(',');
  return types.some((type) => type.split(';')[0]?.trim().toLowerCase() === eventsType);
}

const eventsType = 'application/x-ndjson';

/** How a publish is followed. */
export interface FollowedPublish {
  /** What is said before it begins: JSON. */
  readonly plan: () => Promise<object>;
  /** Publishes; gives the body of the answer that others get. */
  readonly publish: (watch: UpdateWatch) => Promise<object>;
  readonly onError: (error: unknown) => void;
}

/**
 * Answers a publish with a line of JSON for each thing that happens: `plan`, `progress`, and at the
 * end `done` or `error`. A client that leaves before the swap abandons it.
 */
export function publishEvents(exchange: Exchange, followed: FollowedPublish): Reply {
  const ended = new AbortController();
  const lines = new EventLines(followed, AbortSignal.any([exchange.abandoned, ended.signal]));
  exchange.inHandUntil(lines.whenOver);
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const line = await lines.next();
      if (line === undefined) controller.close();
      else controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`));
    },
    cancel: () => ended.abort(),
  });
  const headers = {
    'content-type': eventsType,
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
    // A proxy that buffers responses would hold this one back until its end.
    'x-accel-buffering': 'no',
  };
  return { status: 200, headers, body };
}

/** The lines of one publish: of progress there is never more than the newest. */
class EventLines {
  readonly whenOver: Promise<void>;
  #plan: object | undefined;
  #progress: MigrationProgress | undefined;
  #end: object | undefined;
  #isRead = false;
  #wake = () => {};
  #shownAt = Number.NEGATIVE_INFINITY;
  readonly #startedAt = performance.now();

  constructor(followed: FollowedPublish, signal: AbortSignal) {
    this.whenOver = this.#run(followed, signal);
  }

  /** The next line; `undefined` after the last. */
  async next(): Promise<object | undefined> {
    for (;;) {
      if (this.#plan !== undefined) {
        const plan = this.#plan;
        this.#plan = undefined;
        return { event: 'plan', ...plan };
      }
      if (this.#end !== undefined) {
        if (this.#isRead) return undefined;
        this.#isRead = true;
        return this.#end;
      }
      const pause = this.#shownAt + progressMillis - performance.now();
      if (this.#progress !== undefined && pause <= 0) return this.#progressLine(this.#progress);
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      if (this.#progress === undefined) await woken;
      else await Promise.race([woken, wait(pause)]);
    }
  }

  async #run({ plan, publish, onError }: FollowedPublish, signal: AbortSignal): Promise<void> {
    try {
      this.#plan = await plan();
      this.#wake();
      const onProgress = (progress: MigrationProgress) => {
        this.#progress = progress;
        this.#wake();
      };
      this.#end = { event: 'done', ...(await publish({ signal, onProgress })) };
    } catch (error) {
      const reply = replyOfError(error);
      if (reply === undefined) onError(error);
      const { status, body } = reply ?? { status: 500, body: 'internal error' };
      this.#end = { event: 'error', status, message: String(body) };
    }
    this.#wake();
  }

  #progressLine({ table, done, total }: MigrationProgress): object {
    const now = performance.now();
    this.#progress = undefined;
    this.#shownAt = now;
    const rate = done / Math.max((now - this.#startedAt) / 1000, 0.001);
    const left = rate === 0 ? null : Math.ceil((total - done) / rate);
    return {
      ...{ event: 'progress', table, done, total },
      rows_per_second: Math.round(rate),
      seconds_left: left,
    };
  }
}

/** Time between two lines of progress. */
const progressMillis = 200;
