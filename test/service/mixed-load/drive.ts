import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../../src/testing/random.ts';
import { groupName, type Operation } from './operations.ts';

/** What was begun by the clock, one after another; times count from the beginning. */
export interface Arrivals {
  /** Since 1970, of the beginning. */
  readonly beginMillis: number;
  readonly names: readonly string[];
  /** Of each arrival: its operation in `names`, the second in which it was due, … */
  readonly kinds: Uint8Array;
  readonly seconds: Uint16Array;
  /** … milliseconds from the moment at which it was due to its answer, … */
  readonly millis: Float32Array;
  /** … and those by which it was sent too late. */
  readonly lateMillis: Float32Array;
  /** Processor time that the clients took for all of it. */
  readonly cpuSeconds: number;
}

/** With more in flight the service does not keep up, and the clients would only fill memory. */
const inFlightMax = 20_000;
/** Different failures whose text is kept. */
const failureTextsMax = 20;
const failureCharactersMax = 200;
const groupEveryMillis = 1_000;

/** Runs the operations of a mix, and counts those that failed. */
export class Driver {
  readonly #operations: readonly Operation[];
  readonly #random: Random;
  readonly #weightSum: number;
  readonly #group: number;
  /** By text: how often. */
  readonly failures: Record<string, number> = {};

  constructor(operations: readonly Operation[], random: Random) {
    this.#operations = operations;
    this.#random = random;
    this.#weightSum = operations.reduce((sum, { weight }) => sum + weight, 0);
    this.#group = operations.findIndex(({ name }) => name === groupName);
  }

  /** Runs each operation once, one after another. */
  async each(): Promise<void> {
    for (const kind of this.#operations.keys()) await this.#run(kind);
  }

  /**
   * Closed loop: so many clients, each of which sends as soon as it is answered. Gives the answers
   * per second, the first quarter of the time left out.
   */
  async flood(inFlight: number, seconds: number): Promise<number> {
    const begin = performance.now();
    const from = begin + seconds * 250;
    const end = begin + seconds * 1_000;
    let answered = 0;
    const one = async (): Promise<void> => {
      while (performance.now() < end) {
        await this.#run(this.#pick());
        const now = performance.now();
        if (now >= from && now < end) answered += 1;
      }
    };
    const groups = async (): Promise<void> => {
      for (let due = begin; due < end; due += groupEveryMillis) {
        await pause(Math.max(0, due - performance.now()));
        await this.#run(this.#group);
      }
    };
    await Promise.all([groups(), ...Array.from({ length: inFlight }, one)]);
    return (answered * 1_000) / (end - from);
  }

  /**
   * Open loop: arrivals come at random moments, so many a second, whether or not earlier ones are
   * answered. Resolves when all are.
   */
  async pace(perSecond: number, seconds: number): Promise<Arrivals> {
    const record = new Recorded(Math.ceil(perSecond * seconds * 1.1 + seconds + 1_000));
    const begin = performance.now();
    const beginMillis = Date.now();
    const cpuBefore = process.cpuUsage();
    const gap = () => (-Math.log(1 - this.#random.fraction()) * 1_000) / perSecond;
    let inFlight = 0;
    const start = (kind: number, due: number): void => {
      inFlight += 1;
      const at = record.begin(kind, (due - begin) / 1_000, performance.now() - due);
      void this.#run(kind).then(() => {
        inFlight -= 1;
        record.millis[at] = performance.now() - due;
      });
    };
    const end = begin + seconds * 1_000;
    let due = begin + gap();
    let groupDue = begin + groupEveryMillis / 2;
    while (Math.min(due, groupDue) < end) {
      for (const now = performance.now(); due <= now && due < end; due += gap()) {
        start(this.#pick(), due);
      }
      for (; groupDue <= performance.now() && groupDue < end; groupDue += groupEveryMillis) {
        start(this.#group, groupDue);
      }
      if (inFlight > inFlightMax) throw new Error(`${inFlight} requests wait for their answers`);
      await pause(1);
    }
    while (inFlight > 0) await pause(10);
    const { user, system } = process.cpuUsage(cpuBefore);
    const names = this.#operations.map(({ name }) => name);
    return { beginMillis, names, ...record.whole(), cpuSeconds: (user + system) / 1e6 };
  }

  #pick(): number {
    let left = this.#random.below(this.#weightSum);
    for (const [kind, { weight }] of this.#operations.entries()) {
      left -= weight;
      if (left < 0) return kind;
    }
    throw new Error('the weights have changed');
  }

  /** Never rejects. */
  async #run(kind: number): Promise<void> {
    const operation = this.#operations[kind];
    try {
      await operation?.run();
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      const text = `${operation?.name}: ${words}`.slice(0, failureCharactersMax);
      const isNew = this.failures[text] === undefined;
      const isFull = Object.keys(this.failures).length >= failureTextsMax;
      const key = isNew && isFull ? 'others' : text;
      this.failures[key] = (this.failures[key] ?? 0) + 1;
    }
  }
}

/** Arrivals in arrays that are as long as they will be, so that recording costs the clients nothing. */
class Recorded {
  readonly #kinds: Uint8Array;
  readonly #seconds: Uint16Array;
  readonly #lateMillis: Float32Array;
  readonly millis: Float32Array;
  #count = 0;

  constructor(countMax: number) {
    this.#kinds = new Uint8Array(countMax);
    this.#seconds = new Uint16Array(countMax);
    this.#lateMillis = new Float32Array(countMax);
    this.millis = new Float32Array(countMax);
  }

  /** Gives its place. */
  begin(kind: number, second: number, lateMillis: number): number {
    const at = this.#count;
    if (at >= this.#kinds.length) throw new Error('more arrivals than there is room for');
    this.#count += 1;
    this.#kinds[at] = kind;
    this.#seconds[at] = second;
    this.#lateMillis[at] = lateMillis;
    return at;
  }

  whole(): Pick<Arrivals, 'kinds' | 'seconds' | 'millis' | 'lateMillis'> {
    return {
      kinds: this.#kinds.slice(0, this.#count),
      seconds: this.#seconds.slice(0, this.#count),
      millis: this.millis.slice(0, this.#count),
      lateMillis: this.#lateMillis.slice(0, this.#count),
    };
  }
}
