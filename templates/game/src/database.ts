import { ConnectionRefusedError, connect } from 'reducerdb/client';
// The type alone: nothing is generated, and no code of the module gets into the page.
import type * as module from '../module/src/index.ts';

export type Module = typeof module;

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

const { uri, database } = await findPlace();
const tokenKey = `token:${database}`;

/** The page's connection. Its token is kept for this window alone: each window is a player. */
export const client = connect<Module>({
  uri,
  database,
  token: () => sessionStorage.getItem(tokenKey) ?? undefined,
  saveToken: (token) => sessionStorage.setItem(tokenKey, token),
});

// A token that the service does not know, as after its data were deleted: come back as someone new.
client.state.subscribe(() => {
  const state = client.state.get();
  const isRefused = state.kind === 'closed' && state.error instanceof ConnectionRefusedError;
  if (!isRefused || sessionStorage.getItem(tokenKey) === null) return;
  sessionStorage.removeItem(tokenKey);
  location.reload();
});
