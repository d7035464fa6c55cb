import { ConnectionRefusedError, connect } from 'reducerdb/client';
import { createHooks } from 'reducerdb/react';
// The type alone: nothing is generated, and no code of the module gets into the page.
import type * as module from '../module/src/index';

// `reducerdb dev` sets both. Next.js writes their values into the page, so they are named in full.
const uri = process.env.NEXT_PUBLIC_REDUCERDB_URL ?? 'http://127.0.0.1:3000';
const database = process.env.NEXT_PUBLIC_REDUCERDB_DATABASE ?? '{{name}}';
const tokenKey = `token:${database}`;

/** The page's connection. It opens again by itself whenever it is lost. */
export const client = connect<typeof module>({
  uri,
  database,
  token: () => localStorage.getItem(tokenKey) ?? undefined,
  saveToken: (token) => localStorage.setItem(tokenKey, token),
});

/** Hooks that know the tables and reducers of the module. */
export const { Provider, useClient, useOnline, useQuery, useReducer } =
  createHooks<typeof module>();

// A token that the service does not know, as after its data were deleted: come back as someone new.
client.state.subscribe(() => {
  const state = client.state.get();
  const isRefused = state.kind === 'closed' && state.error instanceof ConnectionRefusedError;
  if (!isRefused || localStorage.getItem(tokenKey) === null) return;
  localStorage.removeItem(tokenKey);
  location.reload();
});
