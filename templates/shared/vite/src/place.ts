const { VITE_REDUCERDB_URL, VITE_REDUCERDB_DATABASE, DEV } = import.meta.env;

/** `reducerdb dev` names the place; a page that was published asks for it, whatever its name is. */
async function findPlace(): Promise<{ readonly uri: string; readonly database: string }> {
  const uri: string = VITE_REDUCERDB_URL ?? (DEV ? 'http://127.0.0.1:3000' : location.origin);
  const database: string = VITE_REDUCERDB_DATABASE ?? '{{name}}';
  if (DEV || VITE_REDUCERDB_DATABASE !== undefined) return { uri, database };
  const found = await fetch('/.reducerdb.json')
    .then((answer) => answer.json())
    .catch(() => undefined);
  if (typeof found?.database !== 'string') return { uri, database };
  return { uri: new URL(found.url, location.href).href, database: found.database };
}

export const { uri, database } = await findPlace();
