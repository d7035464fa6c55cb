import { CommanderError } from 'commander';
import { BuildError } from '../bundle/build-error.ts';
import { ConfigurationError } from '../service/configuration.ts';
import { JsonError } from '../values/json-error.ts';
import { unfittingText } from './api.ts';
import { joinOptionalValues } from './arguments.ts';
import { CliError, processIo } from './io.ts';
import { makeProgram } from './program.ts';

const io = processIo();

// A reader such as `head` may close the pipe early: that is not a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

// Nor is it a failure that notices are not read: clients of the bridge may close that end.
process.stderr.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

try {
  const words = joinOptionalValues(process.argv.slice(2));
  await makeProgram(io).parseAsync(words, { from: 'user' });
} catch (error) {
  process.exitCode = report(error);
} finally {
  io.close();
}

/** Prints the error and returns the exit code. Only a bug is printed with its stack. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (!(error instanceof Error)) {
    io.err(`Error: ${String(error)}`);
    return 1;
  }
  const text = isExpected(error) ? textOf(error) : (error.stack ?? error.message);
  io.err(`Error: ${text.trimEnd()}`);
  return error instanceof CliError ? error.exitCode : 1;
}

function textOf(error: Error): string {
  return error instanceof JsonError ? unfittingText(error) : error.message;
}

/** True for errors that the user can fix: our own, and those of the operating system. */
function isExpected(error: Error): boolean {
  return (
    error instanceof CliError ||
    error instanceof ConfigurationError ||
    error instanceof BuildError ||
    // An answer of a server: what is read of files says which file it is.
    error instanceof JsonError ||
    'syscall' in error
  );
}
