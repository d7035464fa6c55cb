import { ConnectionRefusedError, connect } from 'reducerdb/client';
// The type alone: nothing is generated, and no code of the module gets into the page.
import type * as module from '../module/src/index.ts';
import { database, uri } from './place.ts';

export type Module = typeof module;

const tokenKey = `token:${database}`;

/** The page's connection. It opens again by itself whenever it is lost. */
export const client = connect<Module>({
  uri,
  database,
  token: () => localStorage.getItem(tokenKey) ?? undefined,
  saveToken: (token) => localStorage.setItem(tokenKey, token),
});

// A token that the service does not know, as after its data were deleted: come back as someone new.
client.state.subscribe(() => {
  const state = client.state.get();
  const isRefused = state.kind === 'closed' && state.error instanceof ConnectionRefusedError;
  if (!isRefused || localStorage.getItem(tokenKey) === null) return;
  localStorage.removeItem(tokenKey);
  location.reload();
});
