import { createInterface, type Interface } from 'node:readline';
import type { Io } from '../io.ts';
import { safeText } from '../safe-text.ts';

/** One answer of a question. */
export interface Choice<Value> {
  readonly value: Value;
  readonly label: string;
}

/** Keys while `dev` runs, and questions, of which one is open at a time. */
export interface DevInput {
  /** Sets who receives keys: one character each. */
  onKey(take: (key: string) => void): void;
  /** Asks for one of these; `undefined`: nobody answered, or `signal` took the question back. */
  choose<Value>(
    question: string,
    choices: readonly Choice<Value>[],
    signal: AbortSignal,
  ): Promise<Value | undefined>;
  /** Asks for one line; `undefined` at the end of input. */
  ask(question: string): Promise<string | undefined>;
  /** True where a person sees what is printed. */
  readonly isTerminal: boolean;
  close(): void;
}

/** Of a terminal, single keys; elsewhere, lines of standard input. */
export function devInput(io: Io): DevInput {
  return io.isInteractive && io.showsResults ? new TerminalInput() : new LineInput(io);
}

const interruptKey = '\u0003';

/** Keys as they are pressed; questions are those of `@clack/prompts`. */
class TerminalInput implements DevInput {
  readonly isTerminal = true;
  #take: (key: string) => void = () => undefined;
  readonly #onData = (data: Buffer) => {
    for (const key of data.toString('utf8')) this.#take(key === interruptKey ? 'q' : key);
  };

  constructor() {
    this.#listen();
  }

  onKey(take: (key: string) => void): void {
    this.#take = take;
  }

  async choose<Value>(
    question: string,
    choices: readonly Choice<Value>[],
    signal: AbortSignal,
  ): Promise<Value | undefined> {
    const { isCancel, select } = await import('@clack/prompts');
    return this.#aside(async () => {
      const options = choices.map(({ label }, at) => ({ value: at, label: safeText(label) }));
      const chosen = await select({ message: safeText(question), options, signal });
      return isCancel(chosen) ? undefined : choices[chosen]?.value;
    });
  }

  ask(question: string): Promise<string | undefined> {
    return this.#aside(async () => {
      const { stdin: input, stdout: output } = process;
      const lines = createInterface({ input, output });
      try {
        return await answerOf(lines, safeText(question));
      } finally {
        lines.close();
      }
    });
  }

  close(): void {
    this.#leave();
  }

  /** Runs what reads the terminal itself. */
  async #aside<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#leave();
    try {
      return await work();
    } finally {
      this.#listen();
    }
  }

  #listen(): void {
    process.stdin.setRawMode(true);
    process.stdin.on('data', this.#onData);
    process.stdin.resume();
  }

  #leave(): void {
    process.stdin.off('data', this.#onData);
    process.stdin.setRawMode(false);
    process.stdin.pause();
  }
}

function answerOf(lines: Interface, question: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    lines.once('close', () => resolve(undefined));
    lines.question(question, resolve);
  });
}

/** Lines: each is a key, or the answer of the open question. The end of input ends nothing. */
class LineInput implements DevInput {
  readonly isTerminal = false;
  readonly #io: Io;
  readonly #lines: Interface;
  #take: (key: string) => void = () => undefined;
  #answer: ((line: string | undefined) => void) | undefined;
  #isOver = false;

  constructor(io: Io) {
    this.#io = io;
    this.#lines = createInterface({ input: process.stdin });
    this.#lines.on('line', (line) => this.#receive(line));
    this.#lines.once('close', () => {
      this.#isOver = true;
      this.#answer?.(undefined);
    });
  }

  onKey(take: (key: string) => void): void {
    this.#take = take;
  }

  async choose<Value>(
    question: string,
    choices: readonly Choice<Value>[],
    signal: AbortSignal,
  ): Promise<Value | undefined> {
    if (this.#isOver) return undefined;
    const lines = choices.map(({ label }, at) => `  ${at + 1}  ${label}`);
    this.#io.out([question, ...lines].join('\n'));
    for (;;) {
      const line = await this.#line(`1 to ${choices.length}: `, signal);
      if (line === undefined) return undefined;
      const chosen = choices[Number(line.trim()) - 1];
      if (chosen !== undefined) return chosen.value;
      this.#io.err(`\`${line.trim()}\` is not one of the numbers.`);
    }
  }

  ask(question: string): Promise<string | undefined> {
    return this.#line(question, undefined);
  }

  close(): void {
    this.#lines.close();
    process.stdin.unref?.();
  }

  #line(question: string, signal: AbortSignal | undefined): Promise<string | undefined> {
    if (this.#isOver || signal?.aborted === true) return Promise.resolve(undefined);
    this.#io.out(question);
    return new Promise((resolve) => {
      const settle = (line: string | undefined) => {
        this.#answer = undefined;
        signal?.removeEventListener('abort', takeBack);
        resolve(line);
      };
      const takeBack = () => settle(undefined);
      signal?.addEventListener('abort', takeBack);
      this.#answer = settle;
    });
  }

  #receive(line: string): void {
    if (this.#answer !== undefined) this.#answer(line);
    else if (line.trim() !== '') this.#take(line.trim().slice(0, 1));
  }
}
