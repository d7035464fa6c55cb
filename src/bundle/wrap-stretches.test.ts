import { describe, expect, it } from 'vitest';
import { lowerGuards } from './lower-guards.ts';

/** How many pauses a script gets, those before loops included. */
async function pauses(script: string): Promise<number> {
  const lowered = await lowerGuards({ script, sourceMap: '' });
  return lowered.script.split('reducerdb$pause(').length - 1;
}

const times = (count: number, text: string, separator = ', ') =>
  new Array(count).fill(text).join(separator);

describe('pauses', () => {
  it('come after every sixteenth operation, or eighth call, of a stretch', async () => {
    expect(await pauses(`x = [${times(15, 'a + b')}];`)).toBe(0);
    expect(await pauses(`x = [${times(80, 'a << b')}];`)).toBe(5);
    expect(await pauses(`x = [${times(80, '~a')}];`)).toBe(5);
    expect(await pauses(`x = [${times(80, 'a++')}];`)).toBe(5);
    expect(await pauses(`x = [${times(80, `\`\${a}\``)}];`)).toBe(5);
    expect(await pauses(`x = [${times(24, 'new Array(n)')}];`)).toBe(3);
    expect(await pauses(`x = [${times(24, '[...a]')}];`)).toBe(3);
    expect(await pauses(`x = ${times(33, 'a', ' + ')};`)).toBe(2);
  });

  it('come in every place that has no function or loop of its own', async () => {
    const places = [
      `class A { ${times(16, 'f = a + b;', ' ')} }`,
      `class A { static { ${times(16, 'f(a);', ' ')} } }`,
      `function f(${Array.from({ length: 16 }, (_, n) => `p${n} = a + b`)}) {}`,
      `const [${Array.from({ length: 16 }, (_, n) => `p${n} = a + b`)}] = c;`,
      `switch (a) { ${Array.from({ length: 16 }, (_, n) => `case ${n}: b += c;`).join(' ')} }`,
      times(16, 'if (a) b += c;', ' '),
      times(16, 'a && (b += c);', ' '),
      times(16, 'try { b += c; } finally {}', ' '),
      `outer: { ${times(16, 'b += c;', ' ')} break outer; }`,
      `x = tag\`${times(16, `\${a + b}`, '')}\`;`,
      `x = ${'['.repeat(16)}${times(16, 'a + b]')};`,
      `for (;;) { ${times(16, 'b += c;', ' ')} }`,
      times(9, 'for (const x of y) { b += c; f(); }', ' '),
    ];
    for (const place of places) {
      expect(await pauses(place), place).toBeGreaterThan(0);
    }
  });

  it('cannot be put where they are jumped over', async () => {
    // Every second operation is on a branch not taken; the others alone are sixteen.
    expect(await pauses(times(16, 'c ? a + b : 0; d += e;', ' '))).toBeGreaterThanOrEqual(2);
    const taken = times(15, 'd += e;', ' ');
    expect(await pauses(`${taken} if (c) { d += e; } d += e;`)).toBe(2);
    expect(await pauses(`${taken} if (c) { d += e; } else { f += g; }`)).toBe(2);
    expect(await pauses(`out: { ${taken} if (c) break out; d += e; } d += e;`)).toBe(2);
  });

  it('are not in short functions, nor where only ordinary numbers can be', async () => {
    expect(await pauses(times(20, 'f = (a, b) => [a + b, b.c(a)];', ' '))).toBe(0);
    expect(
      await pauses(`x = [${times(80, 'a << 3')}, ${times(80, '(a >>> 7) ^ (b >>> 9)')}];`),
    ).toBe(0);
    expect(await pauses(`x = [${times(80, '-1')}, ${times(80, 'i | 0')}];`)).toBe(0);
  });

  it('stand before a loop rather than in it', async () => {
    const script = `${times(15, 'd += e;', ' ')} for (const x of y) { d += x; }`;
    const lowered = await lowerGuards({ script, sourceMap: '' });
    expect(lowered.script).toContain('reducerdb$pause();for (const x of y) { d += x; }');
  });

  it('leave methods and chains what they were called on', async () => {
    const script = `x = [${times(8, 'f()')}, a?.b().c().d(), ${times(8, 'a.b?.(c).d()')}];`;
    const lowered = await lowerGuards({ script, sourceMap: '' });
    expect(lowered.script).not.toMatch(/pause\(a\?\.b\(\)\)/);
    expect(lowered.script).not.toMatch(/pause\(a\.b\?\.\(c\)\)/);
    expect(lowered.script).toContain('reducerdb$pause(a.b?.(c).d())');
  });
});
