#!/usr/bin/env node
import { descriptorLimit, tooFewDescriptors } from '../service/descriptor-limit.ts';

// Where they are short, later there is none to look with.
const max = descriptorLimit();

try {
  await import('./run-command.ts');
} catch (error) {
  // The files of the command are read at the same time, each by a descriptor of its own.
  const isShort = error instanceof Error && 'code' in error && error.code === 'EMFILE';
  if (!isShort) throw error;
  process.stderr.write(`Error: ${tooFewDescriptors(max)}\n`);
  process.exitCode = 1;
}
