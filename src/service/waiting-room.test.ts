import { expect, it } from 'vitest';
import { WaitingRoom } from './waiting-room.ts';

const ask = (room: WaitingRoom, path: string) =>
  Promise.resolve(room.handler(new Request(`http://127.0.0.1${path}`), {}));

it('[rulings 6.1] a service that starts says that it is not ready; others wait', async () => {
  const room = new WaitingRoom();
  const early = ask(room, '/v1/ping');
  const answer = await ask(room, '/v1/ready?x');
  expect(answer.status).toBe(503);
  expect(answer.headers.get('retry-after')).toBe('1');
  expect(await answer.json()).toEqual({ ready: false, reason: 'starting' });
  room.open(() => new Response('served'));
  expect(await (await early).text()).toBe('served');
  expect(await (await ask(room, '/v1/ready')).text()).toBe('served');
});
