import {
  type CallResult,
  connect,
  type EventContextInterface,
  type Identity,
  type TableRow,
} from 'reducerdb/client';
import { type Equal, expectType } from '../expect.ts';
import type * as building from '../submodules.ts';
import type * as tavern from '../tavern.ts';

// A client typed by a module. The module itself is not imported: `import type` leaves nothing.

const client = connect<typeof tavern>({ uri: 'ws://localhost:3000', database: 'tavern' });

export async function calls(me: Identity): Promise<void> {
  const said = client.reducers.say({ room: 'hall', text: 'hi' });
  expectType<Equal<typeof said, Promise<void>>>();
  const count = await client.procedures.heroCount();
  expectType<Equal<typeof count, bigint>>();
  const result = await client.reducers.joinTavern.result({ nick: 'Ada' }, { timeoutMillis: 5 });
  expectType<Equal<typeof result, CallResult<void>>>();
  await client.reducers.say({ room: 'hall', text: 'hi' }, { retry: true });
  // What a program may not have is given as it is.
  const none = undefined;
  const control = { signal: none, timeoutMillis: none, optimistic: none };
  await client.reducers.say({ room: 'hall', text: 'hi' }, control);
  const place = { uri: 'ws://localhost:3000', database: 'tavern' };
  connect<typeof tavern>({ ...place, token: none, snapshot: none, reconnect: { jitter: none } });
  console.log(said, me);

  // @ts-expect-error: an argument of another type
  client.reducers.say({ room: 'hall', text: 5 });
  // @ts-expect-error: an argument is missing
  client.reducers.say({ room: 'hall' });
  // @ts-expect-error
  client.reducers.say();
  // @ts-expect-error: no such argument
  client.reducers.say({ room: 'hall', text: 'hi', loud: true });
  // @ts-expect-error: no such reducer
  client.reducers.shoutOut({});
  // @ts-expect-error: the host runs it when the database is made
  client.reducers.setup();
  // @ts-expect-error: the host runs it when somebody connects
  client.reducers.arrived();
  // @ts-expect-error: rows of a table schedule it
  client.reducers.sweepOld({});
  // @ts-expect-error: a procedure is no reducer
  client.reducers.heroCount();
  // @ts-expect-error: no client calls an HTTP handler
  client.procedures.board();
  // @ts-expect-error: no such option
  client.reducers.say({ room: 'hall', text: 'hi' }, { later: true });
}

export function tables(me: Identity): void {
  const found = client.db.hero.owner.find(me);
  expectType<Equal<NonNullable<typeof found>['nick'], string>>();
  expectType<Equal<NonNullable<typeof found>['guildId'], bigint | undefined>>();
  for (const line of client.db.shout.author.filter(me)) console.log(line.text);
  client.db.shout.byRoomTime.filter('hall');
  client.db.hero.onUpdate((ctx, old, row) => {
    console.log(ctx.event.tag, old.nick, row.mood.tag);
    ctx.reducers.say({ room: 'hall', text: row.nick });
  });
  const nickOf = (hero: TableRow<typeof tavern, 'hero'>) => hero.nick;
  expectType<Equal<ReturnType<typeof nickOf>, string>>();
  // A view is a table that is read only, as all tables are here.
  const [first] = [...client.db.myShouts];
  expectType<Equal<NonNullable<typeof first>['text'], string>>();

  // @ts-expect-error: a private table
  client.db.sweep;
  // @ts-expect-error: no such table
  client.db.heroes;
  // @ts-expect-error: no such table
  const rows: TableRow<typeof tavern, 'heroes'>[] = [];
  console.log(rows);
  // @ts-expect-error: not an index
  client.db.shout.text;
  // @ts-expect-error: a key of another type
  client.db.hero.owner.find('me');
  // @ts-expect-error: several rows may match
  client.db.shout.author.find(me);
  // @ts-expect-error: clients do not write
  client.db.flash.insert({ text: 'x' });
}

export async function queries(): Promise<void> {
  const rows = await client.query((q) => q.hero.where((hero) => hero.nick.eq('Ada')));
  expectType<Equal<(typeof rows)[number]['nick'], string>>();
  const watched = client.watch((q) => q.shout.where((shout) => shout.room.eq('hall')));
  expectType<Equal<ReturnType<typeof watched.get>['rows'][number]['room'], string>>();
  client.subscribe([(q) => q.hero, 'SELECT * FROM shout'], { onApplied: () => {} });

  // @ts-expect-error: a private table
  client.subscribe((q) => q.sweep);
  // @ts-expect-error: a column of another type
  client.subscribe((q) => q.hero.where((hero) => hero.nick.eq(5)));
  // @ts-expect-error: no such column
  client.subscribe((q) => q.hero.where((hero) => hero.name.eq('Ada')));
  // @ts-expect-error: not a query
  client.subscribe(5);
}

// Submodules are nested, and obey the same rules.

const house = connect<typeof building>({ uri: 'ws://localhost:3000', database: 'building' });

export async function nested(): Promise<void> {
  await house.reducers.open({ name: 'hall' });
  await house.reducers.openAll();
  await house.reducers.tavern.say({ room: 'hall', text: 'hi' });
  console.log(house.db.tavern.hero.count(), [...house.db.mine], [...house.db.one]);
  house.subscribe((q) => q.tavern.shout);

  // @ts-expect-error: a private table of the submodule
  house.db.tavern.sweep;
  // @ts-expect-error: a private table
  house.db.room;
}

// The schema alone gives tables.

const tablesOnly = connect<typeof tavern.default>({ uri: 'ws://localhost', database: 'tavern' });
console.log(tablesOnly.db.hero.count());
// @ts-expect-error: nothing is known of reducers
tablesOnly.reducers.say({ room: 'hall', text: 'hi' });

// @ts-expect-error: the database is missing
connect<typeof tavern>({ uri: 'ws://localhost' });

export type Unused = EventContextInterface<never>;
