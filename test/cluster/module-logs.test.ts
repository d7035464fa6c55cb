import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { identityToHex } from '../../src/values/identity.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { writtenFrom } from '../service/written-module.ts';
import { ask, type Caller } from '../support/asking.ts';
import { startPair } from '../support/cluster-pair.ts';
import {
  type ClusterService,
  type ClusterServices,
  follows,
  until,
} from '../support/cluster-services.ts';

const source = `
  import { schema, t } from 'reducerdb/server';
  const db = schema({});
  export default db;
  export const say = db.reducer({ text: t.string() }, (ctx, { text }) => console.log(text));
`;

let services: ClusterServices;
let a: ClusterService;
let b: ClusterService;
let shouter: DatabaseIdentity;
let path: string;
let ada: Caller;

beforeAll(async () => {
  const pair = await startPair('shouter', await writtenFrom(source));
  ({ services, a, b, owner: ada, identity: shouter } = pair);
  path = `/v1/database/${identityToHex(shouter)}`;
});
afterAll(() => services.close());

async function say(at: ClusterService, text: string): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify([text]);
  const { status } = await ask(at, 'POST', `${path}/call/say`, { as: ada, body, headers });
  expect(status).toBe(200);
}

const messagesIn = (text: string): string[] =>
  text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).message]));

async function log(at: ClusterService, query = ''): Promise<string[]> {
  const { status, text } = await ask(at, 'GET', `${path}/logs${query}`, { as: ada });
  expect(status).toBe(200);
  return messagesIn(text).filter((line) => !line.startsWith('Creat'));
}

/** The first lines of a log that is followed; `then`: what writes more once it is followed. */
async function followed(query: string, count: number, then: () => Promise<void>) {
  const stop = new AbortController();
  const { token } = ada;
  const answer = await fetch(`${b.url}${path}/logs?follow=true${query}`, {
    headers: { authorization: `Bearer ${token}` },
    signal: stop.signal,
  });
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const written = then();
  let text = '';
  while (messagesIn(text).length < count) {
    text += Buffer.from((await reader.read()).value ?? []).toString();
  }
  await written;
  stop.abort();
  return messagesIn(text);
}

describe('the log of a module that several hosts have run', () => {
  it('[replication 7.11] has the lines of all hosts, by time, whoever is asked', async () => {
    await say(a, 'one');
    await say(b, 'two');
    const lead = b.part.forHost.me;
    await a.service.host.replication.handOver(shouter, { ...lead, history: '' });
    await until(() => b.part.placeOf(shouter).kind === 'here');
    await follows(a, b, shouter);
    await say(a, 'three');
    await say(b, 'four');
    for (const host of [a, b]) {
      expect((await log(host)).slice(-4)).toEqual(['one', 'two', 'three', 'four']);
      expect(await log(host, '?num_lines=3')).toEqual(['two', 'three', 'four']);
      expect(await log(host, '?num_lines=1')).toEqual(['four']);
    }
  });

  it('[replication 7.11] is followed behind the lines of all hosts', async () => {
    const later = () => say(a, 'five');
    expect(await followed('&num_lines=3', 4, later)).toEqual(['two', 'three', 'four', 'five']);
    expect(await followed('', 1, () => say(a, 'six'))).toEqual(['six']);
  });

  it('[replication 7.11] names the hosts that did not answer', async () => {
    a.part.membership.stop();
    await a.part.stopListening();
    await until(() => b.part.membership.living.length === 1);
    const lines = await log(b, '?num_lines=2');
    expect(lines).toEqual([
      'This host did not answer, and what was logged there is missing: a',
      'five',
      'six',
    ]);
  });
});
