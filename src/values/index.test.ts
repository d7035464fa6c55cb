import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';
import { describe, expect, it } from 'vitest';
import * as values from './index.ts';
import { Interval, Time } from './schedule-at.ts';

const folder = fileURLToPath(new URL('.', import.meta.url));

/** Names that an example can use. */
const scope: Readonly<Record<string, unknown>> = { ...values, Interval, Time };

describe('the published entry', () => {
  const published = namesIn(readFileSync(path.join(folder, 'index.ts'), 'utf8'));

  it('has an example for every export', () => {
    const documented = new Set(examples().map((example) => example.name));
    expect(published.filter((name) => !documented.has(name))).toEqual([]);
  });

  for (const { name, code } of examples()) {
    it(`does what the example of ${name} says`, () => {
      const script = transformSync(withChecks(code), { loader: 'ts', target: 'es2022' }).code;
      const run = new Function(...Object.keys(scope), 'check', 'checkThrows', script);
      run(...Object.values(scope), check, checkThrows);
    });
  }
});

interface Example {
  /** The export whose comment contains it. */
  readonly name: string;
  readonly code: string;
}

function examples(): Example[] {
  const block = /@example\n \* ```ts\n((?: \*.*\n)*?) \* ```\n \*\//.source;
  const name = /(?:const|function|class|interface|type) (\w+)/.source;
  const pattern = new RegExp(`${block}\\nexport ${name}`, 'g');
  return readdirSync(folder)
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .flatMap((file) => [...readFileSync(path.join(folder, file), 'utf8').matchAll(pattern)])
    .map(([, block = '', name = '']) => ({ name, code: block.replace(/^ \* ?/gm, '') }));
}

/** Turns `expression; // result` into a check; `throws` is followed by the start of the message. */
function withChecks(code: string): string {
  return code
    .split('\n')
    .map((line) => {
      const [, expression, result] = /^(?!const |let )(.+); \/\/ (.+)$/.exec(line) ?? [];
      if (expression === undefined || result === undefined) return line;
      const thrown = /^throws (.+)$/.exec(result)?.[1];
      return thrown === undefined
        ? `check(${expression}, ${result});`
        : `checkThrows(() => ${expression}, ${thrown});`;
    })
    .join('\n');
}

function check(actual: unknown, expected: unknown): void {
  expect(actual).toEqual(expected);
}

function checkThrows(act: () => unknown, message: string): void {
  expect(act).toThrow(message);
}

function namesIn(text: string): string[] {
  return [...text.matchAll(/export (?:type )?\{([^}]*)\}/g)].flatMap(([, list = '']) =>
    list
      .split(',')
      .map((item) => item.replace('type ', '').trim())
      .filter((item) => item !== ''),
  );
}
