import { readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from '../harness.ts';

/** Who asks, as the columns of the tables name them; the last three are limited tokens. */
export const callers = [
  'anonymous',
  'stranger',
  'reader',
  'developer',
  'admin',
  'owner',
  'operator',
  'reads',
  'calls',
  'writes',
] as const;

export type CallerName = (typeof callers)[number];

/** What one caller may do, as the guide says it. */
export interface MatrixRow {
  /** The first cell, without the marks of code. */
  readonly label: string;
  /** The first code in it: a request, a statement, the name of a tool. */
  readonly code: string;
  readonly expected: Readonly<Record<CallerName, string>>;
  /** Cells behind those of the callers. */
  readonly more: readonly string[];
}

const guide = readFileSync(path.join(root, 'docs/guide/rights.md'), 'utf8');

/** The table of the guide whose first column has this name. */
export function matrixOf(first: string): readonly MatrixRow[] {
  const lines = guide.split('\n');
  const head = lines.findIndex((line) => line.startsWith(`| ${first} | ${callers.join(' | ')} |`));
  if (head < 0) throw new Error(`the guide has no table of each ${first}`);
  const body = lines.slice(head + 2);
  return body
    .slice(
      0,
      body.findIndex((line) => !line.startsWith('|')),
    )
    .map(rowOf);
}

function rowOf(line: string): MatrixRow {
  const code = /`([^`]*)`/.exec(line.split('|')[1] ?? '')?.[1] ?? '';
  const [label = '', ...cells] = line
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim().replaceAll('`', ''));
  const expected = callers.map((caller, at) => [caller, cells[at]]);
  return { label, code, expected: Object.fromEntries(expected), more: cells.slice(callers.length) };
}
