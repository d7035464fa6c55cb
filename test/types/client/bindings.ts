import {
  type ClientCache,
  type ClientTable,
  type ConnectionEvent,
  type EventContextInterface,
  Interval,
  type Option,
  type Result,
  type ScheduleAt,
  type TableCache,
  type TableDefForTableName,
  Time,
} from 'reducerdb/client';
import {
  DbConnection,
  type ErrorContext,
  type EventContext,
  reducers,
  type SubscriptionHandle,
  tables,
} from '../../client/bindings/index.ts';
import type { Mood } from '../../client/bindings/types.ts';
import { type Equal, expectType } from '../expect.ts';

// A connection with generated bindings: what compiles, and each mistake that must not.

const connection = DbConnection.builder()
  .withUri(new URL('ws://localhost:3000'))
  .withDatabaseName('tavern')
  .withToken(undefined)
  .withCompression('gzip')
  .onConnect((conn, identity, token) => {
    expectType<Equal<typeof conn, DbConnection>>();
    console.log(identity.toHexString(), token.length);
  })
  .onConnectError((ctx: ErrorContext, error) => console.log(ctx.isActive, error.message))
  .onDisconnect((_ctx, error) => console.log(error?.message))
  .build();

export async function use(): Promise<void> {
  const handle: SubscriptionHandle = connection
    .subscriptionBuilder()
    .onApplied((ctx) => console.log(ctx.db.hero.count()))
    .onError((ctx, error) => console.log(ctx.event?.message, error.message))
    .subscribe((from) => [from.hero.where((hero) => hero.nick.eq('Ada')), tables.flash]);
  handle.unsubscribeThen(() => {});
  connection.db.hero.onInsert((ctx: EventContext, row) => {
    if (ctx.event.tag === 'Reducer') console.log(ctx.event.value.reducer.name, row.nick);
  });
  const hero = connection.db.hero.nick.find('Ada');
  expectType<Equal<NonNullable<typeof hero>['mood'], Mood>>();
  const moods = [...connection.db.hero.mood.filter({ tag: 'Calm' })].map(({ id }) => id);
  await connection.reducers.joinTavern({ nick: 'Ada', guildId: undefined });
  await connection.reducers.joinTavern({ nick: 'Ada' });
  await connection.reducers.ping();
  const count: bigint = await connection.procedures.heroCount({});
  const name: 'join_tavern' = reducers.joinTavern.name;
  console.log(moods, count, name);

  // @ts-expect-error: an argument of another type
  connection.reducers.joinTavern({ nick: 5 });
  // @ts-expect-error: no such reducer
  connection.reducers.leaveTavern({});
  // @ts-expect-error: no such table
  connection.db.sword;
  // @ts-expect-error: a key of another type
  connection.db.hero.id.find('1');
  // @ts-expect-error: several rows may match
  connection.db.hero.mood.find({ tag: 'Calm' });
  // @ts-expect-error: no such column
  tables.hero.where((row) => row.name.eq('Ada'));
  // @ts-expect-error: a column of another type
  tables.hero.where((row) => row.nick.eq(5));
  // @ts-expect-error: not a query
  connection.subscriptionBuilder().subscribe(5);
}

// Names of the published library for the same things.
type Module = EventContext extends EventContextInterface<infer RM> ? RM : never;
expectType<Equal<ClientTable<Module, 'hero'>, ClientCache<Module>['hero']>>();
expectType<Equal<TableCache<Module, 'hero'>, ClientTable<Module, 'hero'>>>();
export const heroes: ClientTable<Module, 'hero'> = connection.db.hero;
expectType<Equal<TableDefForTableName<Module, 'hero'>, Module['tables']['hero']>>();
export const events: readonly ConnectionEvent[] = ['connect', 'disconnect', 'connectError'];
export const every: Interval = Interval(5n);
export const at: Time = Time(5n);
export const when: ScheduleAt = every;
export const level: Option<number> = undefined;
export const result: Result<number, string> = { err: 'too few' };
