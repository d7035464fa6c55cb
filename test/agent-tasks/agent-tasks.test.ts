import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from '../service/harness.ts';
import { someOf } from '../support/share.ts';
import { AgentSession, type Cost } from './agent-session.ts';
import { corrected, mistakes } from './mistakes.ts';
import { others, reads } from './tasks.ts';
import { AgentsDesk, allFeatures, type Transport } from './ways.ts';

const measured = readFileSync(path.join(root, 'docs/agents-measured.md'), 'utf8');

/**
 * Compares with a row of a table in the guide: `| R1 | … | calls | tokens |`, or with all features
 * calls and tokens in further columns. Figures may be off by a few digits: offsets and cursors differ
 * from run to run.
 */
function expectMeasured(id: string, { calls, tokens }: Cost, hasAll: boolean): void {
  const row = new RegExp(`^\\| ${id} \\| .* \\| (\\d+) \\| (\\d+) \\| (\\d+) \\|$`, 'm').exec(
    measured,
  );
  expect([id, row?.[1]]).toEqual([id, String(calls)]);
  const expected = Number(row?.[hasAll ? 3 : 2]);
  expect(Math.abs(expected - tokens), `${id}: ${tokens}`).toBeLessThanOrEqual(20);
}

/** Both transports and both lists of tools: two ways that differ in both, by turns, or all four. */
const ways = someOf<readonly [Transport, string, string]>(
  [
    ['http', 'default tools', ''],
    ['http', 'all features', allFeatures],
    ['stdio', 'all features', allFeatures],
    ['stdio', 'default tools', ''],
  ],
  2,
);

let desk: AgentsDesk;
beforeAll(async () => {
  desk = await AgentsDesk.open();
});
afterAll(() => desk.close());

describe.each(ways)('what an agent is asked for, over %s with %s', (transport, _, all) => {
  const hasAll = all !== '';
  beforeAll(() => desk.reset(), 300_000);

  it('[ease 6.1] eight reads take at most 10 calls and 3,000 tokens', async () => {
    const agent = new AgentSession(desk.connect(transport, 'orders', all));
    for (const { id, run, tells } of reads) {
      expect([id, await run(agent)]).toEqual([id, tells]);
    }
    expect(agent.cost.errors).toBe(0);
    expect(agent.cost.calls).toBeLessThanOrEqual(10);
    expect(agent.cost.tokens).toBeLessThanOrEqual(3_000);
    expectMeasured('R1–R8', agent.cost, hasAll);
  });

  it.each(others)('[ease 6.1] $id: $title', async ({ id, database, features, run, tells }) => {
    const agent = new AgentSession(desk.connect(transport, database, hasAll ? all : features));
    expect(await run(agent)).toEqual(tells);
    expect(agent.cost.answerTokensMax).toBeLessThanOrEqual(10_000);
    expectMeasured(id, agent.cost, hasAll);
  });

  it.each(mistakes)('[ease 6.1] a mistake is answered with what works: $title', async (mistake) => {
    const { isHostWide = false, wrong } = mistake;
    const where = isHostWide ? undefined : 'orders';
    const agent = new AgentSession(desk.connect(transport, where, all));
    const reply = await agent.call(wrong.tool, wrong.args);
    expect(reply.isError).toBe(true);
    const { tool, args } = corrected(mistake, reply);
    expect(await agent.call(tool, args)).toMatchObject({ isError: false });
  });
});

it('[ease 6.1] it is 21 tasks and 24 mistakes', () => {
  expect([reads.length + others.length, mistakes.length]).toEqual([21, 24]);
});
