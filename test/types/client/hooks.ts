import type { Identity } from 'reducerdb/client';
import { connect } from 'reducerdb/client';
import {
  createHooks,
  ReducerDBProvider,
  type RowCallbacks,
  useProcedure as useBoundProcedure,
  useReducer as useBoundReducer,
  useConnection,
  useTable,
} from 'reducerdb/react';
import { DbConnection, procedures, reducers, tables } from '../../client/bindings/index.ts';
import { type Equal, expectType } from '../expect.ts';
import type * as tavern from '../tavern.ts';

// Hooks typed by a module. Components are functions: here they need not return anything.

const { Provider, useClient, useProcedure, useQuery, useReducer, useSuspenseQuery } =
  createHooks<typeof tavern>();

export function useRows(me: Identity): void {
  const { rows, isReady, isStale, error } = useQuery((q) => q.hero.where((h) => h.nick.eq('Ada')));
  expectType<Equal<(typeof rows)[number]['nick'], string>>();
  expectType<Equal<(typeof rows)[number]['guildId'], bigint | undefined>>();
  expectType<Equal<[typeof isReady, typeof isStale], [boolean, boolean]>>();
  expectType<Equal<typeof error, Error | undefined>>();

  const { rows: nicks } = useQuery((q) => q.hero, {
    sort: (a, b) => a.nick.localeCompare(b.nick),
    limit: 3,
    select: ({ nick }) => nick,
    onUpdate: (old, row) => console.log(old.nick, row.owner.equals(me)),
  });
  expectType<Equal<typeof nicks, readonly string[]>>();

  const { rows: lines } = useQuery<{ text: string }>('SELECT text FROM shout WHERE room = :room', {
    params: { room: 'hall' },
    enabled: false,
    keepPrevious: false,
  });
  expectType<Equal<typeof lines, readonly { text: string }[]>>();

  const shouts = useSuspenseQuery((q) => q.myShouts);
  expectType<Equal<(typeof shouts)[number]['text'], string>>();

  // @ts-expect-error: a private table
  useQuery((q) => q.sweep);
  // @ts-expect-error: no such table
  useQuery((q) => q.heroes);
  // @ts-expect-error: a column of another type
  useQuery((q) => q.hero.where((h) => h.nick.eq(5)));
  // @ts-expect-error: no such column
  useQuery((q) => q.hero, { select: (hero) => hero.nickname });
  // @ts-expect-error: whoever waits for rows cannot want none
  useSuspenseQuery((q) => q.hero, { enabled: false });
}

export function useCalls(): void {
  const say = useReducer((reducers) => reducers.say);
  expectType<Equal<ReturnType<typeof say>, Promise<void>>>();
  say({ room: 'hall', text: 'hi' });
  const count = useProcedure((procedures) => procedures.heroCount);
  expectType<Equal<ReturnType<typeof count>, Promise<bigint>>>();
  expectType<Equal<ReturnType<typeof useClient>['reducers']['say'], typeof say>>();

  // @ts-expect-error: an argument is missing
  say({ room: 'hall' });
  // @ts-expect-error: no such reducer
  useReducer((reducers) => reducers.shoutOut);
  // @ts-expect-error: a procedure is no reducer
  useReducer((reducers) => reducers.heroCount);
}

export function provided(): void {
  Provider({ client: connect<typeof tavern>({ uri: 'ws://localhost', database: 'tavern' }) });
  const callbacks: RowCallbacks<{ nick: string }> = { onDelete: ({ nick }) => console.log(nick) };
  console.log(callbacks);
  // @ts-expect-error: a client of another module
  Provider({ client: connect<{ default: object }>({ uri: 'ws://localhost', database: 'tavern' }) });
}

// Hooks for generated bindings.

export function useBindings(): void {
  const [heroes, isReady] = useTable(
    tables.hero.where((hero) => hero.nick.eq('Ada')),
    {
      onInsert: ({ nick, mood }) => console.log(nick, mood.tag),
      enabled: true,
    },
  );
  expectType<Equal<(typeof heroes)[number]['id'], number>>();
  expectType<Equal<typeof isReady, boolean>>();
  const join = useBoundReducer(reducers.joinTavern);
  expectType<Equal<ReturnType<typeof join>, Promise<void>>>();
  join({ nick: 'Ada' });
  const count = useBoundProcedure(procedures.heroCount);
  expectType<Equal<ReturnType<typeof count>, Promise<bigint>>>();
  useBoundReducer(reducers.ping)();
  const connection = useConnection().getConnection<DbConnection>();
  expectType<Equal<typeof connection, DbConnection | null>>();
  const connectionBuilder = DbConnection.builder();
  ReducerDBProvider({ connectionBuilder });

  // @ts-expect-error: an argument of another type
  join({ nick: 5 });
  // @ts-expect-error: an argument is missing
  join();
  // @ts-expect-error: no such column
  useTable(tables.hero, { onInsert: ({ nickname }) => console.log(nickname) });
  // @ts-expect-error: not a query
  useTable('SELECT * FROM hero');
  // @ts-expect-error: a connection is made by the provider
  ReducerDBProvider({ connectionBuilder: connectionBuilder.build() });
}
