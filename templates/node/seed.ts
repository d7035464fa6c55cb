import type { DbConnection } from './src/module_bindings/index.ts';

/** The first rows. `reducerdb dev` runs this once, when the database is empty. */
export default async function seed({ reducers }: DbConnection): Promise<void> {
  await reducers.addNote({ text: 'This is a row of a table. Whoever watches sees it change.' });
  await reducers.addNote({ text: 'Add one in a second terminal.' });
}
