import { spawn } from 'node:child_process';

/** Runs a short command of the system. Resolves once it has ended, in whatever way. */
export type RunCommand = (command: string, words: readonly string[]) => Promise<void>;

/** As a child of this process, without an environment. */
export const runCommand: RunCommand = (command, words) =>
  new Promise((resolve, reject) => {
    const child = spawn(command, words, { stdio: 'ignore', env: {} });
    child.on('error', reject);
    child.on('exit', () => resolve());
  });
