import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { functionNames } from '../src/sql/functions/library.ts';
import { openTestDatabase, type TestDatabase } from '../src/testing/test-database.ts';
import { QueryFailed } from '../src/testing/test-errors.ts';

/** One statement of the guide. */
interface Example {
  readonly sql: string;
  readonly isRefused: boolean;
  /** What the guide says that the refusal says. */
  readonly message: string | undefined;
}

const guide = readFileSync(new URL('../docs/guide/sql.md', import.meta.url), 'utf8');
const fence = /```sql( refused)?\n([\s\S]*?)```\n(?:\n```text\n([\s\S]*?)```)?/g;
const examples: readonly Example[] = [...guide.matchAll(fence)].map((match) => ({
  sql: (match[2] ?? '').trim(),
  isRefused: match[1] !== undefined,
  message: match[3]?.trim(),
}));

describe('the guide to SQL, on the chat example', () => {
  let db: TestDatabase;

  beforeAll(async () => {
    const module = fileURLToPath(new URL('../examples/chat', import.meta.url));
    db = await openTestDatabase({ module });
    for (const name of ['ada', 'grace']) {
      const as = db.identity(name);
      await db.call('set_name', [name], { as });
      await db.call('send_message', [`This is ${name}.`], { as });
    }
  });

  afterAll(() => db.close());

  it('has examples', () => {
    expect(examples.length).toBeGreaterThan(15);
    expect(guide.match(/^```sql/gm)?.length).toBe(examples.length);
  });

  for (const { sql, isRefused, message } of examples) {
    it(`${isRefused ? 'refuses' : 'runs'} ${sql.replaceAll(/\s+/g, ' ')}`, async () => {
      if (!isRefused) await db.query(sql);
      else if (message === undefined) await expect(db.query(sql)).rejects.toThrow(QueryFailed);
      else await expect(db.query(sql)).rejects.toThrow(message);
    });
  }

  it('names every function', () => {
    const named = new Set([...guide.matchAll(/`([a-z0-9_]+)(?:\(\))?`/g)].map(([, name]) => name));
    expect(functionNames().filter((name) => !named.has(name))).toEqual([]);
  });

  it('[sql 10.1] shows the private table to the owner alone', async () => {
    const as = db.identity('ada');
    await expect(db.query('SELECT * FROM connection', { as })).rejects.toThrow(/^no such table/);
    await expect(db.query('SELECT * FROM connection')).resolves.toBeInstanceOf(Array);
  });
});
