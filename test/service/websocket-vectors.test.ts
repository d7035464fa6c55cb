import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  bytesOf,
  type RecordedFrames,
  type RecordedMessages,
  recorded,
} from '../support/recorded-messages.ts';
import { Running } from './running.ts';
import { SocketClient } from './socket-client.ts';
import { tavern } from './tavern-module.ts';

let running: Running;

beforeAll(async () => {
  running = await Running.start();
  const owner = await running.person();
  await running.upload('tavern', await tavern(), owner);
});
afterAll(() => running.stop());

/** Sends the frames, waits until all answers are there, and gives the code of the end. */
async function endAfter(protocol: string, frames: readonly (Uint8Array | string)[]) {
  const client = await SocketClient.open(running.service.url, 'tavern', { protocols: [protocol] });
  await client.frame();
  for (const frame of frames) client.send(frame);
  for (let count = 0; count === 0 || count < client.frames.length; ) {
    count = client.frames.length;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  expect(client.frames.length).toBeGreaterThan(1);
  return (await client.close()).code;
}

const fromClients = (name: string) =>
  recorded<RecordedMessages>(name)
    .messages.filter(({ direction }) => direction === 'client')
    .map(({ bsatn }) => bytesOf(bsatn));

describe('the recorded messages of clients', () => {
  it('[websocket 6] of version 2 are all understood', async () => {
    const frames = fromClients('messages-v2.json');
    expect(frames.length).toBeGreaterThan(5);
    expect(await endAfter('v2.bsatn.spacetimedb', frames)).toBe(1005);
  });

  it('[websocket 6] of version 3 are all understood', async () => {
    const { frames } = recorded<RecordedFrames>('messages-v3.json');
    const ours = frames.filter(({ direction }) => direction === 'client');
    expect(ours.length).toBeGreaterThan(1);
    const bytes = ours.map(({ frame }) => bytesOf(frame));
    expect(await endAfter('v3.bsatn.spacetimedb', bytes)).toBe(1005);
  });

  it('[websocket 8] of version 1 are all understood', async () => {
    const frames = fromClients('messages-v1.json');
    expect(frames.length).toBeGreaterThan(5);
    expect(await endAfter('v1.bsatn.spacetimedb', frames)).toBe(1005);
  });

  it('[websocket 9] of version 1 as text are all understood', async () => {
    const { text_examples: examples } = recorded<RecordedMessages>('messages-v1.json');
    const texts = examples.filter(({ direction }) => direction === 'client');
    expect(texts.length).toBeGreaterThan(3);
    const frames = texts.map(({ text }) => text);
    expect(await endAfter('v1.json.spacetimedb', frames)).toBe(1005);
  });
});
