import { createInterface } from 'node:readline/promises';

/** What a command may touch of its surroundings; tests run the real program instead of faking it. */
export interface Io {
  readonly cwd: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Results. */
  out(text: string): void;
  /** Warnings, notices and errors. */
  err(text: string): void;
  /** True when a person can be asked. */
  readonly isInteractive: boolean;
  /** True when results go to a terminal that shows colours. */
  readonly hasColours: boolean;
}

export function processIo(): Io {
  return {
    cwd: process.cwd(),
    environment: process.env,
    out: (text) => void process.stdout.write(`${text}\n`),
    err: (text) => void process.stderr.write(`${text}\n`),
    isInteractive: process.stdin.isTTY === true && process.stdout.isTTY === true,
    hasColours: process.stdout.isTTY === true && process.env.NO_COLOR === undefined,
  };
}

/** A failure that the user can mend. Printed as `Error: …`; the process exits with `exitCode`. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;

  constructor(message: string, exitCode = 1, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** `{question} [y/N]`: yes only for `y` and `yes`. `--yes` answers for the user. */
export async function confirm(io: Io, question: string, isSkipped: boolean): Promise<boolean> {
  if (isSkipped) {
    io.err('Skipping confirmation due to --yes');
    return true;
  }
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const answer = await Promise.race([
      lines.question(`${question} [y/N] `),
      new Promise<string>((resolve) => lines.once('close', () => resolve(''))),
    ]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}

/** Said by commands whose output or flags may still change. */
export function warnUnstable(io: Io): void {
  io.err('WARNING: This command is UNSTABLE and subject to breaking changes.\n');
}
