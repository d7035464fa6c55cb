import vm from 'node:vm';
import { describe, expect, it } from 'vitest';
import { programScript } from './program-script.ts';

const bundle = `// a
import os from "node:os";
import * as all from "node:path";
import { join, resolve as full } from "node:path";
import fs, {
  readFileSync as read
} from "node:fs";
import "node:events";
var seen = [os, all, join, full, fs, read, programUrl, this];
seen.push(new Error("here"));
globalThis.seen = seen;
`;

function run(script: Uint8Array): unknown[] {
  const parts: Record<string, unknown> = {
    'node:os': { os: 1 },
    'node:path': { join: 'join', resolve: 'resolve' },
    'node:fs': { readFileSync: 'read' },
  };
  const context = vm.createContext({});
  const text = new TextDecoder('latin1').decode(script);
  const program = new vm.Script(text, { filename: 'file:///program' }).runInContext(context);
  program((name: string) => parts[name], 'file:///program');
  return context.seen;
}

describe('the script of a program', () => {
  it('has the same parts of Node, its own address, and its lines where they were', () => {
    const [os, all, join, full, fs, read, address, self, error] = run(programScript(bundle, 5));
    expect({ os, all, join, full, fs, read, address, self }).toEqual({
      os: { os: 1 },
      all: { join: 'join', resolve: 'resolve' },
      join: 'join',
      full: 'resolve',
      fs: { readFileSync: 'read' },
      read: 'read',
      address: 'file:///program',
      self: undefined,
    });
    const line = bundle.split('\n').findIndex((text) => text.includes('new Error')) + 1;
    expect(String((error as Error).stack)).toContain(`file:///program:${line}:11`);
  });

  it('has characters of Latin-1 as one byte each, and no others', () => {
    const [text] = run(programScript('globalThis.seen = ["\u00e4\u00df"];', 0));
    expect(text).toBe('\u00e4\u00df');
    expect(() => programScript('var x = /\u0153/;', 0)).toThrow(/^not Latin-1, escape it: .*var x/);
  });

  it('refuses imports of anything but Node', () => {
    expect(() => programScript('import x from "pg";', 1)).toThrow(
      'has 1 imports, of which 0 are parts of Node',
    );
  });
});
