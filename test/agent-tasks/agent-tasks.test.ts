import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from '../service/harness.ts';
import { type Person, Running } from '../service/running.ts';
import { writtenFrom } from '../service/written-module.ts';
import { AgentSession, type Cost } from './agent-session.ts';
import { corrected, mistakes } from './mistakes.ts';
import { chatModule, ordersModule } from './modules.ts';
import { others, reads, type Task } from './tasks.ts';

let running: Running;
let owner: Person;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  await running.upload('orders', await writtenFrom(ordersModule), owner);
  await running.upload('chat', await writtenFrom(chatModule), owner);
});
afterAll(() => running.stop());

function sessionFor({ database, features = '' }: Pick<Task, 'database' | 'features'>) {
  const query = features === '' ? '' : `?features=${features}`;
  return new AgentSession(running, { path: `/v1/database/${database}/mcp${query}`, as: owner });
}

/** The rows of the table in the guide: `| R1 | … | calls | tokens |`. */
const measured = readFileSync(path.join(root, 'docs/agents-measured.md'), 'utf8');

/** Figures of the table may be off by a few digits: offsets and cursors differ from run to run. */
function expectMeasured(id: string, { calls, tokens }: Cost): void {
  const row = new RegExp(`^\\| ${id} \\| .* \\| (\\d+) \\| (\\d+) \\|$`, 'm').exec(measured);
  expect([id, row?.[1]]).toEqual([id, String(calls)]);
  expect(Math.abs(Number(row?.[2]) - tokens), `${id}: ${tokens}`).toBeLessThanOrEqual(20);
}

describe('what an agent is asked for', () => {
  it('[ease 6.1] eight reads take at most 10 calls and 3,000 tokens', async () => {
    const agent = sessionFor({ database: 'orders' });
    for (const { id, run, tells } of reads) {
      expect([id, await run(agent)]).toEqual([id, tells]);
    }
    expect(agent.cost.errors).toBe(0);
    expect(agent.cost.calls).toBeLessThanOrEqual(10);
    expect(agent.cost.tokens).toBeLessThanOrEqual(3_000);
    expectMeasured('R1–R8', agent.cost);
  });

  it.each(others)('[ease 6.1] $id: $title', async (task) => {
    const agent = sessionFor(task);
    expect(await task.run(agent)).toEqual(task.tells);
    expect(agent.cost.answerTokensMax).toBeLessThanOrEqual(10_000);
    expectMeasured(task.id, agent.cost);
  });

  it('[ease 6.1] is 21 tasks and 24 mistakes', () => {
    expect([reads.length + others.length, mistakes.length]).toEqual([21, 24]);
  });
});

describe('a likely mistake', () => {
  it.each(mistakes)('[ease 6.1] is answered with what works: $title', async (mistake) => {
    const { isHostWide = false, wrong } = mistake;
    const where = isHostWide ? '/v1/mcp' : '/v1/database/orders/mcp';
    const agent = new AgentSession(running, { path: where, as: owner });
    const reply = await agent.call(wrong.tool, wrong.args);
    expect(reply.isError).toBe(true);
    const { tool, args } = corrected(mistake, reply);
    expect(await agent.call(tool, args)).toMatchObject({ isError: false });
  });
});
