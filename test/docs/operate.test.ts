import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { root } from '../service/harness.ts';
import { type Person, Running } from '../service/running.ts';
import { SocketClient } from '../service/socket-client.ts';
import { tavern } from '../service/tavern-module.ts';
import { alertRules, rulesFile } from '../support/alert-rules.ts';
import { type Family, familiesIn } from '../support/prometheus-text.ts';
import { evaluate, selectorsIn } from '../support/promql.ts';

/** What operators take from us for Prometheus and Grafana, against a service that is scraped. */

const dashboardFile = path.join(root, 'docs/operate/grafana-dashboard.json');
const promtool = findPromtool();

interface Dashboard {
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;
    readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
  readonly templating: { readonly list: readonly { readonly name: string }[] };
}

const dashboard: Dashboard = JSON.parse(readFileSync(dashboardFile, 'utf8'));
const panelExpressions = dashboard.panels.flatMap(({ title, targets }) =>
  targets.map(({ expr }) => [title, expr] as const),
);

let running: Running;
let owner: Person;
let text: string;
let families: ReadonlyMap<string, Family>;

beforeAll(async () => {
  running = await Running.start({ quotas: { 'databases-per-identity': 5, 'log-bytes': 2 ** 30 } });
  owner = await running.person();
  const { status, text: said } = await running.upload('tavern', await tavern(), owner);
  if (status !== 200) throw new Error(said);
  await running.call('tavern', 'add', [1, 'Ann', 1]);
  await running.call('tavern', 'no_such_reducer', []);
  await running.sql('tavern', 'SELECT * FROM person', owner);
  await running.sql('tavern', 'SELECT nonsense', owner);
  await running.tool('tavern', 'sql', { sql: 'SELECT name FROM person' });
  const client = await SocketClient.open(running.service.url, 'tavern');
  // Figures of the actor are sent every now and then.
  const isMeasured = /^reducerdb_sync_duration_seconds_count\{.*\} [1-9]/m;
  await vi.waitUntil(async () => isMeasured.test(await scrape()), { timeout: 60_000 });
  await client.close();
});
afterAll(() => running.stop());

async function scrape(): Promise<string> {
  text = (await running.ask('GET', '/v1/metrics')).text;
  families = familiesIn(text);
  return text;
}

/** The family of a series: those of histograms have names of their own. */
function familyOf(name: string): Family | undefined {
  return families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ''));
}

/** Prometheus has this one of its own for each service that it scrapes. */
const ofPrometheus = ['up'];

/** What an expression asks for and the service does not have. */
function unknownIn(expression: string): string[] {
  const selectors = selectorsIn(expression);
  const grouping = [...expression.matchAll(/\b(?:by|on|ignoring)\s*\(([^)]*)\)/g)];
  const grouped = grouping.flatMap(([, names = '']) => names.split(',').map((one) => one.trim()));
  return selectors.flatMap(({ name, labels }) => {
    if (ofPrometheus.includes(name)) return [];
    const family = familyOf(name);
    if (family === undefined || family.samples.length === 0) return [name];
    const has = (label: string) => family.samples.some((sample) => label in sample.labels);
    return [...labels, ...grouped].filter((label) => !has(label)).map((one) => `${name}{${one}}`);
  });
}

function findPromtool(): string | undefined {
  try {
    execFileSync('promtool', ['--version'], { stdio: 'ignore' });
    return 'promtool';
  } catch {
    return undefined;
  }
}

describe('the metrics', () => {
  it('[operating] are what a strict reader of the format expects', () => {
    expect(families.size).toBeGreaterThan(45);
    expect(families.get('reducerdb_answer_duration_seconds')?.type).toBe('histogram');
  });

  it('[operating] count what was asked over each door, and what came of it', () => {
    const counts = (operation: string, outcome: string) =>
      evaluate(
        'sum by (operation) (reducerdb_answer_duration_seconds_count' +
          `{operation="${operation}", outcome="${outcome}"})`,
        { before: [], now: [...families.values()].flatMap(({ samples }) => samples), seconds: 1 },
      ).map(({ value }) => value);
    expect(counts('call', 'ok')).toEqual([1]);
    expect(counts('call', 'refused')).toEqual([1]);
    // One over HTTP, one over MCP.
    expect(counts('sql', 'ok')).toEqual([2]);
    expect(counts('sql', 'refused')).toEqual([1]);
    const unknown = 'code="reducer.unknown",outcome="refused"';
    expect(text).toMatch(new RegExp(`^reducerdb_refusals_total\\{.*${unknown}\\} 1$`, 'm'));
    expect(text).toMatch(/^reducerdb_sync_duration_seconds_count\{.*\} [1-9]/m);
    expect(text).toMatch(/^reducerdb_queue_wait_seconds_count\{.*\} [1-9]/m);
  });

  it('[operating] have labels of a fixed set, and nothing that a module or a client chose', () => {
    const samples = [...families.values()].flatMap((family) => family.samples);
    const labels = new Set(samples.flatMap((sample) => Object.keys(sample.labels)));
    expect([...labels].sort()).toEqual([
      ...['code', 'database', 'endpoint', 'kind', 'le', 'operation', 'outcome', 'owner', 'part'],
      ...['quantile', 'quota', 'reason', 'state', 'status'],
    ]);
    for (const word of ['tavern', 'no_such_reducer', 'person', 'Ann', 'nonsense']) {
      expect(text).not.toContain(word);
    }
  });

  it('[operating] are those that the guide names', () => {
    const guide = readFileSync(path.join(root, 'docs/guide/operating.md'), 'utf8');
    const named = [...guide.matchAll(/`(reducerdb_\w+)/g)].map(([, name = '']) => name);
    expect(named.length).toBeGreaterThan(30);
    expect(named.filter((name) => familyOf(name) === undefined)).toEqual([]);
  });

  it.skipIf(promtool === undefined)('[operating] please promtool', () => {
    const told = execFileSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
    expect(told).toBe('');
  });
});

describe('the alert rules', () => {
  const rules = alertRules();

  it('[operating] have names and texts of their own', () => {
    expect(rules.length).toBeGreaterThan(10);
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    const guide = readFileSync(path.join(root, 'docs/guide/operating.md'), 'utf8');
    for (const { alert } of rules) expect(guide).toContain(`\`${alert}\``);
  });

  it('[operating] are each fired by a test that brings their cause about', () => {
    const quick = ['alerts', 'full-disk', 'schedules'].map(
      (name) => `test/service/${name}.test.ts`,
    );
    const tests = [...quick, 'test/long/alerts.long.ts'];
    const fired = tests.map((file) => readFileSync(path.join(root, file), 'utf8')).join();
    const isFired = (alert: string) =>
      fired.includes(`watch.fires('${alert}')).toBe(true)`) ||
      fired.includes(`expectFired('${alert}'`);
    expect(rules.map(({ alert }) => alert).filter((alert) => !isFired(alert))).toEqual([]);
  });

  it.each(rules.map(({ alert, expr }) => [alert, expr]))(
    '[operating] %s asks for what there is, and a service that is well does not fire it',
    (_, expr) => {
      expect(unknownIn(expr)).toEqual([]);
      const samples = [...families.values()].flatMap((family) => family.samples);
      const up = { name: 'up', labels: { job: 'reducerdb' }, value: 1 };
      const scrapes = { before: [...samples, up], now: [...samples, up], seconds: 15 };
      // The disk of the machine that tests may be full indeed.
      if (!expr.includes('disk_bytes')) expect(evaluate(expr, scrapes)).toEqual([]);
    },
  );

  it.each(rules.map(({ alert, summary }) => [alert, summary]))(
    '[operating] %s names labels that its condition keeps',
    (alert, summary) => {
      const { expr = '' } = rules.find((rule) => rule.alert === alert) ?? {};
      const named = [...summary.matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => label);
      const [first] = selectorsIn(expr);
      for (const label of named) {
        if (label === 'instance') continue;
        const samples = familyOf(first?.name ?? '')?.samples ?? [];
        expect(samples.some((sample) => label in sample.labels)).toBe(true);
      }
    },
  );

  it.skipIf(promtool === undefined)('[operating] please promtool', () => {
    const told = execFileSync('promtool', ['check', 'rules', rulesFile], { encoding: 'utf8' });
    expect(told).toMatch(new RegExp(`SUCCESS: ${rules.length} rules found`));
  });
});

describe('the dashboard', () => {
  it.each(panelExpressions)('[operating] shows by “%s” what there is', (_, expression) => {
    const plain = expression.replaceAll('$database', '.*').replaceAll('$__rate_interval', '5m');
    expect(plain).not.toContain('$');
    expect(unknownIn(plain)).toEqual([]);
    const now = [...families.values()].flatMap((family) => family.samples);
    expect(evaluate(plain, { before: now, now, seconds: 15 }).length).toBeGreaterThan(0);
  });

  it('[operating] has panels that do not overlap, and variables that they use', () => {
    const { panels, templating } = dashboard;
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(templating.list.map(({ name }) => name)).toEqual(['datasource', 'database']);
  });
});
