// `npm run say -- "a text"`: adds a note, which every program that watches prints.
import { DbConnection } from './module_bindings/index.ts';
import { place } from './place.ts';

const { url, database } = place();
const text = process.argv.slice(2).join(' ');

DbConnection.builder()
  .withUri(url)
  .withDatabaseName(database)
  .onConnect(async (connection) => {
    const said = await connection.reducers.addNote({ text }).catch((error: Error) => error);
    if (said instanceof Error) {
      console.error(said.message);
      process.exitCode = 1;
    }
    connection.disconnect();
  })
  .onConnectError((_ctx, error) => {
    console.error(`${database} at ${url}: ${error.message}. Is \`npm run dev\` running?`);
    process.exitCode = 1;
  })
  .build();
