import { describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { fromBase64, toBase64 } from './base64.ts';
import { StateSeal } from './sealed-state.ts';

const key = (fill: number) => new Uint8Array(32).fill(fill);

describe('a sealed state', () => {
  it('[mcp B6] opens for what it was made for, and cannot be read', async () => {
    const seal = new StateSeal(key(1));
    const sealed = await seal.seal('step 2 – ünï', 'ada');
    expect(atob(sealed)).not.toContain('step');
    expect(await seal.open(sealed, 'ada')).toBe('step 2 – ünï');
    expect(await seal.seal('step 2 – ünï', 'ada')).not.toBe(sealed);
  });

  it('[mcp B6] opens for nobody else, and not with another key', async () => {
    const seal = new StateSeal(key(1));
    const sealed = await seal.seal('x', 'ada');
    expect(await seal.open(sealed, 'bob')).toBeUndefined();
    expect(await new StateSeal(key(2)).open(sealed, 'ada')).toBeUndefined();
  });

  it('[mcp B6] does not open when any part of it was changed', async () => {
    const seal = new StateSeal(key(1));
    const sealed = await seal.seal('some state', 'ada');
    const bytes = fromBase64(sealed) ?? new Uint8Array();
    for (const at of bytes.keys()) {
      const changed = toBase64(bytes.map((byte, index) => (index === at ? byte ^ 1 : byte)));
      expect(await seal.open(changed, 'ada'), `changed at ${at}`).toBeUndefined();
    }
    for (const bad of ['', 'A', '!', `${sealed}-TAMPERED`, sealed.slice(4), 'AAAA']) {
      expect(await seal.open(bad, 'ada'), bad).toBeUndefined();
    }
  });

  it('[mcp B6] expires', async () => {
    let now = 1_000;
    const seal = new StateSeal(key(1), () => now);
    const sealed = await seal.seal('x', 'ada');
    now += limits.mcpStateMillisMax;
    expect(await seal.open(sealed, 'ada')).toBe('x');
    now += 1;
    expect(await seal.open(sealed, 'ada')).toBeUndefined();
  });
});
