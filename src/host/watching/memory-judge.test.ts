import { describe, expect, it } from 'vitest';
import { judgeMemory, type Suspect } from './memory-judge.ts';

const limits = { bytesMax: 500, silentMillisMax: 80 };

function suspect(name: string, figures: Partial<Suspect>): Suspect & { name: string } {
  return {
    name,
    ...{ grownBytes: 10, silentMillis: 0, processBytes: 600, faultBytes: 0, sinceMillis: 0 },
    ...figures,
  };
}

const verdict = (list: readonly (Suspect & { name: string })[], mayGuess = true) =>
  judgeMemory(list, limits, mayGuess)?.name;

describe('the verdict on memory', () => {
  const computes = suspect('computes', { sinceMillis: 1 });
  const isStuck = { grownBytes: undefined, silentMillis: 100 };

  it('is about what a call says of itself, not about who ran longest', () => {
    const eats = suspect('eats', { grownBytes: 501, sinceMillis: 50 });
    expect(verdict([computes, eats])).toBe('eats');
    expect(verdict([eats, computes])).toBe('eats');
  });

  it('names the largest of several', () => {
    const some = suspect('some', { grownBytes: 501 });
    const most = suspect('most', { grownBytes: 900 });
    expect(verdict([some, most, computes])).toBe('most');
  });

  it('never falls on who answered and is below', () => {
    const nearly = suspect('nearly', { grownBytes: 500, processBytes: 10_000, faultBytes: 9_999 });
    expect(verdict([computes, nearly])).toBe(undefined);
    const waiting = suspect('waiting', { grownBytes: 400, silentMillis: 80, faultBytes: 600 });
    expect(verdict([waiting])).toBe(undefined);
  });

  it('falls on who does not answer and touched the memory', () => {
    const stuck = suspect('stuck', { ...isStuck, faultBytes: 550, sinceMillis: 50 });
    expect(verdict([computes, stuck])).toBe('stuck');
    const sorts = suspect('sorts', { ...isStuck, faultBytes: 20, sinceMillis: 1 });
    expect(verdict([sorts, stuck])).toBe('stuck');
    expect(verdict([sorts])).toBe(undefined);
  });

  it('takes off what the others explain', () => {
    const honest = suspect('honest', { grownBytes: 400, processBytes: 800 });
    const stuck = suspect('stuck', { ...isStuck, faultBytes: 300, processBytes: 800 });
    expect(verdict([honest, stuck])).toBe(undefined);
    const later = suspect('later', { ...isStuck, faultBytes: 600, processBytes: 1_000 });
    expect(verdict([honest, later])).toBe('later');
  });

  it('does not believe what was said before the silence', () => {
    const before = suspect('before', { grownBytes: 100, silentMillis: 100, faultBytes: 550 });
    expect(verdict([computes, before])).toBe('before');
  });

  it('falls on the longest of the silent where nobody counts faults', () => {
    const unknown = { ...isStuck, faultBytes: undefined };
    const first = suspect('first', { ...unknown, sinceMillis: 1 });
    const second = suspect('second', { ...unknown, sinceMillis: 50 });
    expect(verdict([second, first, computes])).toBe('first');
  });

  it('does not guess while the memory of one that was ended is still counted', () => {
    const stuck = suspect('stuck', { ...isStuck, faultBytes: 550 });
    const eats = suspect('eats', { grownBytes: 501 });
    expect(verdict([stuck], false)).toBe(undefined);
    expect(verdict([stuck, eats], false)).toBe('eats');
  });
});
