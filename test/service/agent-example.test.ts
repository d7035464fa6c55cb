import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { root } from './harness.ts';

describe('npm run demo:agent', () => {
  it('[mcp B19] discovers, finds a fault, previews, applies, and is seen live', async () => {
    const run = promisify(execFile);
    const { stdout } = await run(process.execPath, ['scripts/demo-agent.mjs', '--no-build'], {
      cwd: root,
    });
    const steps = [
      /^1\. Whom do I talk to/,
      /^reducerdb \S+, protocol 2026-07-28$/,
      /^tools: list_databases, .*, preview_call, preview_sql, apply_preview, preview_publish$/,
      /^my database: stock$/,
      /^table {3}product\(sku, name, on_hand\)$/,
      /^reducer recount\(sku\)$/,
      /^pot: 8 on hand, 11 by movements$/,
      /^no: 1 of them$/,
      /^correction: \+ \{"id":1,"sku":"pot","before":8,"after":11,/,
      /^product: \{.*"on_hand":8\} → \{.*"on_hand":11\}$/,
      /^it would log: pot: 8 on hand, 11 by its movements$/,
      /^it would return: 11$/,
      /^nothing of it has happened: still 8 on hand$/,
      /^the person is asked: .*recount/,
      /^done, as commit \d+$/,
      /^live: Tea pot, 8 → 11 on hand$/,
      /^yes, all of them$/,
    ];
    const lines = stdout.split('\n');
    const places = steps.map((step) => lines.findIndex((line) => step.test(line)));
    expect(places.map((place, at) => (place < 0 ? steps[at] : 'said'))).toEqual(
      steps.map(() => 'said'),
    );
    expect(places).toEqual([...places].sort((a, b) => a - b));
  });
});
