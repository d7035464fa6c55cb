import type { Directory, HostRow, PlaceHint } from '../shared-log/directory.ts';
import type { HostId } from '../shared-log/host-ids.ts';
import type { LogName } from '../shared-log/log-name.ts';
import {
  type AppendItem,
  type ConfirmItem,
  EngineError,
  type SharedLog,
  type StopSignal,
} from '../shared-log/shared-log.ts';
import type { SnapshotStore } from '../shared-log/snapshot-store.ts';
import {
  type EngineAnswers,
  type EngineRequest,
  type FromEngine,
  type MessageEnd,
  movable,
  type ToEngine,
} from './engine-messages.ts';

/** Settles one request. */
interface Asked {
  answer(value: EngineAnswers[keyof EngineAnswers]): void;
  fail(error: EngineError): void;
}

/**
 * An engine behind a message channel: a shared log and a directory like any other. The channel can
 * be lost and replaced; what was asked over the lost one is then unknown.
 */
export class EnginePort implements SharedLog, Directory {
  readonly #onHistory: (history: string) => void;
  readonly #asked = new Map<number, Asked>();
  #end: MessageEnd | undefined;
  #lastId = 0;

  constructor(onHistory: (history: string) => void = () => undefined) {
    this.#onHistory = onHistory;
  }

  attach(end: MessageEnd): void {
    this.detach();
    this.#end = end;
    end.on('message', (message) => {
      if (this.#end === end) this.#receive(message as FromEngine);
    });
  }

  /** Fails what was asked, and what is asked until there is another channel. */
  detach(): void {
    this.#end = undefined;
    const asked = [...this.#asked.values()];
    this.#asked.clear();
    for (const one of asked) one.fail(goneError());
  }

  async append(items: readonly AppendItem[]) {
    const moved: ArrayBuffer[] = [];
    const copies = items.map(({ log, seq, bytes, after }) => {
      const copy = movable(bytes);
      moved.push(copy.buffer);
      // A header is a view of an entry: without a copy the entry would travel with it.
      return { log, seq, bytes: copy, ...(after !== undefined && { after: movable(after) }) };
    });
    try {
      return await this.#ask({ kind: 'append', items: copies }, moved);
    } catch {
      return items.map(() => 'unknown' as const);
    }
  }

  read(log: LogName, from: number, bytesMax: number, countMax?: number) {
    return this.#ask({ kind: 'read', log, from, bytesMax, countMax });
  }

  async wait(log: LogName, from: number, signal: StopSignal): Promise<void> {
    if (signal.aborted) return;
    const heard = this.#ask({ kind: 'wait', log, from });
    const id = this.#lastId;
    const stop = (): void => this.#post({ kind: 'stop', id });
    signal.addEventListener('abort', stop);
    try {
      await heard;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  async confirm(items: readonly ConfirmItem[]) {
    try {
      return await this.#ask({ kind: 'confirm', items });
    } catch {
      return items.map(() => 'unknown' as const);
    }
  }

  truncate(log: LogName, before: number): Promise<void> {
    return this.#ask({ kind: 'truncate', log, before });
  }

  async create(log: LogName, bytes: Uint8Array) {
    try {
      return await this.#ask({ kind: 'create', log, bytes: movable(bytes) });
    } catch {
      return 'unknown' as const;
    }
  }

  remove(log: LogName): Promise<void> {
    return this.#ask({ kind: 'remove', log });
  }

  capabilities() {
    return this.#ask({ kind: 'capabilities' });
  }

  beat(me: HostRow) {
    return this.#ask({ kind: 'beat', me });
  }

  hint(rows: readonly PlaceHint[]): Promise<void> {
    return this.#ask({ kind: 'hint', rows });
  }

  hints() {
    return this.#ask({ kind: 'hints' });
  }

  secretBox(name: string, put?: Uint8Array) {
    return this.#ask({ kind: 'secretBox', name, put: put === undefined ? put : movable(put) });
  }

  forget(host: HostId): Promise<void> {
    return this.#ask({ kind: 'forget', host });
  }

  /** Snapshots in the engine itself. */
  get parts(): SnapshotStore {
    return {
      place: 'the engine',
      putIfAbsent: (name, bytes) => {
        const copy = movable(bytes);
        return this.#ask({ kind: 'putPart', name, bytes: copy }, [copy.buffer]);
      },
      get: (name) => this.#ask({ kind: 'getPart', name }),
      list: (prefix) => this.#ask({ kind: 'listParts', prefix }),
      remove: (name) => this.#ask({ kind: 'removePart', name }),
    };
  }

  /** How far a clock of this host is ahead of the engine's, give or take half a round trip. */
  async skewMillis(wallClock: () => number): Promise<number> {
    const begun = wallClock();
    const there = await this.#ask({ kind: 'time' });
    return (begun + wallClock()) / 2 - there;
  }

  /** Why the engine takes no commits, as far as it says. */
  trouble(): Promise<string | undefined> {
    return this.#ask({ kind: 'trouble' });
  }

  #ask<Kind extends EngineRequest['kind']>(
    request: Extract<EngineRequest, { kind: Kind }>,
    moved: readonly ArrayBuffer[] = [],
  ): Promise<EngineAnswers[Kind]> {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      if (this.#end === undefined) return reject(goneError());
      // The thread answers each request with what its kind has.
      const answer = (value: EngineAnswers[keyof EngineAnswers]) =>
        resolve(value as EngineAnswers[Kind]);
      this.#asked.set(id, { answer, fail: reject });
      this.#post({ kind: 'ask', id, request }, moved);
    });
  }

  #post(message: ToEngine, moved: readonly ArrayBuffer[] = []): void {
    this.#end?.postMessage(message, moved);
  }

  #receive(message: FromEngine): void {
    if (message.kind === 'history') {
      this.#onHistory(message.history);
      return;
    }
    const asked = this.#asked.get(message.id);
    this.#asked.delete(message.id);
    if (message.kind === 'answer') asked?.answer(message.value);
    else asked?.fail(new EngineError(message.message));
  }
}

function goneError(): EngineError {
  return new EngineError('The thread that talks to the engine has ended; another one is started.');
}
