import { DbConnection } from './module_bindings/index.ts';

/** `?as=grace` is somebody else, so that one browser can show two people. */
const who = new URLSearchParams(location.search).get('as') ?? '';
const tokenKey = `helpdesk ${who}`;

interface Place {
  readonly url: string;
  readonly database: string;
}

/** Where the service that serves this page says that its database is. */
async function place(): Promise<Place> {
  if (import.meta.env.DEV) {
    const { VITE_REDUCERDB_URL, VITE_REDUCERDB_DATABASE } = import.meta.env;
    const url = VITE_REDUCERDB_URL ?? 'http://127.0.0.1:3000';
    return { url, database: VITE_REDUCERDB_DATABASE ?? 'helpdesk' };
  }
  const address = new URL('.reducerdb.json', document.baseURI);
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address.pathname} is answered with ${response.status}.`);
  const { url, database }: Place = await response.json();
  return { url: new URL(url, address).href, database };
}

/** Connects as whom this browser was before, and again whenever the connection is lost. */
export async function connectionBuilder() {
  const { url, database } = await place();
  return DbConnection.builder()
    .withUri(url)
    .withDatabaseName(database)
    .withToken(localStorage.getItem(tokenKey) ?? undefined)
    .withReconnect()
    .onConnect((_connection, _identity, token) => localStorage.setItem(tokenKey, token));
}
