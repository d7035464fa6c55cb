import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openTestDatabase } from 'reducerdb/testing';

// The real engine in this process, in memory: no service and no port.
/** @type {import('reducerdb/testing').TestDatabase<typeof import('./src/index.js')>} */
const db = await openTestDatabase({ module: import.meta.dirname });
after(() => db.close());
const visitor = db.as('visitor');

test('a visitor asks, and the owner of the database answers', async () => {
  await visitor.reducers.ask({ text: 'When do you open?' });
  await db.reducers.answer({ id: 1n, text: 'At nine.' });
  const question = await db.tables.question.id.find(1n);
  assert.equal(question?.answer, 'At nine.');
  assert.ok(question.asker.equals(visitor.identity));
});

test('a visitor neither answers nor writes facts', async () => {
  await visitor.reducers.ask({ text: 'Where are you?' });
  const answered = await visitor.reducers.answer.result({ id: 2n, text: 'Here.' });
  assert.equal(!answered.ok && answered.error.message, 'only staff answers');
  const learned = await visitor.reducers.learn.result({ topic: 'place', text: 'Here.' });
  assert.equal(!learned.ok && learned.error.message, 'only staff writes facts');
});

test('an agent answers once it is hired', async () => {
  const agent = db.as('agent');
  const early = await agent.reducers.answer.result({ id: 2n, text: 'Here.' });
  assert.equal(!early.ok && early.error.message, 'only staff answers');
  const hired = await agent.reducers.hire.result({ agent: agent.identity });
  assert.equal(!hired.ok && hired.error.message, 'only staff hires');
  await db.reducers.hire({ agent: agent.identity });
  await visitor.reducers.ask({ text: 'Are you a machine?' });
  await agent.reducers.answer({ id: 3n, text: 'Yes.' });
  assert.equal((await db.tables.question.id.find(3n))?.answer, 'Yes.');
});

test('who watches sees the answer come', async () => {
  const seen = await visitor.watch(db.tables.question.where((row) => row.id.eq(2n)));
  assert.equal(seen.rows[0]?.answer, undefined);
  await db.reducers.answer({ id: 2n, text: 'By the river.' });
  assert.equal(seen.rows[0]?.answer, 'By the river.');
  seen.stop();
});
