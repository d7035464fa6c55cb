#!/usr/bin/env node
import { CommanderError } from 'commander';
import { ConfigurationError } from '../service/configuration.ts';
import { CliError, processIo } from './io.ts';
import { makeProgram } from './program.ts';

const io = processIo();

try {
  await makeProgram(io).parseAsync(process.argv);
} catch (error) {
  process.exitCode = report(error);
}

/** Prints what went wrong, its causes below it, and gives the exit code. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const isExpected = error instanceof CliError || error instanceof ConfigurationError;
  if (!(error instanceof Error)) {
    io.err(`Error: ${String(error)}`);
    return 1;
  }
  io.err(`Error: ${isExpected ? error.message : (error.stack ?? error.message)}`);
  return error instanceof CliError ? error.exitCode : 1;
}
