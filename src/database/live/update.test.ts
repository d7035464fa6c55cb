import { describe, expect, it } from 'vitest';
import { CoreClients, changesIn } from '../../../test/live/core-clients.ts';
import { buildText } from '../../../test/support/build-text.ts';
import { CoreUnderTest } from '../../../test/support/core-under-test.ts';

const ada = 0xa1n;

interface Parts {
  readonly indexed?: boolean;
  readonly least?: number;
  readonly more?: string;
  readonly access?: string;
}

/** A module with parts that change from one program to the next. */
function moduleText({ indexed = true, least = 0, more = '', access = 'public: true' }: Parts) {
  return `
import { schema, t, table } from 'reducerdb/server';
const note = table({ ${access} }, {
  id: t.u32().primaryKey(), room: t.u32()${indexed ? '.index()' : ''}, text: t.string(),
});
const room = table({ public: true }, { id: t.u32().primaryKey(), name: t.string()${more} });
const db = schema({ note, room });
export default db;
export const put = db.reducer({ id: t.u32(), room: t.u32(), text: t.string() }, (ctx, row) => {
  ctx.db.note.id.delete(row.id);
  ctx.db.note.insert(row);
});
export const late = db.anonymousView({ public: true }, t.array(note.rowType), (ctx) => [
  ...ctx.db.note.iter(),
].filter(({ id }) => id >= ${least}));
`;
}

async function opened() {
  const database = await CoreUnderTest.of(await buildText(moduleText({})));
  for (const id of [1, 2]) database.run('put', id, id, 'hello');
  const clients = new CoreClients(database);
  const update = async (parts: Parts) => database.update(await buildText(moduleText(parts)));
  return { database, clients, update };
}

const join = 'SELECT note.* FROM room JOIN note ON room.id = note.room';

describe('[subscriptions 13] an update of the program', () => {
  it('tells what changed with the body of a view', async () => {
    const { database, clients, update } = await opened();
    const client = clients.connect(ada);
    const all = 'SELECT * FROM late';
    expect(client.subscribe(1, all)).toEqual([['[1,1,"hello"]', '[2,2,"hello"]']]);
    await update({ least: 2 });
    const [commit, ...rest] = clients.take();
    expect(rest).toEqual([]);
    expect(commit?.offset).toBe(database.core.store.offset);
    expect(changesIn(database, commit, client.numbers[0])).toEqual(['-[1,1,"hello"]']);
    database.run('put', 3, 1, 'new');
    expect(changesIn(database, clients.take()[0], client.numbers[0])).toEqual(['+[3,1,"new"]']);
  });

  it('fails a join without its index when a commit concerns it; its set goes', async () => {
    const { database, clients, update } = await opened();
    const client = clients.connect(ada);
    client.subscribe(1, join, 'SELECT * FROM note');
    const other = clients.connect(ada);
    other.subscribe(1, 'SELECT * FROM note');
    const [joined] = client.numbers;
    await update({ indexed: false });
    expect(clients.take()).toEqual([]);
    database.run('put', 3, 1, 'new');
    const [commit] = clients.take();
    const error = `Subscriptions require indexes on join columns, executing: \`${join}\``;
    expect(commit?.failures).toEqual([{ query: joined, error }]);
    expect(changesIn(database, commit, other.numbers[0])).toEqual(['+[3,1,"new"]']);
    expect(client.unsubscribe(1)).toMatch(/^Client not found: /);
    expect(database.core.live.queries.count).toBe(1);
    expect(client.subscribe(2, join)).toBe(error);
  });

  it('answers an unsubscription of such a query with its error; the set is gone', async () => {
    const { clients, update } = await opened();
    const client = clients.connect(ada);
    client.subscribe(1, join);
    await update({ indexed: false });
    expect(client.unsubscribe(1, true)).toBe(
      `Subscriptions require indexes on join columns, executing: \`${join}\``,
    );
    expect(client.unsubscribe(1, true)).toMatch(/^Client not found: /);
  });

  it('shows strangers no more of a table that became private', async () => {
    const { database, clients, update } = await opened();
    const [owner, stranger] = [clients.connect(), clients.connect(ada)];
    for (const client of [owner, stranger]) client.subscribe(1, 'SELECT * FROM note');
    await update({ access: '' });
    database.run('put', 3, 1, 'new');
    const [commit] = clients.take();
    expect(commit?.failures.map(({ query }) => query)).toEqual(stranger.numbers);
    expect(changesIn(database, commit, stranger.numbers[0])).toEqual([]);
    expect(changesIn(database, commit, owner.numbers[0])).toEqual(['+[3,1,"new"]']);
  });

  it('tells the owner what changed in the tables about tables', async () => {
    const { database, clients, update } = await opened();
    const owner = clients.connect();
    owner.subscribe(1, 'SELECT * FROM st_index');
    await update({ indexed: false });
    const changes = changesIn(database, clients.take()[0], owner.numbers[0]);
    expect(changes).toHaveLength(1);
    expect(changes[0]).toMatch(/^-.*note_room_idx/);
    expect(database.core.live.queries.counters.reruns).toBe(1);
  });

  it('[living 5.9] drops all sets of connections that it breaks, and no others', async () => {
    const { database, clients, update } = await opened();
    const [broken, whole] = [clients.connect(ada), clients.connect(ada)];
    broken.subscribe(1, 'SELECT * FROM note');
    broken.subscribe(2, 'SELECT * FROM room');
    whole.subscribe(1, 'SELECT * FROM late');
    await update({ more: ', age: t.u32().default(0)' });
    expect(clients.take()).toEqual([]);
    expect([...database.core.connections.keys()]).toEqual([whole.connectionId]);
    expect(database.core.live.queries.count).toBe(1);
    expect(database.core.views.count).toBe(1);
    database.run('put', 3, 1, 'new');
    expect(clients.take()).toHaveLength(1);
  });
});
