import path from 'node:path';
import { BuildError } from '../../bundle/build-error.ts';
import { ModuleBuilder, type RebuiltModule } from '../../bundle/module-builder.ts';
import { type Api, Unreachable } from '../api.ts';
import { CliError } from '../io.ts';
import { BuildAhead } from './build-ahead.ts';
import { type PublishResult, publishProgram } from './dev-publish.ts';
import type { DevScreen } from './dev-screen.ts';
import type { DevWatch } from './dev-watch.ts';
import type { Resolution } from './schema-conflict.ts';
import type { TypeErrors } from './type-errors.ts';

export interface DevLoopOptions {
  readonly root: string;
  readonly module: string;
  readonly database: string;
  readonly screen: DevScreen;
  readonly types: TypeErrors;
  readonly api: () => Promise<Api>;
  /** Called where the service did not answer. */
  readonly ensure: () => Promise<void>;
  /** What to do with tables that cannot become those of the program by themselves. */
  readonly resolve: (
    program: Uint8Array,
    reason: string,
    signal: AbortSignal,
  ) => Promise<Resolution>;
  /** Called after a program came into force. */
  readonly published: (
    result: Extract<PublishResult, { kind: 'published' }>,
    how: { readonly millis: number; readonly isReset: boolean },
  ) => Promise<void>;
}

/** From changed files to the new program, one round after the other. */
export class DevLoop {
  readonly #options: DevLoopOptions;
  readonly #builder: ModuleBuilder;
  readonly #ahead: BuildAhead;
  #sources: ReadonlySet<string> = new Set();
  #program: Uint8Array | undefined;
  #hasFailed = true;
  /** A fault was shown, and nothing since that says that it is gone. */
  #isFaulty = false;
  #isAgain = false;
  #isReset = false;
  /** Takes back what the running round asks. */
  #round: AbortController | undefined;
  #running: Promise<void> | undefined;
  #isEnded = false;
  /** Files that were written here, whose events say nothing new. */
  readonly #own = new Set<string>();
  watch: DevWatch | undefined;

  constructor(options: DevLoopOptions) {
    this.#options = options;
    this.#builder = new ModuleBuilder(options.module);
    this.#ahead = new BuildAhead(this.#builder);
  }

  /** A file has changed, and `changed` follows when no more come. */
  changing(file: string): void {
    if (this.#isEnded || this.#own.has(file)) return;
    if (this.#running === undefined && this.#concernsProgram(file)) this.#ahead.begin(file);
    else this.#ahead.doubt();
  }

  /** Files have changed: what concerns the program is built and published. */
  changed(files: ReadonlySet<string>): void {
    const news = [...files].filter((file) => !this.#own.delete(file));
    if (news.some((file) => this.#concernsProgram(file))) void this.run();
    else if (news.some((file) => /\.[cm]?tsx?$/.test(file))) this.#options.types.begin();
  }

  /** Runs a round, after the one that runs. */
  run(): Promise<void> {
    this.#isAgain = true;
    this.#round?.abort();
    this.#running ??= this.#rounds().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Deletes all rows and publishes again. */
  reset(): Promise<void> {
    this.#isReset = true;
    return this.run();
  }

  async end(): Promise<void> {
    this.#isEnded = true;
    this.#round?.abort();
    this.#options.types.end();
    await this.#builder.dispose();
  }

  #concernsProgram(file: string): boolean {
    if (this.#sources.has(file)) return true;
    const { module } = this.#options;
    const inside = path.relative(module, file);
    if (inside.startsWith('..')) return false;
    if (inside === 'package.json' || inside.startsWith(`migrations${path.sep}`)) return true;
    // What was not found may be there now.
    return this.#hasFailed && /\.(?:[cm]?[jt]sx?|json)$/.test(inside);
  }

  async #rounds(): Promise<void> {
    while (this.#isAgain && !this.#isEnded) {
      this.#isAgain = false;
      this.#round = new AbortController();
      try {
        await this.#roundOnce(this.#round.signal);
      } catch (error) {
        if (this.#isEnded) return;
        if (!(error instanceof CliError)) throw error;
        this.#hasFailed = true;
        if (!(error instanceof Unreachable)) this.#fault(error.message);
        await this.#options.ensure();
        // What was asked for may have been done, or not: the next round finds out.
        if (error instanceof Unreachable) this.#isAgain = true;
      }
    }
  }

  async #roundOnce(signal: AbortSignal): Promise<void> {
    const { types, database } = this.#options;
    const started = performance.now();
    const built = await this.#build();
    if (built === undefined) {
      types.begin();
      return;
    }
    const { program } = built;
    const clear = this.#isReset;
    if (!clear && this.#program !== undefined && Buffer.compare(program, this.#program) === 0) {
      this.#sayMended();
      types.begin();
      return;
    }
    const api = await this.#options.api();
    const result = await publishProgram({ api, database, program, clear });
    if (this.#isEnded) return;
    const millis = performance.now() - started;
    // After the publish: the compiler would take the processor from it.
    types.begin();
    switch (result.kind) {
      case 'published':
        this.#isReset = false;
        this.#program = program;
        this.#isFaulty = false;
        await this.#options.published(result, { millis, isReset: clear });
        return;
      case 'failed':
        this.#hasFailed = true;
        this.#fault(`${result.text.trimEnd()}\nThe old program stays in force.`);
        return;
      case 'conflict':
        this.#hasFailed = true;
        await this.#settle(program, result.reason, signal);
    }
  }

  async #settle(program: Uint8Array, reason: string, signal: AbortSignal): Promise<void> {
    const resolution = await this.#options.resolve(program, reason, signal);
    switch (resolution.kind) {
      case 'kept':
        return;
      case 'reset':
        this.#isReset = true;
        this.#isAgain = true;
        return;
      case 'written':
        for (const file of resolution.files) this.#own.add(file);
        if (resolution.isComplete) this.#isAgain = true;
    }
  }

  async #build(): Promise<RebuiltModule | undefined> {
    const { screen } = this.#options;
    try {
      const result = await this.#ahead.take();
      if (result.kind === 'thrown') throw result.error;
      const { built } = result;
      for (const warning of built.warnings) screen.warn(warning);
      this.#sources = new Set(built.sources);
      this.watch?.add(built.sources);
      this.#hasFailed = false;
      return built;
    } catch (error) {
      if (!(error instanceof BuildError)) throw error;
      this.#hasFailed = true;
      const kept = this.#program === undefined ? '' : '\nThe old program stays in force.';
      this.#fault(`${error.message}${kept}`);
      return undefined;
    }
  }

  #fault(text: string): void {
    this.#isFaulty = true;
    this.#options.screen.fault(text);
  }

  /** The sources are again those of the program in force. */
  #sayMended(): void {
    if (this.#isFaulty)
      this.#options.screen.say(`${this.#options.database} runs this program already`);
    this.#isFaulty = false;
  }
}
