import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root } from '../service/harness.ts';
import type { ToolName, Tools } from '../support/tools.ts';

/** The scenarios that one edition of the suite has for servers of one revision. */
export interface SuiteSet {
  readonly name: string;
  readonly tool: ToolName;
  /** Only what this revision requires; absent: all that is active. */
  readonly revision?: string;
  /** Scenarios that the revision requires. */
  readonly requiredCount: number;
  /** The lists of failures that are expected are kept by era. */
  readonly era: 'legacy' | 'modern';
}

export const suiteSets: readonly SuiteSet[] = [
  {
    name: '0.1.16, all that is active',
    tool: 'conformance',
    requiredCount: 30,
    era: 'legacy',
  },
  {
    name: '0.2 alpha, 2025-11-25',
    tool: 'conformance-alpha',
    revision: '2025-11-25',
    requiredCount: 30,
    era: 'legacy',
  },
  {
    name: '0.2 alpha, 2026-07-28',
    tool: 'conformance-alpha',
    revision: '2026-07-28',
    requiredCount: 37,
    era: 'modern',
  },
];

/** What the suite found in one scenario. */
export interface ScenarioReport {
  readonly scenario: string;
  /** False: an extension, or too new for the revision; whatever comes of it, the set passes. */
  readonly isScored: boolean;
  readonly passed: number;
  readonly warned: number;
  /** Checks by their ids. */
  readonly failed: readonly string[];
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
  set: SuiteSet,
  { url, expected }: { readonly url: string; readonly expected: string },
): Promise<SuiteReport> {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-conformance-'));
  try {
    const only = set.revision === undefined ? [] : ['--requirements', set.revision];
    const args = ['server', '--url', url, ...only, '--expected-failures', expected, '-o', folder];
    const { code, stdout, stderr } = await tools.run(set.tool, args);
    const unscored = await unscoredOf(tools, set);
    return {
      isAsExpected: code === 0,
      scenarios: readdirSync(folder).map((name) => {
        const scenario = scenarioOf(name);
        const isScored = !unscored.includes(scenario);
        return { scenario, isScored, ...readCounts(path.join(folder, name)) };
      }),
      output: stdout + stderr,
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A folder is named after its scenario and the time. */
function scenarioOf(folder: string): string {
  return folder.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '');
}

/** Scenarios that are listed behind the required ones, as `- name [server]`. */
async function unscoredOf(tools: Tools, { tool, revision }: SuiteSet): Promise<string[]> {
  if (revision === undefined) return [];
  const { stdout } = await tools.run(tool, ['list', '--requirements', revision]);
  return [...stdout.matchAll(/^ +- (\S+) \[server\]$/gm)].map(([, name]) => String(name));
}

function readCounts(folder: string) {
  const checks: { id: string; status: string }[] = JSON.parse(
    readFileSync(path.join(folder, 'checks.json'), 'utf8'),
  );
  const idsOf = (wanted: string) =>
    checks.filter(({ status }) => status === wanted).map(({ id }) => id);
  return {
    passed: idsOf('SUCCESS').length,
    warned: idsOf('WARNING').length,
    failed: idsOf('FAILURE'),
  };
}
