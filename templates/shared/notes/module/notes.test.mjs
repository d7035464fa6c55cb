import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openTestDatabase } from 'reducerdb/testing';

// The real engine in this process, in memory: no service and no port.
/** @type {import('reducerdb/testing').TestDatabase<typeof import('./src/index.js')>} */
const db = await openTestDatabase({ module: import.meta.dirname });
after(() => db.close());
const ada = db.as('ada');
const eve = db.as('eve');

test('a note belongs to the caller who wrote it', async () => {
  await ada.reducers.addNote({ text: '  hello  ' });
  const note = await db.tables.note.id.find(1n);
  assert.equal(note?.text, 'hello');
  assert.ok(note.author.equals(ada.identity));
  const removed = await eve.reducers.removeNote.result({ id: 1n });
  assert.equal(!removed.ok && removed.error.message, 'that is not your note');
});

test('everyone who watches sees a like', async () => {
  const seen = await eve.watch(db.tables.note);
  await ada.reducers.likeNote({ id: 1n });
  assert.equal(seen.rows[0]?.likes, 1);
  seen.stop();
});

test('an empty note is refused', async () => {
  const added = await ada.reducers.addNote.result({ text: ' ' });
  assert.equal(!added.ok && added.error.message, 'a note needs a text');
});
