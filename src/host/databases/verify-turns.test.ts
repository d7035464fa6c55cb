import { describe, expect, it } from 'vitest';
import { limits } from '../../limits.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import { VerifyTurns } from './verify-turns.ts';

function setUp() {
  const turns = new VerifyTurns();
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const take = (name: string, by: bigint, isDeep = false, signal = new AbortController().signal) =>
    turns.take({ by: callerIdentity(by), isDeep, signal }).then((end) => {
      begun.push(name);
      ends.set(name, end);
    });
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const end = async (name: string) => {
    ends.get(name)?.();
    await settled();
  };
  return { take, begun, end, settled };
}

describe('[history 3.20] checks of databases', () => {
  it('run a few at a time, and those of all callers in turns', async () => {
    const { take, begun, end, settled } = setUp();
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) void take(name, 1n);
    void take('b1', 2n);
    void take('c1', 3n);
    void take('b2', 2n);
    await settled();
    expect(begun).toEqual(['a1', 'a2']);
    for (let at = 0; at < 8; at++) {
      expect(begun.length).toBe(Math.min(8, at + limits.hostVerifiesMax));
      await end(begun[at] ?? '');
    }
    expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4', 'a5']);
  });

  it('that are deep are fewer, and keep no other waiting', async () => {
    const { take, begun, end, settled } = setUp();
    void take('deep 1', 1n, true);
    void take('deep 2', 2n, true);
    void take('plain', 1n);
    await settled();
    expect(begun).toEqual(['deep 1', 'plain']);
    await end('plain');
    expect(begun).toEqual(['deep 1', 'plain']);
    await end('deep 1');
    expect(begun).toEqual(['deep 1', 'plain', 'deep 2']);
  });

  it('leave the queue when they are cancelled, and end once', async () => {
    const { take, begun, end, settled } = setUp();
    for (const name of ['a1', 'a2']) void take(name, 1n);
    const abort = new AbortController();
    const cancelled = take('b1', 2n, false, abort.signal);
    const last = take('c1', 3n);
    void take('c2', 3n);
    abort.abort();
    await expect(cancelled).rejects.toThrow('cancelled');
    await expect(take('d1', 4n, false, abort.signal)).rejects.toThrow('cancelled');
    await end('a1');
    await end('a1');
    await last;
    await settled();
    expect(begun).toEqual(['a1', 'a2', 'c1']);
  });
});
