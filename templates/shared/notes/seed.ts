import type { Client } from 'reducerdb/client';
import type * as module from './module/src/index.ts';

/** The first rows. `reducerdb dev` runs this once, when the database is empty. */
export default async function seed(client: Client<typeof module>): Promise<void> {
  for (const text of [
    'This list is a table. Every window that shows it sees the same rows.',
    'Open this page a second time, and add a note.',
  ]) {
    await client.reducers.addNote({ text });
  }
}
