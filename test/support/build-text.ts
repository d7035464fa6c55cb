import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildModule } from '../../src/bundle/build-module.ts';
import type { ProgramSource } from '../../src/database/program-source.ts';

const built = new Map<string, Promise<ProgramSource>>();

/** Builds a module from the text of its only file, as the command line would. */
export function buildText(text: string): Promise<ProgramSource> {
  const known = built.get(text) ?? build(text);
  built.set(text, known);
  return known;
}

async function build(text: string): Promise<ProgramSource> {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-module-'));
  try {
    mkdirSync(path.join(folder, 'src'));
    writeFileSync(path.join(folder, 'package.json'), '{ "name": "under-test" }\n');
    writeFileSync(path.join(folder, 'src/index.ts'), text);
    const { program } = await buildModule(folder);
    return { kind: 'js', bytes: program };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
