import { expect, it } from 'vitest';
import { HttpError } from './exchange.ts';
import { Load } from './load.ts';

const bounds = {
  requestsMax: 100,
  bodiesBytesMax: 1_000,
  answersBytesMax: 1_000,
  bodyIdleMillisMax: 1_000,
};

/** Returns the status with which bytes are rejected. */
function status(take: () => void): number {
  try {
    take();
  } catch (error) {
    if (error instanceof HttpError) return error.reply.status;
    throw error;
  }
  return 200;
}

function begin(load: Load) {
  const share = load.begin();
  if (share === undefined) throw new Error('too many requests');
  return share;
}

it('[http 16] one client holds at most as much as it leaves', () => {
  const load = new Load(bounds);
  const share = begin(load);
  for (let byte = 0; byte < 500; byte += 1) share.takeBytes(1, ['a']);
  expect(status(() => share.takeBytes(1, ['a']))).toBe(429);
  expect(status(() => begin(load).takeBytes(1, ['a']))).toBe(429);
  expect(status(() => begin(load).takeBytes(250, ['b']))).toBe(200);
  expect(status(() => begin(load).takeBytes(1, ['b']))).toBe(429);
  expect(status(() => begin(load).takeBytes(251, ['c']))).toBe(503);
});

it('[http 16] who is known by two names is held to both', () => {
  const load = new Load(bounds);
  begin(load).takeBytes(400, ['identity 1', 'network 1']);
  expect(status(() => begin(load).takeBytes(150, ['identity 2', 'network 1']))).toBe(429);
  expect(status(() => begin(load).takeBytes(150, ['identity 1', 'network 2']))).toBe(429);
  expect(status(() => begin(load).takeBytes(150, ['identity 2', 'network 2']))).toBe(200);
});

it('[http 16] what has ended counts no more', () => {
  const load = new Load(bounds);
  for (let round = 0; round < 10; round += 1) {
    const share = begin(load);
    share.takeBytes(300, ['a']);
    share.takeBytes(200, ['a']);
    share.end();
  }
});
