import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildText } from '../support/build-text.ts';
import { sourceOf } from '../support/deploy-versions.ts';
import { someOf } from '../support/share.ts';
import { type Person, Running } from './running.ts';
import { Guest } from './socket-guest.ts';

const kinds = someOf(['thread', 'process'] as const, 2);

describe.each(kinds)('[living 5.11] st_deploy in a %s', (isolation) => {
  let running: Running;
  let owner: Person;

  beforeAll(async () => {
    running = await Running.start({ isolation: { everywhere: isolation } });
    owner = await running.person();
    for (const word of ['one', 'two']) {
      const program = new Uint8Array((await buildText(sourceOf({ word }))).bytes);
      const published = await running.upload('listed', program, owner, `&message=the+${word}`);
      expect(published.status).toBe(200);
    }
  }, 200_000);
  afterAll(() => running.stop());

  it('has what the list over HTTP has', async () => {
    const { text } = await running.ask('GET', '/v1/database/listed/deploys', { as: owner });
    const { deploys } = JSON.parse(text);
    const columns = 'deploy, kind, "offset", message, plan, running, program, "by"';
    const statement = `SELECT ${columns} FROM st_deploy ORDER BY deploy DESC`;
    const rows = await running.sql('listed', statement, owner);
    expect(rows.status).toBe(200);
    for (const { program, by, offset, message } of deploys) {
      const hex = (digits: string) => `0x${digits.replace(/^0+/, '')}`;
      for (const part of [hex(program), hex(by), String(offset), message]) {
        expect(rows.text).toContain(part);
      }
    }
    const short = 'SELECT deploy, kind, message, running FROM st_deploy ORDER BY deploy';
    expect(await running.rows('listed', short, owner)).toEqual([
      [1, 'created', 'the one', false],
      [2, 'updated', 'the two', true],
    ]);
  });

  it('[living 5.11] is private, and has no rows for others', async () => {
    const stranger = await running.person();
    const { status, text } = await running.sql('listed', 'SELECT * FROM st_deploy', stranger);
    expect([status, text]).toEqual([400, expect.stringContaining('st_deploy')]);
    expect((await running.grant('listed', 'reader', stranger, owner)).status).toBe(200);
    expect(await running.rows('listed', 'SELECT * FROM st_deploy', stranger)).toEqual([]);
    expect((await running.grant('listed', 'developer', stranger, owner)).status).toBe(200);
    expect(await running.rows('listed', 'SELECT deploy FROM st_deploy', stranger)).toHaveLength(2);
  });

  it('[living 5.11] cannot be watched', async () => {
    const { url } = running.service;
    const headers = { authorization: `Bearer ${owner.token}` };
    const guest = await Guest.arrive(url, 'listed', { headers });
    guest.subscribe(1, 0, 'SELECT * FROM st_deploy');
    const { error } = await guest.expect('subscriptionError');
    expect(error).toContain('Rows of st_deploy cannot be watched: they change without a commit');
    await guest.client.close();
  });
});
