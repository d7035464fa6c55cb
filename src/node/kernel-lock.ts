import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { limits } from '../limits.ts';
import { systemCommand } from './command-wrappers.ts';

export type KernelLock =
  /** This process holds it until `release`, or until it ends, however it ends. */
  | { readonly kind: 'taken'; release(): void }
  | { readonly kind: 'held' }
  /** The command does not exist, or the file system has no such locks. */
  | { readonly kind: 'impossible' };

/**
 * Locks a folder itself (`flock`), without waiting. The lock is the kernel's: it holds for all
 * processes of a machine, whatever their namespaces, and cannot be deleted like a file.
 *
 * Node has no call for it. The lock belongs to the open file, not to a process, so a command that
 * inherits the open folder takes it, and it stays when the command has ended.
 */
export function lockInKernel(folder: string): KernelLock {
  const command = systemCommand('flock');
  if (command === undefined) return { kind: 'impossible' };
  const { O_RDONLY, O_DIRECTORY } = fs.constants;
  const descriptor = fs.openSync(folder, O_RDONLY | O_DIRECTORY);
  const { status, stderr } = spawnSync(command, ['-x', '-n', '3'], {
    env: {},
    stdio: ['ignore', 'ignore', 'pipe', descriptor],
    timeout: limits.lockCommandMillisMax,
  });
  if (status === 0) return { kind: 'taken', release: () => fs.closeSync(descriptor) };
  fs.closeSync(descriptor);
  // Every other failure is explained on standard error.
  return { kind: status === 1 && stderr.length === 0 ? 'held' : 'impossible' };
}
