import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventStreamReader, encodeEvent, keepAliveLine } from './event-stream.ts';

const read = (...pieces: string[]) => {
  const reader = new EventStreamReader(1_000_000);
  return pieces.flatMap((piece) => reader.push(piece));
};

describe('an event stream', () => {
  it('[mcp B3] is one message event for each message', () => {
    expect(encodeEvent('{"a":1}')).toBe('event: message\ndata: {"a":1}\n\n');
  });

  it('[mcp B11] gives back the messages, wherever it is cut and however lines end', () => {
    const message = fc.string({ minLength: 1 }).map((text) => JSON.stringify(text));
    const lineBreak = fc.constantFrom('\n', '\r', '\r\n');
    const input = fc.tuple(fc.array(message), lineBreak, fc.array(fc.nat(200)));
    fc.assert(
      fc.property(input, ([messages, end, cuts]) => {
        const events = messages.map((one) => keepAliveLine + encodeEvent(one));
        const text = events.join('').replaceAll('\n', end);
        const pieces: string[] = [];
        let rest = text;
        for (const cut of cuts) {
          pieces.push(rest.slice(0, cut));
          rest = rest.slice(cut);
        }
        expect(read(...pieces, rest)).toEqual(messages);
      }),
    );
  });

  it('[mcp B11] joins several lines of data, and takes no other kind of event', () => {
    expect(read('data: 1\ndata:2\n\n')).toEqual(['1\n2']);
    expect(read('event: other\ndata: 1\n\nid: 7\nretry: 10\ndata: 2\n\n')).toEqual(['2']);
    expect(read('id: primer\ndata:\n\n', ': comment\n\n')).toEqual([]);
  });

  it('[mcp B11] forgets an event that never ends', () => {
    expect(read('data: 1\n\ndata: 2\n')).toEqual(['1']);
  });

  it('[mcp B11] holds no more than it was told to', () => {
    const reader = new EventStreamReader(100);
    expect(reader.push(`data: ${'x'.repeat(80)}\n\n`)).toHaveLength(1);
    expect(reader.push(`: ${'x'.repeat(80)}\n`.repeat(5))).toEqual([]);
    expect(() => reader.push(`data: ${'x'.repeat(100)}`)).toThrow('an event is too long');
  });
});
