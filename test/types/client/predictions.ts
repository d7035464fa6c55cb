import {
  type Client,
  connect,
  type Identity,
  preload,
  type Snapshot,
  Timestamp,
} from 'reducerdb/client';
import { type Equal, expectType } from '../expect.ts';
import type * as tavern from '../tavern.ts';

// What may be written to a draft, how watched queries may be shown, what may be loaded ahead.

declare const client: Client<typeof tavern>;

export function predictions(me: Identity): void {
  client.reducers.say(
    { room: 'hall', text: 'hi' },
    {
      optimistic: (draft, args) => {
        expectType<Equal<typeof args.room, string>>();
        const sentAt = Timestamp.now();
        const row = draft.shout.insert({
          id: draft.tempId(),
          author: me,
          sentAt,
          room: args.room,
          text: args.text,
        });
        expectType<Equal<typeof row.text, string>>();
        const mine = draft.hero.find(me);
        if (mine !== null) draft.hero.update({ ...mine, nick: 'Ada' });
        for (const line of draft.shout.author.filter(me)) draft.shout.delete(line);
        const late = draft.shout.filter((line) => line.sentAt > sentAt);
        expectType<Equal<(typeof late)[number]['room'], string>>();

        // @ts-expect-error: a column is missing
        draft.shout.insert({ room: 'hall' });
        // @ts-expect-error: a column of another type
        draft.hero.filter((hero) => hero.nick === 5);
        // @ts-expect-error: a key of another type
        draft.hero.find('me');
        // @ts-expect-error: a private table
        draft.sweep.iter();
        // @ts-expect-error: not an argument of this call
        console.log(args.loud);
      },
    },
  );
}

export async function views(): Promise<void> {
  const nicks = client.watch((q) => q.hero, {
    sort: (a, b) => a.nick.localeCompare(b.nick),
    limit: 3,
    select: ({ nick }) => nick,
  });
  expectType<Equal<ReturnType<typeof nicks.get>['rows'][number], string>>();
  nicks.onChange(([change]) => console.log(change?.row.mood.tag));
  client.watch('SELECT * FROM shout WHERE room = :room', { params: { room: 'hall' } });

  // @ts-expect-error: no such column
  client.watch((q) => q.hero, { sort: (a, b) => a.name.localeCompare(b.name) });
  // @ts-expect-error: SQL has no literal for a list
  client.query('SELECT * FROM shout WHERE room = :room', { params: { room: ['hall'] } });
}

export async function ahead(): Promise<void> {
  const snapshot: Snapshot = await preload(client, {
    heroes: (q) => q.hero,
    hall: { query: 'SELECT * FROM shout WHERE room = :room', params: { room: 'hall' } },
  });
  connect<typeof tavern>({ uri: 'ws://localhost:3000', database: 'tavern', snapshot });

  // @ts-expect-error: a private table
  await preload(client, { jobs: (q) => q.sweep });
}
