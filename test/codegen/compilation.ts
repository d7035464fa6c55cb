import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { root } from './described.ts';

/** A folder in which bindings, and programs that use them, are compiled. */
export function compilation() {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-bindings-'));

  /** Writes files and says what the compiler says about them. */
  async function complaints(
    name: string,
    texts: Readonly<Record<string, string>>,
    options: object = {},
  ): Promise<string> {
    const place = path.join(folder, name);
    for (const [file, text] of Object.entries({
      ...texts,
      'package.json': '{"type":"module"}',
      'tsconfig.json': JSON.stringify({
        extends: path.join(root, 'test/types/client/tsconfig.json'),
        compilerOptions: {
          paths: { 'reducerdb/client': [path.join(root, 'src/client/index.ts')] },
          ...options,
        },
        include: [place],
      }),
    })) {
      const target = path.join(place, file);
      mkdirSync(path.dirname(target), { recursive: true });
      writeFileSync(target, text);
    }
    const compiler = createRequire(import.meta.url).resolve('typescript/package.json');
    const tsc = path.join(path.dirname(compiler), 'bin/tsc');
    const run = promisify(execFile)(process.execPath, [tsc, '-p', place, '--noEmit']);
    const { stdout } = await run.catch((error: { stdout: string }) => error);
    return stdout;
  }

  const remove = () => rmSync(folder, { recursive: true, force: true });
  return { complaints, remove };
}
