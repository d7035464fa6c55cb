import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root } from '../service/harness.ts';
import type { ToolName, Tools } from '../support/tools.ts';

/** The scenarios that one edition of the suite has for servers of one revision. */
export interface SuiteSet {
  readonly name: string;
  readonly tool: ToolName;
  readonly flags: readonly string[];
  /** Scenarios that the revision requires; what is optional comes on top of them. */
  readonly requiredCount: number;
  /** The lists of failures that are expected are kept by era. */
  readonly era: 'legacy' | 'modern';
}

export const suiteSets: readonly SuiteSet[] = [
  {
    name: '0.1.16, all that is active',
    tool: 'conformance',
    flags: [],
    requiredCount: 30,
    era: 'legacy',
  },
  {
    name: '0.2 alpha, 2025-11-25',
    tool: 'conformance-alpha',
    flags: ['--requirements', '2025-11-25'],
    requiredCount: 30,
    era: 'legacy',
  },
  {
    name: '0.2 alpha, 2026-07-28',
    tool: 'conformance-alpha',
    flags: ['--requirements', '2026-07-28'],
    requiredCount: 37,
    era: 'modern',
  },
];

/** What the suite found in one scenario. */
export interface ScenarioReport {
  readonly scenario: string;
  readonly passed: number;
  readonly warned: number;
  readonly failed: number;
}

export interface SuiteReport {
  /** True: nothing fails or warns but what is expected to, and all of that does. */
  readonly isAsExpected: boolean;
  readonly scenarios: readonly ScenarioReport[];
  readonly output: string;
}

/** A failure that is expected, and why. */
export interface Expected {
  readonly scenario: string;
  readonly reason: string;
}

/** `who` is the server: `fixtures`, or an endpoint of the product. */
export function expectedFile(who: string, { era }: SuiteSet): string {
  return path.join(root, 'test/conformance/expected-failures', `${who}-${era}.yaml`);
}

/** The list in a file that the suite reads, too; each line of it must end with a reason. */
export function readExpected(file: string): readonly Expected[] {
  const [head, ...lines] = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (head === 'server: []' && lines.length === 0) return [];
  if (head !== 'server:') throw new Error(`${file}: begins with \`${head}\``);
  return lines.map((line) => {
    const [, scenario = '', reason = ''] = /^ {2}- ([a-z0-9-]+) # (\S.*)$/.exec(line) ?? [];
    if (scenario === '') throw new Error(`${file}: no scenario with its reason: ${line}`);
    return { scenario, reason };
  });
}

/** Runs one set against the server at `url`. */
export async function runSuite(
  tools: Tools,
  { tool, flags }: SuiteSet,
  { url, expected }: { readonly url: string; readonly expected: string },
): Promise<SuiteReport> {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-conformance-'));
  try {
    const args = ['server', '--url', url, ...flags, '--expected-failures', expected, '-o', folder];
    const { code, stdout, stderr } = await tools.run(tool, args);
    return {
      isAsExpected: code === 0,
      scenarios: readdirSync(folder).map((name) => readReport(folder, name)),
      output: stdout + stderr,
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A folder is named after its scenario and the time. */
function readReport(folder: string, name: string): ScenarioReport {
  const checks: { status: string }[] = JSON.parse(
    readFileSync(path.join(folder, name, 'checks.json'), 'utf8'),
  );
  const count = (wanted: string) => checks.filter(({ status }) => status === wanted).length;
  return {
    scenario: name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, ''),
    passed: count('SUCCESS'),
    warned: count('WARNING'),
    failed: count('FAILURE'),
  };
}
