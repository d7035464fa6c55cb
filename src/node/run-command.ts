import { spawn } from 'node:child_process';

/** Runs a short system command. Resolves once it has ended, however it ended. */
export type RunCommand = (command: string, words: readonly string[]) => Promise<void>;

/** Runs it as a child of this process, without an environment. */
export const runCommand: RunCommand = (command, words) =>
  new Promise((resolve, reject) => {
    const child = spawn(command, words, { stdio: 'ignore', env: {} });
    child.on('error', reject);
    child.on('exit', () => resolve());
  });
