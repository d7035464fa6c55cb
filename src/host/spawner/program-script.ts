import { Buffer } from 'node:buffer';
import type { build as Build, BuildOptions } from 'esbuild';

/** Bundles a program and makes a script of it; `build` is the bundler. */
export async function bundleScript(
  build: typeof Build,
  options: BuildOptions,
): Promise<Uint8Array> {
  const { outputFiles, metafile } = await build({
    ...options,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    define: { 'import.meta.url': 'programUrl' },
    metafile: true,
    write: false,
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  return programScript(outputFiles.map(({ text }) => text).join(''), imports.length);
}

/**
 * Makes of a bundle, a module that imports parts of Node alone, an expression in Latin-1: a
 * function that runs the bundle, given `require` and its own address. The engine can keep what it
 * has compiled of a script, but not of a module. Lines stay where they are. `importCount`: as the
 * bundler says.
 */
export function programScript(bundle: string, importCount: number): Uint8Array {
  const names: string[] = [];
  let found = 0;
  const body = bundle.replace(importLine, (_line, main, all, some, source) => {
    found += 1;
    const part = `require("${source}")`;
    if (main !== undefined) names.push(`${main} = ${part}`);
    if (all !== undefined) names.push(`${all} = ${part}`);
    if (some !== undefined) names.push(`{${some.replaceAll(' as ', ': ')}} = ${part}`);
    return '';
  });
  if (found !== importCount) {
    const not = `of which ${found} are parts of Node`;
    throw new Error(`the program of a thread has ${importCount} imports, ${not}`);
  }
  const first = names.length === 0 ? '' : `var ${names.join(', ')}; `;
  const script = `(function (require, programUrl) { 'use strict'; ${first}${body}\n})\n`;
  // Other characters would double the memory of the text in every thread.
  const beyond = script.split('\n').find((line) => /[^\0-\xff]/.test(line));
  if (beyond !== undefined) throw new Error(`not Latin-1, escape it: ${beyond.trim()}`);
  return Buffer.from(script, 'latin1');
}

const importLine =
  /^import (?:(\w+)(?:, | ))?(?:\* as (\w+) )?(?:\{([^}]*)\} )?(?:from )?"(node:[^"]+)";$/gm;
