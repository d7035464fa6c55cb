import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FixtureServer } from '../conformance/fixture-server.ts';
import { type Column, tableOf } from '../conformance/result-table.ts';
import { expectedFile, readExpected, runSuite, suiteSets } from '../conformance/suite.ts';
import { Running } from '../service/running.ts';
import { Tools } from '../support/tools.ts';

/** The suite of the protocol's authors; `test/conformance/README.md` says what it is run against. */

let tools: Tools;
let fixtures: FixtureServer;
let product: Running;
const faults: unknown[] = [];
const columns: Column[] = [];

beforeAll(async () => {
  tools = await Tools.install();
  fixtures = await FixtureServer.start((error) => faults.push(error));
  product = await Running.start();
  expect((await product.publish('suite', 'examples/chat', await product.person())).status).toBe(
    200,
  );
});
afterAll(async () => {
  await fixtures.stop();
  await product.stop();
});

/** Checks of `server-stateless` that call a tool of the fixtures. */
const needFixtures = [
  'sep-2575-server-rejects-undeclared-capability',
  'sep-2575-missing-capability-http-400',
  'sep-2575-http-server-no-independent-requests-on-stream',
  'sep-2575-server-no-log-without-loglevel',
];

const endpoints = [
  ['fixtures', () => fixtures.url],
  ['host', () => `${product.service.url}/v1/mcp`],
  ['database', () => `${product.service.url}/v1/database/suite/mcp`],
] as const;

describe.each(endpoints)('[mcp B12] the suite against %s', (who, url) => {
  it.each(suiteSets)('$name: nothing fails but what is expected', async (set) => {
    const expected = expectedFile(who === 'fixtures' ? who : 'product', set);
    const { isAsExpected, scenarios, output } = await runSuite(tools, set, {
      url: url(),
      expected,
    });
    columns.push({ title: `${who}: ${set.name}`, scenarios });
    expect(scenarios.filter(({ isScored }) => isScored)).toHaveLength(set.requiredCount);
    const listed = readExpected(expected).map(({ scenario }) => scenario);
    const run = scenarios.map(({ scenario }) => scenario);
    expect(listed.filter((scenario) => !run.includes(scenario))).toEqual([]);
    expect(isAsExpected, output.slice(output.indexOf('=== SUMMARY'))).toBe(true);
  });
});

describe('[mcp B12] at last', () => {
  it('of the checks that need no fixtures, the product passes each', () => {
    const ofProduct = columns.filter(({ title }) => !title.startsWith('fixtures'));
    const stateless = ofProduct.flatMap(({ scenarios }) =>
      scenarios.filter(({ scenario }) => scenario === 'server-stateless'),
    );
    expect(stateless.map(({ failed }) => failed)).toEqual([needFixtures, needFixtures]);
  });

  it('what was found', () => {
    console.log(tableOf(columns));
    expect(faults).toEqual([]);
  });
});
