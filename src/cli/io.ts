import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { safePaintedText, safeText } from './safe-text.ts';

/**
 * The parts of the environment that a command can use; tests run the real program instead of faking
 * it.
 */
export interface Io {
  readonly cwd: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Results, made safe to show. */
  out(text: string): void;
  /** As `out`, where the colours of a plan stay. */
  outPainted(text: string): void;
  /** Results as they are: a value that another program takes, or text that was made safe. */
  outAsIs(text: string): void;
  /** Warnings, notices and errors, made safe to show. */
  err(text: string): void;
  /** Shows how far a long work is, in a terminal; empty: no more. Elsewhere nothing is shown. */
  progress(text: string): void;
  /** True where `progress` shows something. */
  readonly showsProgress: boolean;
  /** Asks for one line; `undefined` at the end of input. */
  ask(question: string): Promise<string | undefined>;
  /** As `ask`; in a terminal, without showing what is typed. */
  askHidden(question: string): Promise<string | undefined>;
  /** All of standard input, as text. */
  readInput(): Promise<string>;
  /** True when a person can be asked. */
  readonly isInteractive: boolean;
  /** True when results go to a terminal. */
  readonly showsResults: boolean;
  /** True when they go to a terminal with colours. */
  readonly hasColours: boolean;
  /** Releases standard input. */
  close(): void;
}

export function processIo(): Io {
  const answers = new Answers();
  return {
    cwd: process.cwd(),
    environment: process.env,
    out: (text) => void process.stdout.write(`${safeText(text)}\n`),
    outPainted: (text) => void process.stdout.write(`${safePaintedText(text)}\n`),
    outAsIs: (text) => void process.stdout.write(`${text}\n`),
    err: (text) => void process.stderr.write(`${safeText(text)}\n`),
    progress: (text) => {
      if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${safeText(text)}`);
    },
    showsProgress: process.stderr.isTTY === true,
    ask: (question) => answers.ask(question),
    askHidden: (question) => answers.askHidden(question),
    readInput: () => text(process.stdin),
    isInteractive: process.stdin.isTTY === true,
    showsResults: process.stdout.isTTY === true,
    hasColours: process.stdout.isTTY === true && process.env.NO_COLOR === undefined,
    close: () => answers.close(),
  };
}

/** A failure that the user can fix. Printed as `Error: …`; the process exits with `exitCode`. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;

  constructor(message: string, exitCode = 1, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/**
 * `{question} [y/N]`: yes only for `y` and `yes`. `--yes` answers for the user. Where the input is
 * over, throws `CliError` with `refused`: what runs unattended learns that nothing was done.
 * `null`: the answer is no, since what was asked for was done, and this is a matter of tidiness.
 */
export async function confirm(
  io: Io,
  question: string,
  isSkipped: boolean,
  refused: string | null = 'Nothing was done.',
): Promise<boolean> {
  if (isSkipped) {
    io.err('Skipping confirmation due to --yes');
    return true;
  }
  const answer = await io.ask(`${question} [y/N] `);
  if (answer === undefined) sayUnanswered(io, 'yes');
  if (answer === undefined && refused !== null) throw new CliError(refused);
  return answer !== undefined && /^y(es)?$/i.test(answer.trim());
}

/**
 * Has the user type a name before something is lost; `false`: something else was typed. Throws as
 * `confirm` does.
 */
export async function typesName(
  io: Io,
  question: string,
  { name, kind }: { readonly name: string; readonly kind: string },
): Promise<boolean> {
  const answer = await io.ask(question);
  if (answer !== undefined) return answer.trim() === name;
  sayUnanswered(io, `yes=${kind}`);
  throw new CliError('Nothing was changed.');
}

function sayUnanswered(io: Io, flag: string): void {
  io.err(`Nobody can answer here, so the answer is no; --${flag} answers yes.`);
}

/**
 * Lines of standard input, one for each question. All questions of the process share one reader:
 * with a pipe, it may already have read the next answer together with this one.
 */
class Answers {
  readonly #waiting: string[] = [];
  #lines: Interface | undefined;
  #isOver = false;

  async ask(question: string): Promise<string | undefined> {
    const lines = this.#reader();
    process.stdout.write(safeText(question));
    const answer = await this.#next(lines);
    if (process.stdin.isTTY !== true) process.stdout.write('\n');
    return answer;
  }

  /** Lets the terminal edit the answer, and writes none of it. */
  async askHidden(question: string): Promise<string | undefined> {
    if (process.stdin.isTTY !== true) return this.ask(question);
    this.close();
    this.#lines = undefined;
    process.stdout.write(safeText(question));
    const output = new Writable({ write: (_chunk, _encoding, done) => done() });
    const lines = createInterface({ input: process.stdin, output, terminal: true });
    const answer = await new Promise<string | undefined>((resolve) => {
      lines.once('line', resolve);
      lines.once('close', () => resolve(undefined));
    });
    lines.close();
    process.stdout.write('\n');
    return answer;
  }

  close(): void {
    this.#lines?.close();
  }

  #next(lines: Interface): Promise<string | undefined> {
    const line = this.#waiting.shift();
    if (line !== undefined || this.#isOver) return Promise.resolve(line);
    return new Promise((resolve) => {
      const done = () => {
        lines.off('line', done);
        lines.off('close', done);
        resolve(this.#waiting.shift());
      };
      lines.once('line', done);
      lines.once('close', done);
    });
  }

  #reader(): Interface {
    if (this.#lines !== undefined) return this.#lines;
    const lines = createInterface({ input: process.stdin });
    lines.on('line', (line) => this.#waiting.push(line));
    lines.on('close', () => {
      this.#isOver = true;
    });
    this.#lines = lines;
    return lines;
  }
}
