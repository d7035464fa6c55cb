import { describe, expect, it } from 'vitest';
import { readAccept } from './accept.ts';

const read = (header: string | undefined) => {
  const { json, events, namesEvents } = readAccept(header);
  return [json, events, namesEvents];
};

describe('an Accept header', () => {
  it('[mcp A2] is not needed: JSON is taken without', () => {
    expect(read(undefined)).toEqual([true, false, false]);
  });

  it('[mcp B3] allows event streams when it names them', () => {
    expect(read('application/json, text/event-stream')).toEqual([true, true, true]);
    expect(read('Text/Event-Stream; charset=utf-8')).toEqual([false, true, true]);
    expect(read('text/*')).toEqual([false, true, true]);
  });

  it('[mcp B3] that takes anything gets JSON', () => {
    expect(read('*/*')).toEqual([true, true, false]);
    expect(read('application/*;q=0.5')).toEqual([true, false, false]);
  });

  it('[mcp B3] excludes both when it names neither, or with a weight of zero', () => {
    expect(read('text/html')).toEqual([false, false, false]);
    expect(read('')).toEqual([false, false, false]);
    expect(read('application/json;q=0, text/event-stream;q=0.0')).toEqual([false, false, false]);
  });
});
