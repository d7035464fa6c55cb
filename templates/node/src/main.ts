import { DbConnection, tables } from './module_bindings/index.ts';
import { place } from './place.ts';

const { url, database } = place();

const connection = DbConnection.builder()
  .withUri(url)
  .withDatabaseName(database)
  .onConnect((connected) => {
    console.log(`Connected to ${database} at ${url}. In a second terminal, add a note:`);
    console.log('  npm run say -- "hello"');
    connected.subscriptionBuilder().subscribe([tables.note, tables.visitor]);
  })
  .onDisconnect((_ctx, error) => {
    if (error !== undefined) console.log(`Disconnected: ${error.message}`);
  })
  .onConnectError((_ctx, error) => console.error(error.message))
  .build();

// Each callback is called for the rows that are there at first, and for each change after that.
connection.db.note.onInsert((_ctx, { id, text, likes }) => {
  console.log(`+ note ${id}: ${text} (♥ ${likes})`);
});
connection.db.note.onUpdate((_ctx, _before, { id, text, likes }) => {
  console.log(`~ note ${id}: ${text} (♥ ${likes})`);
});
connection.db.note.onDelete((_ctx, { id }) => console.log(`- note ${id}`));

connection.db.visitor.onInsert(sayVisitors);
connection.db.visitor.onDelete(sayVisitors);

function sayVisitors(): void {
  const count = connection.db.visitor.count();
  console.log(`  ${count} ${count === 1n ? 'program' : 'programs'} connected`);
}
