import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { utf8Length } from '../../src/values/utf8.ts';
import { type Inn, openInn } from './inn.ts';
import { hostWide, rpc, scoped } from './mcp-support.ts';

let inn: Inn;
beforeAll(async () => {
  inn = await openInn();
});
afterAll(() => inn.running.stop());

/** What an agent pays for a result before it has asked anything. */
async function tokensOf(mode: typeof hostWide, method: string, features?: string): Promise<number> {
  const options = features === undefined ? { mode } : { mode, features };
  const { result } = await rpc(inn.running, options, method, { protocolVersion: '2025-11-25' });
  return encode(JSON.stringify(result)).length;
}

const all = 'preview,explain,logs,backup,watch,ledger,source,whoami,fence';

describe.each([hostWide, scoped])('what an agent reads first, $name', (mode) => {
  it('[mcp B13] is a list of tools of less than 1,500 tokens', async () => {
    expect(await tokensOf(mode, 'tools/list')).toBeLessThan(1_500);
  });

  it('[mcp B13] is a list of tools of at most 3,500 tokens with all features', async () => {
    expect(await tokensOf(mode, 'tools/list', all)).toBeLessThanOrEqual(3_500);
  });

  it('[ease 4.8] is a list of tools of at most 3,500 tokens of 4 bytes, with all features', async () => {
    const { result } = await rpc(inn.running, { mode, features: all }, 'tools/list');
    expect(utf8Length(JSON.stringify(result)) / 4).toBeLessThanOrEqual(3_500);
  });

  it('[mcp B13] is a greeting of less than 600 tokens, with all features', async () => {
    expect(await tokensOf(mode, 'initialize', all)).toBeLessThan(600);
  });
});
