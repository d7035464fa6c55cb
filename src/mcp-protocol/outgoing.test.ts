import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { limits } from '../limits.ts';
import { Outgoing } from './outgoing.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const noop = () => undefined;
const all = async (outgoing: Outgoing) => {
  const messages: (string | undefined)[] = [];
  for await (const message of outgoing) messages.push(message);
  return messages;
};

describe('what goes out', () => {
  it('[mcp B3] comes in order, the end last, and nothing behind it', async () => {
    const outgoing = new Outgoing(noop);
    outgoing.put('a', '1');
    outgoing.put('b', '2');
    outgoing.end('last');
    outgoing.put('c', '3');
    outgoing.end('again');
    expect(await all(outgoing)).toEqual(['1', '2', 'last']);
  });

  it('[mcp B5] is only the newest of its kind, in the place of the first', async () => {
    const outgoing = new Outgoing(noop);
    outgoing.put('a', '1');
    outgoing.put('b', '2');
    outgoing.put('a', '3');
    outgoing.end();
    expect(await all(outgoing)).toEqual(['3', '2']);
  });

  it('[mcp B5] is bounded while nobody reads, and keeps what is new of its kinds', async () => {
    const outgoing = new Outgoing(noop);
    for (let at = 0; at < 2 * limits.mcpMessagesWaitingMax; at++) outgoing.put(`${at}`, `${at}`);
    outgoing.put('0', 'new');
    outgoing.end();
    const messages = await all(outgoing);
    expect(messages).toHaveLength(limits.mcpMessagesWaitingMax);
    expect(messages[0]).toBe('new');
  });

  it('[mcp B4] has a sign of life when it is quiet for long', async () => {
    const outgoing = new Outgoing(noop);
    const reader = outgoing[Symbol.asyncIterator]();
    const first = reader.next();
    await vi.advanceTimersByTimeAsync(limits.mcpQuietMillisMax);
    expect(await first).toEqual({ done: false, value: undefined });
    const second = reader.next();
    outgoing.put('a', '1');
    expect(await second).toEqual({ done: false, value: '1' });
    const third = reader.next();
    outgoing.end();
    expect((await third).done).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('[mcp B4] tells at once that the reader has left, though it waits', async () => {
    const onLeave = vi.fn();
    const outgoing = new Outgoing(onLeave);
    const reader = outgoing[Symbol.asyncIterator]();
    const waiting = reader.next();
    await reader.return?.();
    expect(onLeave).toHaveBeenCalledOnce();
    expect((await waiting).done).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('[mcp B4] does not tell so of a reader that has all', async () => {
    const onLeave = vi.fn();
    const outgoing = new Outgoing(onLeave);
    outgoing.end('last');
    for await (const _ of outgoing) break;
    expect(onLeave).not.toHaveBeenCalled();
  });

  it('[mcp B3] has begun with a message, or after a while without an answer', async () => {
    const quick = new Outgoing(noop);
    const isStream = quick.begun();
    quick.end('answer');
    expect(await isStream).toBe(false);
    const told = new Outgoing(noop);
    told.put('a', '1');
    told.end('answer');
    expect(await told.begun()).toBe(true);
    const slow = new Outgoing(noop).begun();
    await vi.advanceTimersByTimeAsync(limits.mcpQuietMillisMax);
    expect(await slow).toBe(true);
  });
});
