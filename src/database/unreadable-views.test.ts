import { expect, it } from 'vitest';
import { JobDatabase, JobModule, rawJobs } from '../../test/support/job-database.ts';
import type { RawModule, RawView } from '../schema/raw-module.ts';
import { isUnreadable } from '../sql/check/visibility.ts';
import { ownerRights, strangerRights } from '../sql/rights.ts';
import { product } from '../values/special-types.ts';
import { expandAll } from './live/whole-database.ts';
import { sqlSchemaOf } from './sql-schema.ts';

const ranking: RawView = {
  sourceName: 'ranking',
  index: 0,
  isPublic: true,
  isAnonymous: true,
  params: product(['since', { kind: 'u64' }]),
  returnType: { kind: 'array', element: { kind: 'ref', ref: 1 } },
};

const views = (parts: Partial<RawView>): RawModule =>
  rawJobs({ views: [{ ...ranking, ...parts }] });

async function open(raw: RawModule): Promise<JobDatabase> {
  const module = new JobModule();
  module.raw = raw;
  return JobDatabase.open({ module });
}

it('[sql 10.2] a view with parameters is declared, and cannot be read', async () => {
  const jobs = await open(views({}));
  const text = 'view `ranking` has parameters: such views cannot be read yet';
  for (const sql of [
    'SELECT * FROM ranking',
    'SELECT job.id FROM ranking JOIN job ON ranking.n = job.id',
  ]) {
    expect(await jobs.sql(sql)).toMatchObject({ kind: 'failed', error: { message: text } });
  }
  expect(await jobs.sql('SELECT * FROM ranking(1)')).toMatchObject({
    error: { message: 'Unsupported FROM expression: ranking(1)' },
  });
  const schema = sqlSchemaOf(jobs.database.description.definition, jobs.store.catalog);
  expect(expandAll(schema, ownerRights).some((sql) => sql.includes('ranking'))).toBe(false);
});

it('[sql 10.1] a private one cannot be told from one that does not exist', async () => {
  const jobs = await open(views({ isPublic: false }));
  const schema = sqlSchemaOf(jobs.database.description.definition, jobs.store.catalog);
  expect(isUnreadable(schema, strangerRights, 'ranking')).toBe(false);
  expect(isUnreadable(schema, ownerRights, 'ranking')).toBe(true);
});

it('[migrations 2] a view gets and loses parameters like one that comes and goes', async () => {
  const jobs = await open(rawJobs());
  const names = () => jobs.store.catalog.views.map(({ name }) => name);
  await jobs.update(views({}));
  expect(names()).toEqual([]);
  await jobs.update(views({ params: product() }));
  expect(names()).toEqual(['ranking']);
});
