import { readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from '../service/harness.ts';

export const rulesFile = path.join(root, 'docs/operate/reducerdb.rules.yml');
/** Those about clusters, which have metrics of their own. */
export const clusterRulesFile = path.join(root, 'docs/operate/reducerdb-cluster.rules.yml');

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly severity: string;
  readonly summary: string;
}

/** Lines of a rule, in their order, each with its indentation; nothing else may be there. */
const lines = [
  /^ {6}- alert: (?<alert>Reducerdb\w+)$/,
  /^ {8}expr: (?<expr>[a-z0]\S*.*)$/,
  /^ {8}for: \d+[ms]$/,
  /^ {8}labels:$/,
  /^ {10}severity: (?<severity>critical|warning|info)$/,
  /^ {8}annotations:$/,
  /^ {10}summary: "(?<summary>[^"\\]+)"$/,
] as const;
const mayLack = 2;

/** The rules of the file, which is read as the small part of YAML that it is written in. */
export function alertRules(file = rulesFile): readonly AlertRule[] {
  const text = readFileSync(file, 'utf8').split('\n');
  const body = text.filter((line) => line !== '' && !line.startsWith('#'));
  const head = ['groups:', '  - name: reducerdb', '    rules:'];
  if (body.splice(0, head.length).join() !== head.join()) throw new Error('the head of the rules');
  const rules: AlertRule[] = [];
  while (body.length > 0) {
    const found: Record<string, string> = {};
    lines.forEach((pattern, at) => {
      const match = pattern.exec(body[0] ?? '');
      if (match === null && at === mayLack) return;
      if (match === null) throw new Error(`not ${pattern}: ${body[0]}`);
      Object.assign(found, match.groups);
      body.shift();
    });
    // A plain scalar of YAML ends at these.
    if (/: | #/.test(found.expr ?? '')) throw new Error(`the quotes of ${found.expr}`);
    rules.push(found as unknown as AlertRule);
  }
  return rules;
}

/** The condition of one alert, which must be there. */
export function ruleOf(alert: string): string {
  const found = alertRules().find((rule) => rule.alert === alert);
  if (found === undefined) throw new Error(`no alert ${alert}`);
  return found.expr;
}
