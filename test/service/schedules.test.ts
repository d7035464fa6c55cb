import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { limits } from '../../src/limits.ts';
import { AlertWatch } from '../support/alert-watch.ts';
import { someOf } from '../support/share.ts';
import { jobs } from './jobs-module.ts';
import { type Person, Running } from './running.ts';
import { written } from './written-module.ts';

/** Bounds of this process, and so of the service in it, for which no test wants to wait. */
const bounds = limits as unknown as { healthScheduleMillisMax: number };
const usual = { ...bounds };

let running: Running;
let owner: Person;

const isolation = { exceptions: new Map([['apart', 'process']] as const) };
beforeAll(async () => {
  running = await Running.start({ budget: { callMillisMax: 3_000 }, isolation });
  owner = await running.person();
  const program = await jobs();
  for (const name of ['jobs', 'apart', 'hand', 'late']) {
    const { status, text } = await running.upload(name, program, owner);
    expect([status, text]).toEqual([200, expect.any(String)]);
  }
});
afterAll(async () => {
  Object.assign(bounds, usual);
  await running.stop();
});

const ranIn = (name: string) => async () => {
  return (await running.rows(name, 'SELECT what FROM ran ORDER BY n')).map(([what]) => what);
};
const jobsIn = (name: string) => async () => {
  return (await running.rows(name, 'SELECT what FROM job')).map(([what]) => what);
};

interface Shown {
  readonly name: string;
  readonly state: string;
  readonly row: string | null;
  readonly armed_rows: number;
  readonly next_due: number | null;
  readonly last_outcome: string | null;
  readonly last_error: string | null;
  readonly runs: number;
  readonly failures: number;
}

async function listed(name: string, as = owner): Promise<readonly Shown[]> {
  const { text } = await running.ask('GET', `/v1/database/${name}/schedules`, { as });
  return JSON.parse(text).schedules;
}

const order = async (name: string, what: string) => {
  const where = `/v1/database/${name}/schedules/${what}`;
  const { status, text } = await running.ask('POST', where, { as: owner });
  return [status, text];
};

describe.each(someOf(['jobs', 'apart'], 2))('schedules of a database in a worker: %s', (name) => {
  it('[living 1.1, tables 8] run with nobody connected, at their time and once', async () => {
    await running.call(name, 'once', [-5_000, 'past']);
    await running.call(name, 'once', [200, 'one']);
    await expect.poll(ranIn(name)).toEqual(['past', 'one']);
    expect(await jobsIn(name)()).toEqual([]);
    const [job] = await listed(name);
    expect(job).toMatchObject({
      ...{ name: 'job', kind: 'table', table: 'job', function: 'work', state: 'armed' },
      ...{ armed_rows: 0, next_due: null, last_outcome: 'committed', runs: 2, failures: 0 },
    });
  });

  it('[living 1.2] that fail end, are in the log with their row, and are counted', async () => {
    await running.call(name, 'once', [0, 'fail']);
    await expect.poll(jobsIn(name)).toEqual([]);
    const line = /^\w+: .*it failed.*scheduled: table job, row \d+, due \d{4}-/;
    await expect
      .poll(() => running.messages(name, owner))
      .toContainEqual(expect.stringMatching(line));
    const [job] = await listed(name);
    expect(job).toMatchObject({ last_outcome: 'failed', runs: 3, failures: 1 });
    expect(job?.last_error).toContain('it failed');
  });

  it('[living 1.2] that never return are ended, and have failed', async () => {
    const before = await ranIn(name)();
    await running.call(name, 'once', [0, 'spin']);
    await running.call(name, 'once', [1, 'next']);
    await expect.poll(ranIn(name), { timeout: 20_000 }).toEqual([...before, 'next']);
    expect(await jobsIn(name)()).toEqual([]);
    const line = /ran longer than 3000 ms and was stopped.*scheduled: table job, row/;
    expect(await running.messages(name, owner)).toContainEqual(expect.stringMatching(line));
    expect(running.service.host.database(name).handle.statistics().restarts).toBe(1);
  });

  it('[living 1.4] keep the phase of an interval over an update and a restart', async () => {
    await running.call(name, 'every', [150, 'tick']);
    const micros = async () => {
      const where = `SELECT at FROM ran WHERE what = 'tick' ORDER BY n`;
      return (await running.rows(name, where)).map(([at]) => Number(at));
    };
    await expect.poll(async () => (await micros()).length).toBeGreaterThan(2);
    const [before] = await listed(name);
    expect((await running.upload(name, await jobs('', name), owner)).status).toBe(200);
    const [after] = await listed(name);
    const shift = ((after?.next_due ?? 0) - (before?.next_due ?? 0)) % 150_000;
    expect(shift).toBe(0);
    expect((await running.call(name, 'drop', [])).status).toBe(200);
    expect(await listed(name)).toMatchObject([{ armed_rows: 0, next_due: null }, {}]);
  });
});

describe('what is asked of schedules', () => {
  it('[living 1.14] runs what is due next now, and skips it', async () => {
    await running.call('hand', 'once', [3_600_000, 'later']);
    await running.call('hand', 'once', [7_200_000, 'latest']);
    const [job] = await listed('hand');
    expect(job).toMatchObject({ armed_rows: 2, next_due: expect.any(Number) });
    expect(await order('hand', 'run?name=job')).toEqual([200, '{"schedules":["job"]}']);
    expect(await ranIn('hand')()).toEqual(['later']);
    expect(await order('hand', 'skip?name=job&row=2')).toEqual([200, '{"schedules":["job"]}']);
    expect([await ranIn('hand')(), await jobsIn('hand')()]).toEqual([['later'], []]);
    expect(await order('hand', 'run')).toEqual([200, '{"schedules":[]}']);
  });

  it('[living 1.14] refuses what there is not, and what makes no sense', async () => {
    expect(await order('hand', 'run?name=x')).toEqual([404, 'There is no schedule `x`']);
    const row = 'The schedule `job` has no row 9 with a run to come';
    expect(await order('hand', 'skip?name=job&row=9')).toEqual([404, row]);
    const bad = ['run?row=1', 'pause?name=job&row=1', 'run?name=job&row=-1', 'skip?name=job&row=x'];
    for (const query of [...bad, `run?name=job&row=${2n ** 64n}`]) {
      expect((await order('hand', query))[0]).toBe(400);
    }
  });

  it('[living 1.14] pauses one by name, which runs nothing until it is resumed', async () => {
    expect(await order('hand', 'pause?name=job')).toEqual([200, '{"schedules":["job"]}']);
    await running.call('hand', 'once', [0, 'paused']);
    const paused = 'The schedule `job` is paused. Resume it before you run it';
    expect(await order('hand', 'run?name=job')).toEqual([409, paused]);
    expect(await listed('hand')).toMatchObject([{ name: 'job', state: 'paused' }, {}]);
    expect(await ranIn('hand')()).toEqual(['later']);
    expect(await order('hand', 'resume?name=job')).toEqual([200, '{"schedules":["job"]}']);
    await expect.poll(ranIn('hand')).toEqual(['later', 'paused']);
  });

  it('[living 1.14, sql 11] shows the same to a statement, of its moment', async () => {
    const statement = 'SELECT name, kind, state, armed_rows, runs FROM st_schedule ORDER BY name';
    const [job, secret] = await listed('hand');
    const shown = [job, secret].map((one) => {
      return [one?.name, 'table', one?.state, one?.armed_rows, one?.runs];
    });
    expect(await running.rows('hand', statement, owner)).toEqual(shown);
    expect(await order('hand', 'pause?name=secret')).toEqual([200, '{"schedules":["secret"]}']);
    const states = 'SELECT state FROM st_schedule ORDER BY name';
    expect(await running.rows('hand', states, owner)).toEqual([['armed'], ['paused']]);
    expect((await order('hand', 'resume?name=secret'))[0]).toBe(200);
    const reader = await running.person();
    expect((await running.grant('hand', 'reader', reader, owner)).status).toBe(200);
    expect(await running.rows('hand', states, reader)).toEqual([]);
    expect((await running.sql('hand', states)).status).toBe(400);
  });

  it('[living 1.14] is for developers', async () => {
    expect((await listed('hand')).map(({ name }) => name)).toEqual(['job', 'secret']);
    const { status } = await running.ask('GET', '/v1/database/hand/schedules');
    expect(status).toBe(403);
  });

  it('[living 1.14] pauses all over a reset, and says so', async () => {
    expect((await order('hand', 'pause'))[0]).toBe(200);
    const where = '/v1/database/hand/reset';
    expect((await running.ask('PUT', where, { as: owner })).status).toBe(200);
    await running.call('hand', 'once', [0, 'after']);
    const { text } = await running.ask('GET', '/v1/database/hand/schedules', { as: owner });
    expect(JSON.parse(text).paused).toBe(true);
    expect(await ranIn('hand')()).toEqual([]);
    const health = await running.ask('GET', '/v1/database/hand/health?detail', { as: owner });
    expect(JSON.parse(health.text).parts.schedules).toEqual({
      ...{ ok: true, waiting_seconds: 0, paused: true },
    });
    expect((await order('hand', 'resume'))[0]).toBe(200);
    await expect.poll(ranIn('hand')).toEqual(['after']);
    const lines = await running.service.host.audit.tail(9);
    const notes = lines.map((line) => JSON.parse(line).action);
    const ours = notes.filter((action) => action.endsWith(' schedule'));
    expect(ours.slice(-2)).toEqual(['pause schedule', 'resume schedule']);
  });
});

describe('a schedule that is late', () => {
  const watch = new AlertWatch(() => running);
  const healthy = async () => {
    const where = '/v1/database/late/health?detail';
    const { status, text } = await running.ask('GET', where, { as: owner });
    return [status, JSON.parse(text).parts.schedules.ok];
  };

  it('[living 1.16] is not fine, and fires an alert', async () => {
    await watch.begin();
    expect(await watch.fires('ReducerdbScheduleLate')).toBe(false);
    bounds.healthScheduleMillisMax = 300;
    // It spins for a second before it is ended.
    await running.call('late', 'once', [0, 'spin']);
    await expect.poll(healthy, { interval: 20 }).toEqual([503, false]);
    await expect.poll(healthy, { interval: 20, timeout: 20_000 }).toEqual([200, true]);
    bounds.healthScheduleMillisMax = usual.healthScheduleMillisMax;
    const { handle } = running.service.host.database('late');
    const health = handle.health();
    const schedules = { isFine: false, waitingMillis: 11_000, isPaused: false };
    const look = vi.spyOn(handle, 'health').mockReturnValue({ ...health, schedules });
    expect(await watch.fires('ReducerdbScheduleLate')).toBe(true);
    look.mockRestore();
  });

  it('[operating] so does one that fails', async () => {
    await watch.begin();
    expect(await watch.fires('ReducerdbSchedulesFail')).toBe(false);
    await running.call('late', 'once', [0, 'fail']);
    await expect.poll(jobsIn('late')).toEqual([]);
    await expect.poll(() => watch.fires('ReducerdbSchedulesFail')).toBe(true);
  });
});

describe('a cron', () => {
  const beats = (expression: string) =>
    written({
      tables: { beat: '{ public: true }, { micros: t.i64().primaryKey() }' },
      exports: `
        export const each = db.cron('${expression}', { catchUp: 'all' }, (ctx, { due }) => {
          ctx.db.beat.insert({ micros: due.microsSinceUnixEpoch });
        });`,
    });
  const seconds = async () => {
    const rows = await running.rows('beats', 'SELECT micros FROM beat ORDER BY micros');
    return rows.map(([micros]) => Number(micros) / 1_000_000);
  };

  it('[living 1.11] runs at the times of its expression, each once', async () => {
    expect((await running.upload('beats', await beats('* * * * * *'), owner)).status).toBe(200);
    await expect.poll(async () => (await seconds()).length, { timeout: 20_000 }).toBeGreaterThan(2);
    const found = await seconds();
    expect(found).toEqual(found.map((_, at) => (found[0] ?? 0) + at));
    expect(await listed('beats')).toMatchObject([
      { name: 'each', kind: 'cron', table: null, expression: '* * * * * *', armed_rows: 0 },
    ]);
    const shown = await running.ask('GET', '/v1/database/beats/schedules', { as: owner });
    expect(JSON.parse(shown.text).schedules[0]).toMatchObject({ last_outcome: 'committed' });
  });

  it('[living 1.11] counts from its new expression once that has changed', async () => {
    const program = await beats('0 3 1 1 *');
    expect((await running.upload('beats', program, owner)).status).toBe(200);
    const [cron] = await listed('beats');
    expect(new Date((cron?.next_due ?? 0) / 1_000).toISOString()).toMatch(/-01-01T03:00:00\.000Z$/);
  });
});
