import { createHooks } from 'reducerdb/react';
import type { Module } from './database.ts';

/** Hooks that know the tables and reducers of the module. */
export const { Provider, useClient, useOnline, useQuery, useReducer } = createHooks<Module>();
