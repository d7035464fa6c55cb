import { describe, expect, it, vi } from 'vitest';
import type { Sandbox } from '../../module/javascript/runner.ts';
import { Sandboxes } from './sandboxes.ts';

function counted() {
  const opened: Sandbox[] = [];
  const open = () => {
    const sandbox: Sandbox = () => {
      throw new Error('no program comes');
    };
    opened.push(sandbox);
    return sandbox;
  };
  return { opened, open };
}

describe('the sandboxes of an actor', () => {
  it('are opened when a program comes, but for a first one that is given', () => {
    const { opened, open } = counted();
    const first: Sandbox = () => {
      throw new Error('no program comes');
    };
    const sandboxes = new Sandboxes({ open, first });
    expect(sandboxes.take()).toBe(first);
    expect(opened).toHaveLength(0);
    expect(sandboxes.take()).toBe(opened[0]);
    expect(sandboxes.take()).toBe(opened[1]);
    expect(opened).toHaveLength(2);
  });

  it('[console 3.2] are opened ahead where somebody waits for each publish', async () => {
    const { opened, open } = counted();
    const sandboxes = new Sandboxes({ open, keepsSpare: true });
    expect(sandboxes.take()).toBe(opened[0]);
    await vi.waitFor(() => expect(opened).toHaveLength(2), 10_000);
    expect(sandboxes.take()).toBe(opened[1]);
    // One that comes at once does not wait for the next spare one, and leaves one behind.
    expect(sandboxes.take()).toBe(opened[2]);
    await vi.waitFor(() => expect(opened).toHaveLength(4), 10_000);
    expect(sandboxes.take()).toBe(opened[3]);
  });
});
