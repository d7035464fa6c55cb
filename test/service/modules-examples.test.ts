import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Person, program, Running } from './running.ts';

let running: Running;
let owner: Person;
let ada: Person;
let bob: Person;

beforeAll(async () => {
  running = await Running.start();
  [owner, ada, bob] = [await running.person(), await running.person(), await running.person()];
});
afterAll(() => running.stop());

const hexOf = ({ identity }: Person) => `0x${identity.replace(/^0+/, '')}`;

describe('the chat', () => {
  const done = { status: 200, text: '' };
  const call = (as: Person, reducer: string, ...args: unknown[]) =>
    running.call('chat', reducer, args, as);

  beforeAll(async () => {
    expect(await running.publish('chat', 'examples/chat', owner)).toMatchObject({ status: 200 });
  });

  it('lets people name themselves, open rooms and talk', async () => {
    expect(await call(ada, 'set_name', 'Ada')).toMatchObject(done);
    expect(await call(ada, 'open_room', 'kitchen', 'Who has the cups?')).toMatchObject(done);
    expect(await call(ada, 'send_message', '  hello  ')).toMatchObject(done);
    expect(await call(bob, 'join_room', 'kitchen')).toMatchObject(done);
    expect(await call(bob, 'send_message', 'hi Ada')).toMatchObject(done);
    expect(await running.rows('chat', 'SELECT id, room, sender, text FROM message', bob)).toEqual([
      [1, 'kitchen', [hexOf(ada)], 'hello'],
      [2, 'kitchen', [hexOf(bob)], 'hi Ada'],
    ]);
    // Who asks is connected meanwhile.
    expect(await running.rows('chat', 'SELECT name, online FROM user', bob)).toEqual([
      [[0, 'Ada'], false],
      [[1, []], true],
    ]);
    expect(await running.rows('chat', 'SELECT name, topic FROM room')).toEqual([
      ['lobby', 'Everything'],
      ['kitchen', 'Who has the cups?'],
    ]);
  });

  it('refuses what makes no sense, in words', async () => {
    const refused = (text: string) => ({ status: 530, text });
    expect(await call(bob, 'send_message', ' ')).toMatchObject(refused('the message is empty'));
    expect(await call(bob, 'delete_message', 1)).toMatchObject(refused('that is not your message'));
    expect(await call(bob, 'join_room', 'cellar')).toMatchObject(
      refused('there is no room cellar'),
    );
    expect(await call(bob, 'close_room', 'lobby')).toMatchObject(refused('the lobby stays open'));
    expect(await running.sql('chat', 'SELECT * FROM connection', bob)).toMatchObject({
      status: 400,
    });
  });

  it('closes a room when everybody has gone', async () => {
    expect((await call(ada, 'close_room', 'kitchen')).text).toBe('somebody is in kitchen');
    expect(await call(owner, 'close_room', 'kitchen')).toMatchObject(done);
    expect(await running.rows('chat', 'SELECT COUNT(*) AS n FROM message')).toEqual([[0]]);
    const messages = await running.messages('chat', owner);
    expect(messages).toContain('Info: message 2 in kitchen');
    expect(messages).toContain('Info: closed kitchen with 2 messages');
  });
});

describe('the complete example of the library', () => {
  const file = 'test/types/tavern.ts';

  it('[module-sdk 14] runs as it is written', async () => {
    const made = await running.upload('tavern', await program(file), owner);
    expect(made).toMatchObject({ status: 200 });
    const call = async (as: Person, reducer: string, args: unknown) => {
      const { status, text } = await running.call('tavern', reducer, args, as);
      return status === 200 ? 'done' : `${status} ${text}`;
    };
    expect(await call(ada, 'say', ['hall', 'hi'])).toBe('530 join first');
    expect(await call(ada, 'join_tavern', { nick: 'ada' })).toBe('done');
    expect(await call(bob, 'join_tavern', ['ada'])).toBe('530 nick taken');
    expect(await call(bob, 'join_tavern', ['bob'])).toBe('done');
    expect(await call(ada, 'say', ['hall', 'hi'])).toBe('done');
    expect(await call(bob, 'say', { text: 'welcome!', room: 'hall' })).toBe('done');
    const sql = 'SELECT nick, mood, spot, guild_id FROM hero';
    const heroes = await running.rows('tavern', sql, owner);
    expect(heroes).toEqual([
      ['ada', [0, []], [0, 0], [1, []]],
      ['bob', [0, []], [0, 0], [1, []]],
    ]);
    // Its filter shows each caller their own.
    expect(await running.rows('tavern', sql, bob)).toEqual(heroes.slice(1));
    const shouts = () => running.rows('tavern', 'SELECT id, text FROM shout');
    expect(await shouts()).toEqual([
      [1, 'hi'],
      [2, 'welcome!'],
    ]);
    expect(await running.rows('tavern', 'SELECT * FROM flash')).toEqual([]);
    const [job] = await running.rows('tavern', 'SELECT * FROM sweep', owner);
    expect(job).toEqual([1, [0, [60_000_000]], [3_600_000_000]]);
    expect((await running.sql('tavern', 'SELECT * FROM sweep', ada)).status).toBe(400);
    expect(await call(owner, 'sweep_old', [job])).toBe('done');
    expect(await shouts()).toHaveLength(2);
    expect(await call(owner, 'sweep_old', [[1, [0, [0]], [-1]]])).toBe('done');
    expect(await shouts()).toEqual([]);
    expect(await running.call('tavern', 'hero_count', [], bob)).toMatchObject({ text: '2' });
    const board = await running.ask('GET', '/v1/database/tavern/route/board');
    expect([board.status, board.text]).toEqual([200, '2 heroes']);
    expect(await running.messages('tavern', owner)).toContain(`Info: hello ${ada.identity}`);
  });
});
