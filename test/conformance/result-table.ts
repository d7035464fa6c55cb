import type { ScenarioReport } from './suite.ts';

/** What one run of the suite found. */
export interface Column {
  readonly title: string;
  readonly scenarios: readonly ScenarioReport[];
}

/** A line for each scenario, and in it a word for each run; the runs are listed in front. */
export function tableOf(columns: readonly Column[]): string {
  const names = [...new Set(columns.flatMap(({ scenarios }) => scenarios.map(nameOf)))].sort();
  const width = Math.max(...names.map((name) => name.length));
  const lines = names.map((name) => {
    const words = columns.map(({ scenarios }) => wordFor(scenarios.find(isNamed(name))));
    return `${name.padEnd(width)} ${words.map((word) => word.padEnd(10)).join('')}`.trimEnd();
  });
  const numbers = columns.map((_, at) => `(${at + 1})`.padEnd(10)).join('');
  const titles = columns.map(({ title, scenarios }, at) => {
    const scored = scenarios.filter(({ isScored }) => isScored);
    const passing = scored.filter((one) => wordFor(one) === 'ok').length;
    return `(${at + 1}) ${title}: ${passing} of ${scored.length}`;
  });
  return [...titles, `${' '.repeat(width)} ${numbers}`.trimEnd(), ...lines].join('\n');
}

const nameOf = ({ scenario }: ScenarioReport) => scenario;
const isNamed = (name: string) => (report: ScenarioReport) => report.scenario === name;

function wordFor(report: ScenarioReport | undefined): string {
  if (report === undefined) return '';
  const { failed, warned, passed, isScored } = report;
  const word = failed.length > 0 ? 'fails' : warned > 0 ? 'warns' : passed > 0 ? 'ok' : 'skipped';
  return isScored ? word : `(${word})`;
}
