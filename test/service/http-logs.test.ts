import { mkdirSync, readdirSync, renameSync, rmdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openInn } from './inn.ts';
import type { Person, Running } from './running.ts';

let running: Running;
let owner: Person;
let stranger: Person;
let identity: string;

beforeAll(async () => {
  ({ running, owner, stranger, identity } = await openInn());
});
afterAll(() => running.stop());

describe('logs', () => {
  it('[http 11] are for the owner', async () => {
    const answer = await running.ask('GET', '/v1/database/inn/logs', { as: stranger });
    expect(answer).toMatchObject({
      status: 403,
      text:
        `${stranger.identity} is not authorized to perform action on database ` +
        `${identity}: view module logs`,
    });
  });

  it('[http 11] end with the last lines asked for', async () => {
    await running.call('inn', 'add_person', ['Lou']);
    const logs = (query: string) =>
      running.ask('GET', `/v1/database/inn/logs${query}`, { as: owner });
    expect((await logs('?num_lines=0')).text).toBe('');
    const { text, headers } = await logs('?num_lines=2');
    expect(headers.get('content-type')).toBe('application/x-ndjson');
    expect(text.trim().split('\n')).toHaveLength(2);
    const added = JSON.parse(
      (await logs('')).text
        .split('\n')
        .filter((line) => line.includes('added'))
        .at(-1) ?? '',
    );
    expect(added).toMatchObject({ level: 'Info', function: 'add_person' });
    expect(added.message).toMatch(/^person \d+ added$/);
    expect(added.filename).toContain('src/index.ts');
  });

  it.each(['it expires', 'it is revoked'])(
    '[auth 8] are for a limited token with that feature, and end when %s',
    async (end) => {
      const where = '/v1/database/inn';
      const plain = await running.agent('inn', { reducers: [] }, owner);
      expect((await running.ask('GET', `${where}/logs`, { as: plain })).status).toBe(403);
      const expiry = end === 'it expires' ? { expires_seconds: 3 } : {};
      const agent = await running.agent('inn', { features: ['logs'], ...expiry }, owner);
      const followed = await fetch(`${running.service.url}${where}/logs?follow=true&num_lines=1`, {
        headers: { authorization: `Bearer ${agent.token}` },
      });
      expect(followed.status).toBe(200);
      if (end === 'it is revoked') {
        await running.ask('DELETE', `${where}/tokens/${agent.id}`, { as: owner });
      }
      expect((await followed.text()).split('\n')).toHaveLength(2);
      expect((await running.ask('GET', `${where}/logs`, { as: agent })).status).toBe(401);
    },
  );

  it('[http 11] follow without a gap, until the client goes', async () => {
    const controller = new AbortController();
    const answer = await fetch(
      `${running.service.url}/v1/database/inn/logs?follow=true&num_lines=1`,
      {
        headers: { authorization: `Bearer ${owner.token}` },
        signal: controller.signal,
      },
    );
    const lines: string[] = [];
    const reading = (async () => {
      const decoder = new TextDecoder();
      for await (const chunk of answer.body ?? []) lines.push(decoder.decode(chunk));
    })().catch(() => {});
    for (let at = 0; at < 5; at += 1) await running.call('inn', 'add_person', [`F${at}`]);
    await expect
      .poll(() => lines.join('').match(/person \d+ added/g)?.length ?? 0, { timeout: 5_000 })
      .toBeGreaterThanOrEqual(5);
    controller.abort();
    await reading;
  });

  const lines = async (query: string): Promise<string[]> => {
    const { text } = await running.ask('GET', `/v1/database/inn/logs${query}`, { as: owner });
    return text.split('\n').slice(0, -1);
  };

  it('[http 11] are the last lines of today, or all of them', async () => {
    for (let at = 0; at < 5; at += 1) await running.call('inn', 'add_person', [`P${at}`]);
    const all = await lines('');
    expect(all.length).toBeGreaterThan(5);
    expect(await lines('?follow=false')).toEqual(all);
    expect(await lines('?num_lines=3')).toEqual(all.slice(-3));
    expect(await lines('?num_lines=100000')).toEqual(all);
    expect(await lines('?num_lines=0')).toEqual([]);
  });

  it('[http 11] have their keys in order, and the mark of the host', async () => {
    await running.call('inn', 'add_person', ['Keys']);
    await running.call('inn', 'crash', []);
    await running.call('inn', 'unheard', []);
    const parsed = (await lines('')).map((line) => JSON.parse(line));
    const order = [
      'level',
      'ts',
      'target',
      'filename',
      'line_number',
      'function',
      'message',
      'trace',
    ];
    for (const line of parsed) {
      const keys = Object.keys(line);
      expect(keys).toEqual(order.filter((key) => keys.includes(key)));
      expect(['Error', 'Warn', 'Info', 'Debug', 'Trace', 'Panic']).toContain(line.level);
      expect(Number.isSafeInteger(line.ts)).toBe(true);
      expect('trace' in line).toBe(line.level === 'Panic');
    }
    const byHost = parsed.find(({ message }) => message.includes('unheard'));
    const mark = '__spacetimedb__';
    expect(byHost).toMatchObject({ level: 'Error', target: mark, filename: mark, function: mark });
    const panic = parsed.findLast(({ level }) => level === 'Panic');
    for (const frame of panic.trace) {
      expect(['module_name', 'func_name']).toEqual(expect.arrayContaining(Object.keys(frame)));
    }
  });

  it.each([
    ['follow=true', 0],
    ['follow=true&num_lines=0', 0],
    ['follow=true&num_lines=2', 2],
  ])('[http 11] that are followed with %s begin with the last %i', async (query, count) => {
    const before = await lines('');
    const leaving = new AbortController();
    const answer = await fetch(`${running.service.url}/v1/database/inn/logs?${query}`, {
      headers: { authorization: `Bearer ${owner.token}` },
      signal: leaving.signal,
    });
    let text = '';
    const reading = (async () => {
      const decoder = new TextDecoder();
      for await (const chunk of answer.body ?? []) text += decoder.decode(chunk, { stream: true });
    })().catch(() => undefined);
    for (let at = 0; at < 3; at += 1) await running.call('inn', 'add_person', [`G${at}`]);
    const after = await lines('');
    const expected = [...before.slice(before.length - count), ...after.slice(before.length)];
    await expect.poll(() => text.split('\n').slice(0, -1)).toEqual(expected);
    leaving.abort();
    await reading;
  });

  it('[http 11] that cannot be read are a 503, until they can', async () => {
    const folder = path.join(running.folder, 'databases', identity, 'module-logs');
    const kept = readdirSync(folder).map((name) => path.join(folder, name));
    for (const file of kept) {
      renameSync(file, `${file}.away`);
      mkdirSync(file);
    }
    const answer = await running.ask('GET', '/v1/database/inn/logs?num_lines=1', { as: owner });
    for (const file of kept) {
      rmdirSync(file);
      renameSync(`${file}.away`, file);
    }
    expect(answer).toMatchObject({ status: 503, text: 'Logs are temporarily not available' });
    expect(await lines('?num_lines=1')).toHaveLength(1);
  });
});
