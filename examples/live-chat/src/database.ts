import { connect } from 'reducerdb/client';
import { createHooks } from 'reducerdb/react';
import type * as chat from '../../chat/src/index.ts';

// All that this app knows of its database comes from the type of the module: nothing is generated,
// and none of the module's code is in the bundle.

export const hooks = createHooks<typeof chat>();
export const { useClient, useConnectionState, useOnline, usePendingCalls, useQuery, useReducer } =
  hooks;

/** `?as=grace` is somebody else, so that one browser can show two people. */
const who = new URLSearchParams(location.search).get('as') ?? '';
const tokenKey = `live-chat ${who}`;

export const client = connect<typeof chat>({
  uri: import.meta.env.VITE_REDUCERDB_URI ?? 'ws://127.0.0.1:3000',
  database: 'chat',
  token: () => localStorage.getItem(tokenKey) ?? undefined,
  saveToken: (token) => localStorage.setItem(tokenKey, token),
});

export type Room = NonNullable<ReturnType<typeof client.db.room.name.find>>;
export type Message = NonNullable<ReturnType<typeof client.db.message.id.find>>;
export type User = NonNullable<ReturnType<typeof client.db.user.identity.find>>;
