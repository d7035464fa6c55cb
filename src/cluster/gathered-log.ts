import { limits } from '../limits.ts';
import type { LogName } from '../shared-log/log-name.ts';
import type {
  AppendItem,
  AppendResult,
  ConfirmItem,
  ConfirmResult,
  SharedLog,
  StopSignal,
} from '../shared-log/shared-log.ts';

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly answer: (result: Result) => void;
}

export interface GatherOptions {
  /** How long an append waits for others; 0: for those of the same moment. */
  readonly gatherMillis?: number;
  /** True: nothing is won by sending several as one, and each has its answer as it comes. */
  readonly isOneByOne?: boolean;
}

type WaitingAppend = Waiting<AppendItem, AppendResult>;

/**
 * A shared log that sends what waits for different databases at one moment as one append. A log has
 * one append in flight; the others of it wait. Confirmations of all databases share one statement,
 * at most each 2 ms; it begins after all of them were asked for.
 */
export class GatheredLog implements SharedLog {
  readonly #inner: SharedLog;
  readonly #gatherMillis: number;
  readonly #itemsMax: number;
  readonly #inFlightMax: number;
  readonly #appends: WaitingAppend[] = [];
  readonly #busy = new Set<LogName>();
  #appendsInFlight = 0;
  #isAppendDue = false;
  readonly #confirms: Waiting<ConfirmItem, ConfirmResult>[] = [];
  #isConfirmDue = false;

  constructor(inner: SharedLog, { gatherMillis = 0, isOneByOne = false }: GatherOptions = {}) {
    this.#inner = inner;
    this.#gatherMillis = gatherMillis;
    this.#itemsMax = isOneByOne ? 1 : limits.appendItemsMax;
    this.#inFlightMax = isOneByOne ? limits.appendItemsMax : limits.gatheredAppendsMax;
  }

  append(items: readonly AppendItem[]): Promise<readonly AppendResult[]> {
    return Promise.all(
      items.map(
        (item) =>
          new Promise<AppendResult>((answer) => {
            if (this.#appends.length >= limits.engineWaitersMax) return answer('unknown');
            this.#appends.push({ item, answer });
            this.#appendSoon();
          }),
      ),
    );
  }

  confirm(items: readonly ConfirmItem[]): Promise<readonly ConfirmResult[]> {
    return Promise.all(
      items.map(
        (item) =>
          new Promise<ConfirmResult>((answer) => {
            if (this.#confirms.length >= limits.engineWaitersMax) return answer('unknown');
            this.#confirms.push({ item, answer });
            this.#confirmSoon();
          }),
      ),
    );
  }

  read(log: LogName, from: number, bytesMax: number, countMax?: number) {
    return this.#inner.read(log, from, bytesMax, countMax);
  }

  wait(log: LogName, from: number, signal: StopSignal): Promise<void> {
    return this.#inner.wait(log, from, signal);
  }

  truncate(log: LogName, before: number): Promise<void> {
    return this.#inner.truncate(log, before);
  }

  create(log: LogName, bytes: Uint8Array) {
    return this.#inner.create(log, bytes);
  }

  remove(log: LogName): Promise<void> {
    return this.#inner.remove(log);
  }

  capabilities() {
    return this.#inner.capabilities();
  }

  #appendSoon(): void {
    if (this.#isAppendDue) return;
    this.#isAppendDue = true;
    const send = (): void => {
      this.#isAppendDue = false;
      this.#send();
    };
    if (this.#gatherMillis === 0) setImmediate(send);
    else setTimeout(send, this.#gatherMillis);
  }

  #send(): void {
    while (this.#appendsInFlight < this.#inFlightMax) {
      const batch = this.#takeAppends();
      if (batch.length === 0) return;
      void this.#run(batch);
    }
  }

  /** What can go now: the first that waits of each log that has nothing in flight. */
  #takeAppends(): WaitingAppend[] {
    const batch: WaitingAppend[] = [];
    const rest: WaitingAppend[] = [];
    const held = new Set<LogName>();
    let bytes = 0;
    for (const one of this.#appends) {
      const { log, bytes: entry } = one.item;
      const isFull =
        batch.length >= this.#itemsMax ||
        (batch.length > 0 && bytes + entry.length > limits.gatheredBytesMax);
      if (isFull || this.#busy.has(log) || held.has(log)) {
        held.add(log);
        rest.push(one);
        continue;
      }
      bytes += entry.length;
      this.#busy.add(log);
      batch.push(one);
    }
    this.#appends.splice(0, this.#appends.length, ...rest);
    return batch;
  }

  async #run(batch: readonly WaitingAppend[]): Promise<void> {
    this.#appendsInFlight += 1;
    const results = await this.#inner.append(batch.map(({ item }) => item));
    this.#appendsInFlight -= 1;
    for (const [at, { item, answer }] of batch.entries()) {
      this.#busy.delete(item.log);
      answer(results[at] ?? 'unknown');
    }
    if (this.#appends.length > 0) this.#appendSoon();
  }

  #confirmSoon(): void {
    if (this.#isConfirmDue) return;
    this.#isConfirmDue = true;
    setImmediate(() => this.#confirmNow());
  }

  #confirmNow(): void {
    const batch = this.#confirms.splice(0, limits.appendItemsMax);
    setTimeout(() => {
      this.#isConfirmDue = false;
      if (this.#confirms.length > 0) this.#confirmSoon();
    }, limits.confirmEveryMillis);
    void this.#inner.confirm(batch.map(({ item }) => item)).then((results) => {
      for (const [at, { answer }] of batch.entries()) answer(results[at] ?? 'unknown');
    });
  }
}
