import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { databaseIdentity } from '../values/identity-roles.ts';
import { clusterId, databaseIn, logName, logNameBytes } from './log-name.ts';

const [one, other] = [clusterId(1n), clusterId(2n)];
const [shop, cellar] = [databaseIdentity(7n), databaseIdentity(8n)];

it('[replication 3.5] a log is of one cluster, one database and one generation', () => {
  const names = [
    ...[logName(one, shop, 1), logName(one, shop, 2), logName(one, cellar, 1)],
    logName(other, shop, 1),
  ];
  expect(new Set(names).size).toBe(names.length);
  expect(names.map(databaseIn)).toEqual([shop, shop, cellar, shop]);
  expect(names.map((name) => logNameBytes(name).length)).toEqual([56, 56, 56, 56]);
  expect(logName(one, shop, 1)).toBe(names[0]);
});

it('[replication 3.5] what an engine does for logs knows no clocks and no hosts', () => {
  const text = readFileSync(new URL('./shared-log.ts', import.meta.url), 'utf8');
  const imported = [...text.matchAll(/from '([^']+)'/g)].map(([, file]) => file);
  expect(imported.filter((file) => /host|directory|clock/.test(file ?? ''))).toEqual([]);
  expect(text).not.toMatch(/nowMillis|Date\.|performance\./);
});
