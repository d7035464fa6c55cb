import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type InputLine, readLines } from './input-lines.ts';

/** The lines read from bytes that arrive in these chunks. */
async function read(chunks: readonly Uint8Array[], lineBytesMax: number): Promise<InputLine[]> {
  async function* input() {
    yield* chunks;
  }
  const lines: InputLine[] = [];
  for await (const line of readLines(input(), lineBytesMax)) lines.push(line);
  return lines;
}

/** Bytes cut at these places. */
function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const ends = [...places.map((place) => place % (bytes.length + 1)), bytes.length];
  const sorted = ends.sort((a, b) => a - b);
  return sorted.map((end, at) => bytes.subarray(at === 0 ? 0 : sorted[at - 1], end));
}

describe('lines of input', () => {
  it('[mcp A6] are the same wherever the bytes are cut', async () => {
    const someText = fc.array(fc.constantFrom('a', 'é', '😀', ' ', '\r', '\n', '{}'));
    await fc.assert(
      fc.asyncProperty(someText, fc.array(fc.nat()), async (parts, places) => {
        const text = parts.join('');
        const lines = await read(cut(Buffer.from(text), places), 1_000);
        const wanted = text.split('\n').filter((line) => line.trim() !== '');
        expect(lines).toEqual(wanted.map((line) => ({ kind: 'line', text: line })));
      }),
    );
  });

  it('[mcp A6] that are too long are left out, and those beside them are not', async () => {
    const text = `${'é'.repeat(5)}\n${'é'.repeat(6)}\n${'x'.repeat(10)}\nlong without an end`;
    for (const places of [[], [3], [12, 13, 14], Array.from({ length: 60 }, (_, at) => at)]) {
      const lines = await read(cut(Buffer.from(text), places), 10);
      expect(lines.map((line) => (line.kind === 'line' ? line.text : line.error.message))).toEqual([
        'ééééé',
        'invalid request: the message has more than 10 bytes',
        'xxxxxxxxxx',
        'invalid request: the message has more than 10 bytes',
      ]);
    }
  });

  it('[mcp B11] are UTF-8', async () => {
    const [bad, good] = await read([Buffer.from([0x22, 0xff, 0x22, 0x0a]), Buffer.from('1')], 10);
    expect(bad).toMatchObject({ kind: 'bad', error: { code: -32700 } });
    expect(good).toEqual({ kind: 'line', text: '1' });
  });
});
