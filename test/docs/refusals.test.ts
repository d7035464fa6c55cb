import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RefusalBody } from '../../src/database/outcome.ts';
import { statusOf } from '../../src/doors/refusal-status.ts';
import { root } from '../service/harness.ts';

interface Row {
  readonly codes: readonly string[];
  readonly cells: readonly string[];
}

const page = read('docs/spec/refusals.md');

function read(file: string): string {
  return readFileSync(path.join(root, file), 'utf8');
}

/** The rows of the first table of a section, whose first column is `code`. */
function codeRows(heading: string): Row[] {
  const [, section = ''] = page.split(`\n${heading}\n`);
  const [, table = ''] = section.split(/\n\| code \|.*\n\|[-|]+\n/);
  const [rows = ''] = table.split('\n\n');
  return rows.split('\n').map((row) => {
    const cells = row.slice(1, -1).split(/(?<!\\)\|/);
    const codes = [...(cells[0] ?? '').matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
    return { codes, cells: cells.map((cell) => cell.trim()) };
  });
}

/** The codes that `answer-counts.ts` counts: those of all refusals, which the compiler ensures. */
function codesOfRefusals(): string[] {
  const counted = read('src/host/supervision/answer-counts.ts');
  return [...counted.matchAll(/^ {2}'?([\w.]+)'?: '(?:refused|failed)',$/gm)].map(found);
}

function codesOfClient(): string[] {
  return [...read('src/client/errors.ts').matchAll(/^ {2}\| '([^']+)'/gm)].map(found);
}

function found([, code = '']: RegExpMatchArray): string {
  return code;
}

describe.each([
  ['of requests', '## 1. Codes of requests', codesOfRefusals()],
  ['of the client library', '## 5. Client library', codesOfClient()],
])('the codes %s', (_name, heading, codes) => {
  const listed = codeRows(heading).flatMap((row) => row.codes);

  it('are in the list of refusals, each once, and no other', () => {
    expect(codes.length).toBeGreaterThan(8);
    expect([...listed].sort()).toEqual([...codes].sort());
  });

  it('name a subject and its fault', () => {
    const bucket = 'other';
    const strange = codes.filter((code) => !/^[a-z][A-Za-z]*\.[a-z][A-Za-z]*$/.test(code));
    expect(strange.filter((code) => code !== bucket)).toEqual([]);
  });
});

it('the list of refusals has the status of each code', () => {
  for (const { codes, cells } of codeRows('## 1. Codes of requests')) {
    const [code = '', status = ''] = [codes[0], cells[1]];
    if (/^\d+$/.test(status))
      expect([code, statusOf(code as Code)]).toEqual([code, Number(status)]);
    else expect(() => statusOf(code as Code), code).toThrow('unreachable');
  }
});

type Code = RefusalBody['code'];

it('the list of refusals names files that exist', () => {
  const files = [...page.matchAll(/`([a-z-]+\/[\w/.-]*\.ts)`/g)].map(found);
  const missing = files.filter((file) => {
    return !existsSync(path.join(root, file.startsWith('src/') ? file : `src/${file}`));
  });
  expect(missing).toEqual([]);
});
