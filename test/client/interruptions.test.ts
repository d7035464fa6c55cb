import { describe, expect, it } from 'vitest';
import {
  committed,
  hero,
  liveRig,
  log,
  makeRig,
  type Rig,
  rowsOf,
  schemaText,
  settled,
  tableRows,
} from './rig.ts';

// What comes in between: a loss, a callback that ends something, a failure on the way back.

const all = 'SELECT * FROM hero';

async function cameBack({ socket, platform, ...rig }: Rig): Promise<void> {
  await socket.drop();
  await platform.advance(250);
  const next = rig.connections.at(-1);
  await next?.open();
  await next?.welcome();
}

describe('the way back', () => {
  it('[client-sdk 13] shows what it had until all sets are back, though one fits no more', async () => {
    const rig = await liveRig();
    const { client } = rig;
    const errors: string[] = [];
    let isGone = false;
    const onError = ({ message }: Error) => errors.push(message);
    client.subscribe(
      (q) => {
        if (isGone) throw new Error('no such table');
        return q.shout;
      },
      { onError },
    );
    client.subscribe(all);
    await settled();
    await rig.socket.apply(0);
    await rig.socket.apply(1, tableRows('hero', hero(1)));
    const lines = log(client);
    isGone = true;
    await cameBack(rig);
    expect([errors, lines, client.db.hero.count()]).toEqual([[], [], 1n]);
    await rig.socket.apply(1, tableRows('hero', hero(1), hero(2)));
    expect([errors, lines]).toEqual([['no such table'], ['Reconnected + 2 hero 2']]);
  });

  it('[client-sdk 13] tells the rows of event tables that come before all sets are back', async () => {
    const rig = await liveRig();
    const { client } = rig;
    const told: string[] = [];
    client.db.flash.onInsert(({ event }, { text }) => told.push(`${event.tag} ${text}`));
    client.db.hero.onInsert(({ event }, { nick }) => told.push(`${event.tag} ${nick}`));
    client.subscribe('SELECT * FROM flash');
    client.subscribe(all);
    const flashes = client.watch('SELECT * FROM flash');
    flashes.onChange((changes) => told.push(`watched ${changes.length}`));
    flashes.subscribe(() => {});
    await settled();
    for (const id of [0, 1, 2]) await rig.socket.apply(id);
    await cameBack(rig);
    await rig.socket.apply(0);
    await rig.socket.apply(2);
    const changes = [{ kind: 'event', events: rowsOf('flash', [{ text: 'now' }]) }] as const;
    const tables = [{ table: 'flash', changes }];
    const querySets = [0, 2].map((querySetId) => ({ querySetId, tables }));
    await rig.socket.send({ kind: 'transactionUpdate', querySets });
    expect(told).toEqual([]);
    await rig.socket.apply(1, tableRows('hero', hero(1)));
    const once = ['Transaction now', 'Transaction now', 'watched 1'];
    expect(told).toEqual(['Reconnected hero 1', ...once]);
    expect(client.db.flash.count()).toBe(0n);
  });

  it('[client-sdk 12] asks anew for a schema that could not be read while there was no network', async () => {
    const rig = makeRig({ schema: undefined as never });
    const { client, platform } = rig;
    const kinds: string[] = [];
    client.state.subscribe(() => kinds.push(client.state.get().kind));
    await settled();
    platform.answers.set('/v1/database/tavern/schema', { status: 200, text: schemaText });
    const call = client.reducers.ping();
    await rig.socket.open();
    await rig.socket.welcome();
    await rig.socket.send(committed(rig.socket.of('callReducer')[0]?.requestId ?? -1));
    await call;
    expect(kinds).toEqual(['live']);
  });
});

describe('the end of a connection', () => {
  it('[client-sdk 13] says of a call that may be repeated that it may have run', async () => {
    const rig = await liveRig();
    const { client } = rig;
    const sent = client.reducers.ping(undefined, { retry: true });
    await settled();
    await rig.socket.drop();
    const unsent = client.reducers.ping(undefined, { retry: true });
    client.disconnect();
    await expect(sent).rejects.toMatchObject({ outcome: 'unknown' });
    await expect(unsent).rejects.toMatchObject({ outcome: 'not-sent' });
  });

  it('[client-sdk 19] leaves no timer when whoever hears of a loss disconnects', async () => {
    const { client, platform, socket } = await liveRig();
    const kinds: string[] = [];
    client.state.subscribe(() => {
      const { kind } = client.state.get();
      kinds.push(kind);
      if (kind === 'waiting') client.disconnect();
    });
    await socket.drop();
    expect(kinds).toEqual(['waiting', 'closed']);
    expect([platform.timerCount, platform.wakeCount]).toEqual([0, 0]);
  });
});

describe('a callback', () => {
  const refuse = () => {
    throw new Error('no such table');
  };

  it('[client-sdk 13] may end a set that is about to be sent', async () => {
    const { client, socket } = await liveRig();
    client.subscribe(refuse, { onError: () => second.unsubscribe() });
    const second = client.subscribe(all);
    await settled();
    await expect(second.applied).rejects.toThrow('ended before its rows arrived');
    expect([second.isEnded, socket.received]).toEqual([true, []]);
  });

  it('[client-sdk 13] may disconnect while others are about to be sent', async () => {
    const { client, socket } = await liveRig();
    client.subscribe(refuse, { onError: () => client.disconnect() });
    const second = client.subscribe(all);
    const call = client.reducers.ping();
    await expect(second.applied).rejects.toMatchObject({ code: 'connection.lost' });
    await expect(call).rejects.toMatchObject({ outcome: 'not-sent' });
    expect([second.isEnded, socket.received]).toEqual([true, []]);
  });

  it('[client-sdk 12] that fails to save the token does not cost the connection', async () => {
    const saveToken = () => {
      throw new Error('quota');
    };
    const { client, platform } = await liveRig({ saveToken });
    expect([client.state.get().kind, client.token]).toEqual(['live', 'issued']);
    expect(platform.reported).toEqual([new Error('quota')]);
  });
});
