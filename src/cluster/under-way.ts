import { limits } from '../limits.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { ForwardRequest } from './link-client.ts';
import type { Send } from './routing.ts';

interface Way {
  readonly address: string;
  readonly database: DatabaseIdentity;
}

interface Passage extends Way {
  readonly stop: AbortController;
}

/**
 * Requests and connections that are with another host. One that has lost the database may be
 * paused, or cut off, and then never answers: they are ended, a moment after another host leads.
 */
export class UnderWay {
  readonly #passages = new Map<DatabaseIdentity, Set<Passage>>();

  /** Sends a request, whose answer, or connection, is ended when another host leads. */
  async run<Answer>(
    { address, database }: Way,
    request: ForwardRequest,
    send: Send<Answer>,
  ): ReturnType<Send<Answer>> {
    const passage = { address, database, stop: new AbortController() };
    const passages = this.#passages.get(database) ?? new Set();
    passages.add(passage);
    this.#passages.set(database, passages);
    const { stop } = passage;
    const leave = (): void => stop.abort();
    const end = (): void => {
      request.signal.removeEventListener('abort', leave);
      passages.delete(passage);
      const isLast = passages.size === 0 && this.#passages.get(database) === passages;
      if (isLast) this.#passages.delete(database);
    };
    try {
      if (request.signal.aborted) leave();
      request.signal.addEventListener('abort', leave, { once: true });
      const answer = await send(address, { ...request, signal: stop.signal });
      untilOver(answer, stop.signal, end);
      return answer;
    } catch (error) {
      end();
      throw error;
    }
  }

  /** Another host leads the database; `undefined`: this one. */
  leads(database: DatabaseIdentity, address: string | undefined): void {
    const late = [...(this.#passages.get(database) ?? [])].filter((one) => one.address !== address);
    if (late.length === 0) return;
    const end = (): void => {
      for (const { stop } of late) stop.abort();
    };
    // One that still runs says itself what became of its requests.
    setTimeout(end, limits.forwardGraceMillis).unref();
  }
}

/** Calls `end` when the answer has been read, or the connection has ended. */
function untilOver(answer: unknown, stop: AbortSignal, end: () => void): void {
  const { stream, answer: message } = answer as {
    readonly stream?: NodeJS.ReadableStream & { destroy(): void };
    readonly answer?: NodeJS.ReadableStream & { destroy(): void };
  };
  const open = stream ?? message;
  if (open === undefined) {
    end();
    return;
  }
  const destroy = (): void => void open.destroy();
  stop.addEventListener('abort', destroy, { once: true });
  open.once('close', () => {
    stop.removeEventListener('abort', destroy);
    end();
  });
}
