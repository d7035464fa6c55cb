import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { buildModule } from '../../src/bundle/build-module.ts';
import { BinaryWriter } from '../../src/values/binary-writer.ts';
import { loadDescribed } from '../support/module-under-test.ts';
import { hostilePrograms, hostileSource } from './programs.ts';

/** Reducers of a module are numbered in order of their names. */
const attackId = 0;
const writeId = 1;

function textArgument(text: string): Uint8Array {
  const writer = new BinaryWriter();
  writer.string(text);
  return writer.finish();
}

describe('hostile programs that end by themselves', () => {
  const ending = hostilePrograms.filter(({ end }) => end === 'crashed' || end === 'returned');
  for (const { name, end } of ending) {
    it(`${name}: the call ends, the database serves on`, async () => {
      const { program } = await buildModule(hostileSource(name));
      const { call, store } = await loadDescribed(program);
      const count = () => store.tableByName('note')?.rowCount;
      expect(call(writeId, { args: textArgument('before') }).kind).toBe('returned');
      for (let round = 0; round < 3; round += 1) expect(call(attackId).kind).toBe(end);
      expect(call(writeId, { args: textArgument('after') }).kind).toBe('returned');
      expect(count()).toBe(end === 'returned' ? 5 : 2);
    });
  }
});

describe('all hostile programs', () => {
  it('can be built', async () => {
    for (const { name } of hostilePrograms) {
      expect(existsSync(hostileSource(name)), name).toBe(true);
      const { program } = await buildModule(hostileSource(name));
      expect(program.length).toBeGreaterThan(0);
    }
  });
});
