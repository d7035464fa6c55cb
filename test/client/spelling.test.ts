import { describe, expect, it } from 'vitest';
import { connectOn } from '../../src/client/client.ts';
import { isCallError } from '../../src/client/errors.ts';
import { schemaFromJson } from '../../src/client/schema-from-json.ts';
import { rowListOf } from '../../src/protocol/row-list.ts';
import * as crooked from './crooked.ts';
import { settled, type TestConnection, TestPlatform, testSockets } from './rig.ts';

// The compiler checks these programs by the types of the module; they run on what its schema says.

async function connected<M>(schema: ReturnType<typeof crooked.crookedSchema>) {
  const platform = new TestPlatform();
  const connections: TestConnection[] = [];
  const options = { uri: 'ws://test', database: 'crooked', schema };
  const client = connectOn<M>(options, platform, testSockets(connections));
  await settled();
  const [socket] = connections;
  if (socket === undefined) throw new Error('no socket');
  await socket.open();
  await socket.welcome();
  const table = schemaFromJson(schema).tables.get('guest');
  if (table === undefined) throw new Error('no table');
  const rows = (row: object) => ({ table: 'guest', rows: rowListOf([table.encode({ ...row })]) });
  return { client, socket, rows };
}

describe('what a module spells in other ways', () => {
  it('[client-sdk 12] has the spelling of generated code, in types as in values', async () => {
    const schema = crooked.crookedSchema(crooked.default, { move: crooked.move });
    const { client, socket, rows } = await connected<typeof crooked>(schema);
    client.subscribe((q) => q.guest.where((g) => g.roomNo.eq(2).and(g.nick.eq('Ada'))));
    const call = client.reducers.move({
      userID: 5,
      newMood: { tag: 'HttpError' },
      places: [{ mapNo: 1, postCode2: 'x', tag: 'y' }],
    });
    await settled();
    expect(socket.of('subscribe')[0]?.queries[0]).toMatch(/"room_no" = 2.*"nick" = 'Ada'/);
    await socket.apply(
      0,
      rows({
        userId: 5,
        roomNo: 2,
        nick: 'Ada',
        mood: { tag: 'VeryAngry' },
        visits: [
          { tag: 'Never' },
          { tag: 'LastSeenIn', value: { mapNo: 1, postCode2: 'x', tag: 'y' } },
        ],
        place: { mapNo: 7, postCode2: '', tag: '' },
      }),
    );
    const { guest } = client.db;
    const found = guest.userId.find(5);
    expect(found?.mood.tag === 'VeryAngry' && found.place?.mapNo).toBe(7);
    const [never, seen] = found?.visits ?? [];
    expect([never?.tag, seen?.tag === 'LastSeenIn' && seen.value.mapNo]).toEqual(['Never', 1]);
    expect([...guest.roomNo.filter(2)]).toEqual([found]);
    expect([...guest.by_room.filter([2, 5])]).toEqual([found]);
    const [{ requestId = -1 } = {}] = socket.of('callReducer');
    const outcome = { kind: 'err', error: Uint8Array.of(1, 9, 0, 0, 0) } as const;
    await socket.send({ kind: 'reducerResult', requestId, timestamp: 5n, outcome });
    const error = await call.then(
      (place) => place.mapNo,
      (thrown: unknown) => thrown,
    );
    const refusal = isCallError(error, client.reducers.move) ? error.error : undefined;
    expect(refusal?.tag === 'TooFar' && refusal.value.inKm).toBe(9);
  });

  it('[client-sdk 12] stays as it is where the names of the module are those of the database', async () => {
    const schema = crooked.crookedSchema(crooked.verbatim);
    const { client, socket, rows } = await connected<typeof crooked.verbatim>(schema);
    client.subscribe((q) => q.guest);
    await settled();
    await socket.apply(
      0,
      rows({
        userID: 5,
        roomNo: 2,
        nick: 'Ada',
        mood: { tag: 'HTTPError' },
        visits: [],
        place: undefined,
      }),
    );
    const found = client.db.guest.userID.find(5);
    expect([found?.roomNo, found?.nick, found?.mood.tag === 'HTTPError']).toEqual([2, 'Ada', true]);
  });
});
