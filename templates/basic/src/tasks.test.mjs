import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openTestDatabase } from 'reducerdb/testing';

/** @type {import('reducerdb/testing').TestDatabase<typeof import('./index.js')>} */
const db = await openTestDatabase({ module: fileURLToPath(new URL('..', import.meta.url)) });
after(() => db.close());

test('a task belongs to the caller who adds it', async () => {
  const ada = db.as('ada');
  await ada.reducers.addTask({ title: 'drink tea' });
  const task = await db.tables.task.id.find(1n);
  assert.ok(task?.owner.equals(ada.identity));
  const completed = await db.as('eve').reducers.completeTask.result({ id: 1n });
  assert.equal(!completed.ok && completed.error.message, 'that is not your task');
});
