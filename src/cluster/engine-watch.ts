import type { EngineState } from '../host/replication/engine-state.ts';
import { limits } from '../limits.ts';
import type { Report } from '../node/report-line.ts';

export interface EngineWatchOptions {
  /** Tries a commit; true if the engine has acknowledged it. Never rejects. */
  readonly probe: () => Promise<boolean>;
  /** Why the engine takes no commits, as far as can be found out. Never rejects. */
  readonly trouble: () => Promise<string | undefined>;
  readonly now: () => number;
  readonly report: Report;
}

/**
 * Whether the engine takes commits: that it answers reads, and takes beats, which wait for no
 * standby, says nothing of that. Every acknowledgement counts; where none came for a while, one is
 * tried.
 */
export class EngineWatch implements EngineState {
  readonly #options: EngineWatchOptions;
  readonly #listeners = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;
  /** When the last commit was begun that the engine has acknowledged. */
  #acknowledgedAt: number;
  #isProbing = false;
  #isAway = false;
  #trouble: string | undefined;

  constructor(options: EngineWatchOptions) {
    this.#options = options;
    this.#acknowledgedAt = options.now();
  }

  /** Before that it is taken for there. */
  start(): void {
    this.#acknowledgedAt = this.#options.now();
    this.#timer ??= setInterval(() => this.#look(), limits.outageLookMillis).unref();
  }

  get isAway(): boolean {
    return this.#isAway;
  }

  /** Time since the last commit was begun that the engine has acknowledged. */
  get ageMillis(): number {
    return this.#options.now() - this.#acknowledgedAt;
  }

  /** Why it takes no commits; `undefined`: it does, or that is being found out. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  onChange(changed: () => void): () => void {
    this.#listeners.add(changed);
    return () => void this.#listeners.delete(changed);
  }

  /** A commit that was begun at that time is acknowledged. */
  acknowledged(begunAt: number): void {
    this.#acknowledgedAt = Math.max(this.#acknowledgedAt, begunAt);
    if (this.#isAway) this.#judge();
  }

  /** True if the engine acknowledges a commit that begins now, within a time. */
  async answers(millisMax: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(resolve, millisMax, false);
    });
    const answered = await Promise.race([this.#options.probe(), late]);
    clearTimeout(timer);
    return answered;
  }

  findTrouble(): Promise<string | undefined> {
    return this.#options.trouble();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#listeners.clear();
  }

  #look(): void {
    if (this.ageMillis > limits.engineProbeMillis && !this.#isProbing) void this.#probe();
    this.#judge();
  }

  async #probe(): Promise<void> {
    const begunAt = this.#options.now();
    this.#isProbing = true;
    if (await this.#options.probe()) this.acknowledged(begunAt);
    else if (this.#isAway) await this.#noteTrouble();
    this.#isProbing = false;
  }

  #judge(): void {
    const isAway = this.ageMillis > limits.readyEngineMillisMax;
    if (isAway === this.#isAway) return;
    this.#isAway = isAway;
    if (isAway) void this.#noteTrouble().then(() => this.#tellAway());
    else this.#tellBack();
    for (const changed of [...this.#listeners]) changed();
  }

  async #noteTrouble(): Promise<void> {
    const trouble = await this.findTrouble();
    if (this.#isAway) this.#trouble = trouble ?? 'it does not answer in time';
  }

  #tellAway(): void {
    if (!this.#isAway) return;
    const seconds = limits.waitLeaderMillis / 1_000;
    const message =
      `the engine of the cluster takes no commits: ${this.#trouble}. Until it does, calls wait ` +
      `${seconds} s, and are then refused with database.noEngine`;
    this.#options.report({ level: 'warn', message });
  }

  #tellBack(): void {
    this.#trouble = undefined;
    this.#options.report({ level: 'info', message: 'the engine of the cluster takes commits' });
  }
}
