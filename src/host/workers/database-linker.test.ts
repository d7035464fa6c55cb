import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { ProgramError } from '../../module/runner.ts';
import { databaseIdentity } from '../../values/identity-roles.ts';
import { KeptPrograms } from '../linking/kept-programs.ts';
import { encodeLinked } from '../linking/linked-file.ts';
import type { Linker } from '../linking/linker.ts';
import { linkerVersion } from '../linking/linker-version.ts';
import { DatabaseLinker } from './database-linker.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'database-linker-'));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const linked = encodeLinked(
  { script: 'exports', sourceMap: '', imports: [], seed: new Uint8Array(32) },
  { programHash: new Uint8Array(32).fill(7), linkerVersion: linkerVersion() },
);

function linkerOf(link: () => Promise<Uint8Array>): DatabaseLinker {
  mkdirSync(folder, { recursive: true });
  return new DatabaseLinker({
    identity: databaseIdentity(1n),
    programs: new KeptPrograms(path.join(folder, 'programs')),
    linker: { link } as unknown as Linker,
    report: () => undefined,
  });
}

it('keeps what an examination got, although that was transferred meanwhile', async () => {
  const linker = linkerOf(async () => new Uint8Array(linked));
  const { outcome, kept } = await linker.linkAside(new Uint8Array(1));
  if (outcome.kind !== 'linked') throw new Error(outcome.kind);
  expect(outcome.bytes).toEqual(new Uint8Array(linked));
  structuredClone(outcome.bytes, { transfer: [outcome.bytes.buffer as ArrayBuffer] });
  await kept;
  expect(readdirSync(path.join(folder, 'programs'))).toHaveLength(1);
});

it('keeps nothing of a program that cannot be linked', async () => {
  const linker = linkerOf(() => Promise.reject(new ProgramError('no program')));
  const { outcome, kept } = await linker.linkAside(new Uint8Array(1));
  expect(outcome).toEqual({ kind: 'failed', message: 'no program' });
  await kept;
  expect(readdirSync(folder)).toEqual([]);
});
